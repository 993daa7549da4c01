"""Workloads that ask for very many pods: as many as could ever fit are created one by one, and at most `MOST` more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from kwhatif.kube.matching.requests import PODS, resource_nanos
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.quantity import value
from kwhatif.kube.model.workload import (
    SCALABLE,
    CronJob,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    RollingUpdate,
    StatefulSet,
)
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.workloads.expand import replicas_of
from kwhatif.workloads.job import wanted_pods
from kwhatif.workloads.numbers import resolved

#: The minimum and maximum of pods to create one by one beyond those of the largest workload.
FEW, MOST = 500, 10_000
#: The most pods of a workload that evict others in a story.
EVICTING = 1_000

Kind = TypeVar("Kind")


def most_pods(cluster: Cluster) -> int:
    """How many pods of a workload are created one by one: one more than all nodes can take, within `FEW` and `MOST`.

    So the last of them finds no node, like any further one; or, if nodes take very many pods, most of
    what is asked for is judged. It is more than any workload has already: some of what is new is always judged.
    """
    largest = _largest(cluster)
    return largest + min(MOST, max(FEW, 1 + allowed_pods(cluster) - largest))


def allowed_pods(cluster: Cluster) -> int:
    """How many pods all nodes can take."""
    return cluster.derived(_allowed, Node).pods


class _Allowed(NamedTuple):
    """A sum over all nodes, which follows them."""

    pods: int

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> _Allowed:
        return _Allowed(self.pods + sum(map(_allowed_pods, _nodes(after))) - sum(map(_allowed_pods, _nodes(before))))


def _nodes(obj: KubernetesObject | None) -> tuple[Node, ...]:
    return (obj,) if isinstance(obj, Node) else ()


def _allowed(cluster: Cluster) -> _Allowed:
    return _Allowed(sum(map(_allowed_pods, cluster.all(Node).values())))


def room_for(pod: PodInfo, nodes: Iterable[NodeInfo]) -> int:
    """How many pods with the same requests the nodes have room for now, by amounts alone: never too few."""
    wanted = pod.resources.requested
    fits = 0
    for node in nodes:
        free = [node.allowed_pods - len(node.pods)]
        for amount, used, allocatable in zip(
            wanted[:3], (node.cpu, node.memory, node.ephemeral), node.allocatable[:3], strict=True
        ):
            if amount:
                free.append((allocatable - used) // amount)
        fits += max(0, min(free))
    return fits


def _largest(cluster: Cluster) -> int:
    """An upper bound of the pods of the largest workload: at most all pods that there are."""
    return min(len(cluster.all(Pod)), cluster.derived(_most_asked, *SCALABLE, Job))


def _most_asked(cluster: Cluster) -> int:
    return max((wanted(obj) for kind in (*SCALABLE, Job) for obj in cluster.all(kind).values()), default=0)


def _allowed_pods(node: Node) -> int:
    """How many pods the node takes."""
    listed = node.status.allocatable_or_capacity
    return value(resource_nanos(listed).get(PODS, 0))


def wanted(workload: object) -> int:
    """How many pods the workload asks for; 0 where that does not depend on a number."""
    match workload:
        case Deployment() | ReplicaSet() | ReplicationController() | StatefulSet():
            return replicas_of(workload)
        case Job():
            return wanted_pods(workload.spec)
        case CronJob():
            return wanted_pods(workload.spec.job_template.spec)
    return 0


def beyond(workload: object, most: int) -> int:
    """How many pods more than that it asks for."""
    return max(0, wanted(workload) - most)


def keeps_number(workload: object) -> bool:
    """Whether it names no number of replicas, and so keeps those that it has."""
    return isinstance(workload, SCALABLE) and workload.spec.replicas is None


def capped(workload: Kind, most: int) -> Kind:
    """The workload with at most `most` pods, and at most that many more in a rolling update."""
    if isinstance(workload, Deployment) and _surge(workload) > most:
        strategy = workload.spec.strategy
        rolling = replace(strategy.rolling_update or RollingUpdate(), max_surge=most)
        spec = replace(workload.spec, strategy=replace(strategy, rolling_update=rolling))
        return replace(
            workload, spec=replace(spec, replicas=None if spec.replicas is None else min(spec.replicas, most))
        )
    if wanted(workload) <= most:
        return workload
    match workload:
        case Deployment() | ReplicaSet() | ReplicationController() | StatefulSet():
            return replace(workload, spec=replace(workload.spec, replicas=most))
        case Job():
            return replace(workload, spec=replace(workload.spec, parallelism=most))
        case CronJob():
            template = workload.spec.job_template
            template = replace(template, spec=replace(template.spec, parallelism=most))
            return replace(workload, spec=replace(workload.spec, job_template=template))
    return workload


def _surge(deployment: Deployment) -> int:
    rolling = deployment.spec.strategy.rolling_update or RollingUpdate()
    return resolved(rolling.max_surge, replicas_of(deployment), default=0, round_up=True)
