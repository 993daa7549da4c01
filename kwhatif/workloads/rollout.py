"""An update is not an addition: what applying a workload changes about the pods that are there already.

A workload that the cluster has under the same name is compared with it. With an equal template only the number of
pods can change; with another one its controller replaces them, in its own way.
"""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.model.cluster import Cluster, key_of
from kwhatif.model.pod import Pod
from kwhatif.model.workload import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from kwhatif.workloads.expand import Workload, expand
from kwhatif.workloads.owners import pods_of
from kwhatif.workloads.rolling.batch import update_cron_job, update_job
from kwhatif.workloads.rolling.daemon_set import update_daemon_set
from kwhatif.workloads.rolling.pod import update_pod
from kwhatif.workloads.rolling.replicas import update_deployment, update_replicas
from kwhatif.workloads.rolling.stateful_set import update_stateful_set
from kwhatif.workloads.rolling.update import Rollout, Update


def plan_update(workload: Workload, cluster: Cluster, rollout: Rollout = "final") -> Update:
    """What applying the workload changes.

    It is taken as it was written, not yet defaulted: a number of replicas that it leaves out stays what it is.
    """
    if isinstance(workload, Pod):
        known = cluster.get(Pod, key_of(workload)) if workload.metadata.name else None
        return Update("new", added=expand(workload, cluster)) if known is None else update_pod(workload, known, cluster)
    pods = pods_of(workload, cluster)
    if cluster.get(type(workload), key_of(workload)) is not None:
        return _update(workload, pods, cluster, rollout)
    if not pods:
        return Update("new", added=expand(workload, cluster))
    name = f"{type(workload).__name__} {key_of(workload)}"
    caveat = f"{name} is not in the input, but {len(pods)} of its pods are: they count as made of another template"
    return replace(_update(workload, pods, cluster, rollout), caveat=caveat)


def _update(new: Workload, pods: list[Pod], cluster: Cluster, rollout: Rollout) -> Update:
    key = key_of(new)
    match new:
        case Deployment():
            return update_deployment(new, cluster.get(Deployment, key), pods, cluster, rollout)
        case ReplicaSet():
            return update_replicas(new, cluster.get(ReplicaSet, key), pods, cluster)
        case ReplicationController():
            return update_replicas(new, cluster.get(ReplicationController, key), pods, cluster)
        case StatefulSet():
            return update_stateful_set(new, cluster.get(StatefulSet, key), pods, cluster, rollout)
        case DaemonSet():
            return update_daemon_set(new, cluster.get(DaemonSet, key), pods, cluster, rollout)
        case Job():
            return update_job(new, cluster.get(Job, key), pods, cluster)
        case CronJob():
            return update_cron_job(new, cluster.get(CronJob, key), pods, cluster, rollout)
    raise TypeError(type(new).__name__)
