"""How many pods a workload asks for: within the bounds of its autoscalers, and as many as are worth creating.

(`pkg/controller/podautoscaler/horizontal.go`.) Between the bounds metrics decide, which are not known. A workload that
asks for 0 pods is not scaled at all, unless its autoscaler may go down to 0.

Of workloads that ask for very many pods, as many as could ever fit are created one by one, and at most `MOST` more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from kwhatif.kube.matching.requests import PODS, resource_nanos
from kwhatif.kube.model.bystanders import HorizontalPodAutoscaler
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, ObjectRef, key_of
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
    Scalable,
    StatefulSet,
)
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.workloads.expand import replicas_of
from kwhatif.workloads.job import wanted_pods
from kwhatif.workloads.names import resolved

T = TypeVar("T")

#: By kind, as `scaleTargetRef` names them.
SCALE_TARGETS: Mapping[str, type[Scalable]] = {kind.__name__: kind for kind in SCALABLE}


def _by_target(cluster: Cluster) -> Mapping[str, Sequence[HorizontalPodAutoscaler]]:
    found: dict[str, list[HorizontalPodAutoscaler]] = {}
    for each in cluster.all(HorizontalPodAutoscaler).values():
        found.setdefault(each.target, []).append(each)
    return {target: sorted(scalers, key=key_of) for target, scalers in found.items()}


def scalers_of(workload: object, cluster: Cluster) -> Sequence[HorizontalPodAutoscaler]:
    """The autoscalers of the workload, by name."""
    if not isinstance(workload, SCALABLE):
        return ()
    name = str(ObjectRef.of(workload))
    return cluster.derived(_by_target, HorizontalPodAutoscaler).get(name, ())


def target_of(scaler: HorizontalPodAutoscaler, cluster: Cluster) -> Scalable | None:
    """The workload that it scales; None where that is not there, or of a custom kind."""
    reference = scaler.spec.scale_target_ref
    kind = SCALE_TARGETS.get(reference.kind)
    return None if kind is None else cluster.get(kind, f"{scaler.metadata.namespace}/{reference.name}")


def bounded(replicas: int, scaler: HorizontalPodAutoscaler) -> int:
    """The number of replicas within its bounds, before metrics (`reconcileAutoscaler`)."""
    least, most = least_of(scaler), scaler.spec.max_replicas
    if replicas == 0 and least != 0:
        return 0
    if most is not None and replicas > most:
        return most
    return max(replicas, least)


def least_of(scaler: HorizontalPodAutoscaler) -> int:
    """`minReplicas`; 1 where it is left out."""
    return 1 if scaler.spec.min_replicas is None else scaler.spec.min_replicas


def autoscaled(workload: T, cluster: Cluster) -> T:
    """The workload with the number of pods that its autoscalers leave it, or give it.

    One that names no number has that of the cluster's, else 1.
    """
    if not isinstance(workload, SCALABLE):
        return workload
    scalers = scalers_of(workload, cluster)
    known = cluster.get(type(workload), key_of(workload)) if scalers else None
    given: Scalable = known if known is not None and workload.spec.replicas is None else workload
    replicas = before = replicas_of(given)
    for scaler in scalers:
        replicas = bounded(replicas, scaler)
    return workload if replicas == before else replace(workload, spec=replace(workload.spec, replicas=replicas))


def out_of_bounds(scalers: Sequence[HorizontalPodAutoscaler], cluster: Cluster) -> Iterator[Scalable]:
    """The workloads of these autoscalers that they scale at once, with the new number of pods."""
    seen: set[str] = set()
    for scaler in scalers:
        target = target_of(scaler, cluster)
        if target is None or scaler.target in seen:
            continue
        seen.add(scaler.target)
        scaled = autoscaled(target, cluster)
        if scaled is not target:
            yield scaled


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
