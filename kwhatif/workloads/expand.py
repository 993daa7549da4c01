"""`expand`: the pods of any workload that is new to the cluster."""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.job import CronJob, Job
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import (
    DaemonSet,
    Deployment,
    PodSource,
    ReplicaSet,
    ReplicationController,
    Scalable,
    StatefulSet,
)
from kwhatif.workloads.daemon_set import eligible_nodes, expand_daemon_set
from kwhatif.workloads.expansion import Expansion, ReplicaGroup
from kwhatif.workloads.generated import generated_name
from kwhatif.workloads.job import expand_job, run_of, wanted_pods
from kwhatif.workloads.replicas import expand_deployment, expand_replicas, free_names
from kwhatif.workloads.stateful_set import expand_stateful_set, ordinals_of


def expand(workload: PodSource, cluster: Cluster) -> Expansion:
    """The pods that would be made of the workload, not yet admitted, were it created now."""
    workload = named(workload, cluster)
    match workload:
        case Pod():
            return expand_pod(workload, cluster)
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


def named(workload: PodSource, cluster: Cluster) -> PodSource:
    """The workload with a name: the API server makes one for whatever has a `generateName` only."""
    meta = workload.metadata
    if meta.name or not meta.generate_name or isinstance(workload, Pod):
        return workload
    name = generated_name(meta, type(workload).__name__, cluster.all(type(workload)))
    return replace(workload, metadata=replace(meta, name=name))


def expand_pod(pod: Pod, cluster: Cluster) -> Expansion:
    """The pod itself; a name that is yet to be made is stood in for."""
    return Expansion((ReplicaGroup(pod, (pod.metadata.name,) if pod.metadata.name else free_names(pod, 1, cluster)),))


def replicas_of(workload: Scalable) -> int:
    """How many pods there should be; one, unless something is said."""
    replicas = workload.spec.replicas
    return 1 if replicas is None else max(0, replicas)
