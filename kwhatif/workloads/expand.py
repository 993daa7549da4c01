"""`expand`: the pods of any workload that is new to the cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from typing import Any, TypeVar

from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import (
    POD_SOURCES,
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    Scalable,
    StatefulSet,
    Workload,
)
from kwhatif.workloads.daemon_set import eligible_nodes, expand_daemon_set
from kwhatif.workloads.expansion import Expansion, ReplicaGroup
from kwhatif.workloads.generated import generated_name
from kwhatif.workloads.job import expand_job, run_of, wanted_pods
from kwhatif.workloads.replicas import expand_deployment, expand_replicas
from kwhatif.workloads.stateful_set import expand_stateful_set, ordinals_of

T = TypeVar("T", bound=KubernetesObject)
S = TypeVar("S", bound=Pod | Workload)


def expand(workload: Pod | Workload, cluster: Cluster) -> Expansion:
    """The pods that would be made of the workload, not yet admitted, were it created now."""
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
    """How many pods there should be; one, unless something is said."""
    replicas = workload.spec.replicas
    return 1 if replicas is None else max(0, replicas)
