"""An update is not an addition: what applying a workload changes about the pods that are there already.

A workload that the cluster has under the same name is compared with it. With an equal template only the number of
pods can change; with another one its controller replaces them, in its own way.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kwhatif.kube.model.caveat.workloads import FieldsNotCompared, ImagesNotCompared, ReplicasKept, WorkloadNotInDump
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.job import CronJob, Job
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.pod_status import PodStatus
from kwhatif.kube.model.workload import (
    DaemonSet,
    Deployment,
    PodSource,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from kwhatif.workloads.applied_object import Merged, merged
from kwhatif.workloads.applied_template import TemplateDifference, template_of
from kwhatif.workloads.expand import expand
from kwhatif.workloads.expansion import Expansion, ReplicaGroup
from kwhatif.workloads.owners import pods_of
from kwhatif.workloads.rolling.batch import update_cron_job, update_job
from kwhatif.workloads.rolling.daemon_set import update_daemon_set
from kwhatif.workloads.rolling.pod import update_pod
from kwhatif.workloads.rolling.replicas import update_deployment, update_replicas
from kwhatif.workloads.rolling.stateful_set import update_stateful_set
from kwhatif.workloads.rolling.update import UNCHANGED, Rollout, WorkloadUpdate
from kwhatif.workloads.template import has_images


def plan_update(workload: PodSource, cluster: Cluster, rollout: Rollout = "final") -> WorkloadUpdate:
    """What applying the workload changes.

    It is taken as it was written, not yet defaulted: what it leaves out stays what it is, unless it was applied before.
    """
    known = cluster.get(type(workload), key_of(workload)) if workload.metadata.name else None
    if known is not None and not isinstance(workload, Pod):
        return plan_merged(merged(workload, known), cluster, rollout)
    if isinstance(workload, Pod):
        update = update_pod(workload, known, cluster) if isinstance(known, Pod) else None
        return (
            WorkloadUpdate("new", added=expand(workload, cluster)) if update is None else _without_images(update, known)
        )
    pods = pods_of(workload, cluster)
    if not pods:
        return WorkloadUpdate("new", added=expand(workload, cluster))
    caveat = WorkloadNotInDump(workload=f"{type(workload).__name__} {key_of(workload)}", count=len(pods))
    return replace(_update(workload, None, pods, cluster, rollout), caveat=caveat)


def plan_merged(new: Merged, cluster: Cluster, rollout: Rollout = "final") -> WorkloadUpdate:
    """What it changes that a workload of the cluster is this one from now on."""
    workload, difference = new.object, new.difference
    known: Any = cluster.get(type(workload), key_of(workload))
    update = _update(workload, known, pods_of(workload, cluster), cluster, rollout)
    update = _without_images(update, known) if difference is None else update
    caveat = update.caveat
    if caveat is None and new.keeps_number and known.spec.replicas not in (None, 1):
        # An autoscaler may own the number; but if the manifest that was applied before had one, one pod is left.
        caveat = ReplicasKept(workload=f"{type(workload).__name__} {key_of(workload)}", replicas=known.spec.replicas)
    if caveat is None and update.kind in ("unchanged", "scaled"):
        caveat = _not_compared(workload, difference)
    return replace(update, caveat=caveat)


def restart(workload: PodSource, cluster: Cluster) -> WorkloadUpdate:
    """What it changes that the cluster's workload starts anew: every pod of it goes, and is made again.

    Nothing, for a pod that has not started yet.
    """
    if not isinstance(workload, Pod):
        return WorkloadUpdate("restarted", tuple(pods_of(workload, cluster)), expand(workload, cluster))
    if is_waiting(workload):
        return UNCHANGED
    return WorkloadUpdate(
        "restarted", (workload,), Expansion((ReplicaGroup(unstarted(workload), (workload.metadata.name,)),))
    )


def is_waiting(pod: Pod) -> bool:
    """Whether the pod is there, and has no node yet."""
    return not pod.spec.node_name and pod.metadata.deletion_timestamp is None and not is_terminal(pod)


def unstarted(pod: Pod) -> Pod:
    """The pod as it was before it was scheduled; the claims that were made for it are there still."""
    status = PodStatus(resource_claim_statuses=pod.status.resource_claim_statuses)
    return replace(
        pod,
        metadata=replace(pod.metadata, deletion_timestamp=None),
        spec=replace(pod.spec, node_name=""),
        status=status,
    )


def _not_compared(workload: PodSource, difference: TemplateDifference | None) -> FieldsNotCompared | None:
    """The caveat where it cannot be said whether the template changes."""
    if difference is None:
        return FieldsNotCompared()
    if difference.kind != "unsure":
        return None
    return FieldsNotCompared(workload=f"{type(workload).__name__} {key_of(workload)}", field=difference.field)


def _without_images(update: WorkloadUpdate, known: object) -> WorkloadUpdate:
    """With a caveat where nothing but the image may have changed, and that cannot be seen."""
    like = known if isinstance(known, Pod) else template_of(known)
    if update.kind == "changed" or like is None or has_images(like.spec):
        return update
    return replace(update, caveat=ImagesNotCompared())


def _update(new: PodSource, known: Any, pods: list[Pod], cluster: Cluster, rollout: Rollout) -> WorkloadUpdate:
    """`known`: the cluster's object of that kind and name; None where the input only has its pods."""
    match new:
        case Deployment():
            return update_deployment(new, known, pods, cluster, rollout)
        case ReplicaSet() | ReplicationController():
            return update_replicas(new, known, pods, cluster)
        case StatefulSet():
            return update_stateful_set(new, known, pods, cluster, rollout)
        case DaemonSet():
            return update_daemon_set(new, known, pods, cluster, rollout)
        case Job():
            return update_job(new, known, pods, cluster)
        case CronJob():
            return update_cron_job(new, known, pods, cluster, rollout)
    raise TypeError(type(new).__name__)
