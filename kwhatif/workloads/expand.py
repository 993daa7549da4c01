"""The pods of any workload that is new to the cluster; and further pods, one by one, as if it were scaled up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from itertools import chain, count, islice, repeat
from typing import Any, TypeVar

from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod, PodStatus
from kwhatif.kube.model.workload import (
    POD_SOURCES,
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    PodSource,
    ReplicaSet,
    ReplicationController,
    Scalable,
    StatefulSet,
    Workload,
)
from kwhatif.workloads.daemon_set import eligible_nodes, expand_daemon_set
from kwhatif.workloads.deployment import expand_deployment, expand_replicas, names_for, pod_like, replica_set_for
from kwhatif.workloads.job import expand_job, is_indexed, job_pod, run_of, wanted_pods
from kwhatif.workloads.names import generated_name
from kwhatif.workloads.owners import reference_to
from kwhatif.workloads.stateful_set import expand_stateful_set, ordinals_of
from kwhatif.workloads.template import Expansion, ReplicaGroup

T = TypeVar("T", bound=KubernetesObject)
S = TypeVar("S", bound=Pod | Workload)


def expand(workload: Pod | Workload, cluster: Cluster) -> Expansion:
    """The pods that its controller would create if the workload were created now, before their admission."""
    if isinstance(workload, Pod):  # it has no name before it is created
        name = named(workload, cluster).metadata.name
        return Expansion((ReplicaGroup(workload, (name,)),))
    workload = named(workload, cluster)
    match workload:
        case Deployment():
            # A paused Deployment makes no ReplicaSet.
            return expand_deployment(workload, 0 if workload.spec.paused else replicas_of(workload), cluster)
        case ReplicaSet() | ReplicationController():
            return expand_replicas(workload, replicas_of(workload), cluster)
        case StatefulSet():
            return expand_stateful_set(workload, ordinals_of(workload, replicas_of(workload)), cluster)
        case DaemonSet():
            return expand_daemon_set(workload, eligible_nodes(workload, cluster), cluster)
        case Job():
            return expand_job(workload, range(wanted_pods(workload.spec)), cluster)
        case CronJob():
            return Expansion() if workload.spec.suspend else expand(run_of(workload), cluster)


def with_names(objects: Iterable[T], cluster: Cluster) -> Iterator[T]:
    """The objects of manifests; pods and workloads have names, each one of its own.

    Beside a name a `generateName` means nothing (`BeforeCreate` in `apiserver/pkg/registry/rest/create.go`): new pods
    that still have both have a name that was made up.
    """
    used: defaultdict[type, set[str]] = defaultdict(set)
    for obj in objects:
        yield _with_name(obj, cluster, used[type(obj)]) if isinstance(obj, POD_SOURCES) else obj


def _with_name(obj: Any, cluster: Cluster, used: set[str]) -> Any:
    meta = obj.metadata
    if meta.name:
        is_new_pod = isinstance(obj, Pod) and cluster.get(Pod, key_of(obj)) is None
        return replace(obj, metadata=replace(meta, generate_name="")) if is_new_pod and meta.generate_name else obj
    obj = named(obj, cluster, used)
    used.add(key_of(obj))
    return obj


def named(workload: S, cluster: Cluster, used: Container[str] = ()) -> S:
    """The workload with a name: the API server makes one for whatever has a `generateName` only.

    `used`: `namespace/name` of others that are yet to come.
    """
    meta, kind = workload.metadata, type(workload)
    if meta.name or not meta.generate_name:
        return workload
    owner = controller_of(meta)
    seed = kind.__name__ if kind is not Pod else owner.uid if owner else ""
    return replace(workload, metadata=replace(meta, name=generated_name(meta, seed, cluster.all(kind), used)))


def replicas_of(workload: Scalable) -> int:
    """The desired number of pods: `spec.replicas`, else one."""
    replicas = workload.spec.replicas
    return 1 if replicas is None else max(0, replicas)


#: The number of pods to create at a time: few at first, as many questions end soon.
_SIZES = (16, 64, 256)
_MOST = 1024


def more_pods(workload: PodSource, cluster: Cluster) -> Iterator[ReplicaGroup]:
    """Groups of new pods, without end; nothing for a DaemonSet, whose pods are as many as its nodes.

    What keeps a workload from having pods now is left aside: `paused`, `suspend`, and how many it asks for.

    Args:
        workload: of the cluster, or new to it.
        cluster: where the pods will be; its pods have their names already.
    """
    workload = named(workload, cluster)
    match workload:
        case Pod():
            return copies(_copy(workload), cluster)
        case DaemonSet():
            return iter(())
        case Deployment():
            return copies(pod_like(workload, *replica_set_for(workload, cluster)), cluster)
        case StatefulSet():
            return _numbered(workload, cluster)
        case CronJob():
            return more_pods(run_of(workload), cluster)
        case Job():
            if is_indexed(workload):
                return chain.from_iterable(expand_job(workload, [index], cluster).groups for index in count())
            return copies(job_pod(workload, reference_to(workload, cluster)), cluster)
        case _:
            return copies(expand_replicas(workload, 1, cluster).groups[0].pod, cluster)


def copies(pod: Pod, cluster: Cluster) -> Iterator[ReplicaGroup]:
    """Pods that are all like this one, with names of their own."""
    names = names_for(pod, cluster)
    for size in chain(_SIZES, repeat(_MOST)):
        some = tuple(islice(names, size))
        if not some:
            return
        yield ReplicaGroup(pod, some)


def _copy(pod: Pod) -> Pod:
    """A copy of the pod as a user would create it, with another name."""
    meta = pod.metadata
    meta = replace(
        meta,
        name="",
        generate_name=meta.generate_name or f"{meta.name}-",
        uid="",
        creation_timestamp=None,
        deletion_timestamp=None,
        deletion_grace_period_seconds=None,
    )
    return replace(pod, metadata=meta, status=PodStatus())


def _numbered(stateful_set: StatefulSet, cluster: Cluster) -> Iterator[ReplicaGroup]:
    """Pods with unused ordinals, the lowest first."""
    present, namespace = cluster.all(Pod), stateful_set.metadata.namespace
    for number in count(ordinals_of(stateful_set, 0).start):
        if f"{namespace}/{stateful_set.metadata.name}-{number}" not in present:
            yield from expand_stateful_set(stateful_set, [number], cluster).groups
