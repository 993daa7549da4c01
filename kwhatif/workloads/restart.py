"""A workload that runs, as if it started anew: every pod of it goes, and its controller makes all of them again."""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.model.cluster import Cluster
from kwhatif.model.pod import Pod, is_terminal
from kwhatif.model.pod_status import PodStatus
from kwhatif.model.workload import PodSource
from kwhatif.workloads.expand import expand
from kwhatif.workloads.expansion import Expansion, ReplicaGroup
from kwhatif.workloads.owners import pods_of
from kwhatif.workloads.rolling.update import UNCHANGED, WorkloadUpdate


def restart(workload: PodSource, cluster: Cluster) -> WorkloadUpdate:
    """What starting the cluster's workload anew changes; nothing, for a pod that has not started yet."""
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
