"""Which workload a pod belongs to."""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import OwnerReference, controller_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import CronJob, Job, ReplicaSet

_NONE: Mapping[str, ReplicaSet] = {}


def root_of(pod: Pod, cluster: Cluster, gone: Mapping[str, ReplicaSet] = _NONE, *, through_jobs: bool = False) -> str:
    """The workload of the pod, as "Deployment shop/web"; "" for a bare pod.

    A ReplicaSet's Deployment is looked up, also for one in `gone`. A Deployment counts even if its ReplicaSet is not
    in the input (`deployment_by_hash`); any other missing owner is named by the owner reference. `through_jobs`:
    whether a Job's CronJob is looked up, too.
    """
    owner, namespace = controller_of(pod.metadata), pod.metadata.namespace
    if owner is None:
        return ""
    key = f"{namespace}/{owner.name}"
    above: OwnerReference | None = None
    if owner.kind == "ReplicaSet":
        replica_set = cluster.get(ReplicaSet, key) or gone.get(key)
        if replica_set is None:
            return deployment_by_hash(pod) or f"ReplicaSet {key}"
        above = controller_of(replica_set.metadata)
    elif owner.kind == "Job" and through_jobs:
        job = cluster.get(Job, key)
        if job is None:  # the Job of a future run has the CronJob's name and a time
            cron_job = key.rpartition("-")[0]
            return f"Job {key}" if cluster.get(CronJob, cron_job) is None else f"CronJob {cron_job}"
        above = controller_of(job.metadata)
    top = owner if above is None else above
    return f"{top.kind} {namespace}/{top.name}"


def deployment_by_hash(pod: Pod) -> str:
    """The Deployment behind the pod's ReplicaSet, by their names alone; "" if the names do not show one.

    The Deployment's controller names its ReplicaSets `<deployment>-<pod-template-hash>`, and labels the pods with that
    hash (`pkg/controller/deployment/sync.go`).
    """
    owner, suffix = controller_of(pod.metadata), f"-{pod.metadata.labels.get('pod-template-hash')}"
    if owner is None or owner.kind != "ReplicaSet" or not owner.name.endswith(suffix):
        return ""
    return f"Deployment {pod.metadata.namespace}/{owner.name.removesuffix(suffix)}"
