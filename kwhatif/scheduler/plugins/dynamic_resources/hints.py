"""Events that may make devices available for a pod (the hints in `dynamicresources/dynamicresources.go`)."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.resource import ResourceClaim
from kwhatif.scheduler.framework.events import ActionType, EventResource
from kwhatif.scheduler.framework.hints import (
    QUEUE,
    QUEUE_SKIP,
    ClusterEventWithHint,
    QueueingHint,
    builtin,
    is_same_pod,
    queue_if,
)
from kwhatif.scheduler.framework.status import Status
from kwhatif.scheduler.plugins.dynamic_resources.claims import user_claims
from kwhatif.state.pod_info import PodInfo

#: Events of nodes: added, labels or allocatable changed; and those up to 1.33.
NODE = ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
NODE_UNTIL_133 = ActionType.ADD | ActionType.UPDATE_NODE_LABEL
#: Events of claims; and, since 1.37: deleted.
CLAIM = ActionType.ADD | ActionType.UPDATE
CLAIM_SINCE_137 = CLAIM | ActionType.DELETE


def events_to_register(node: ActionType = NODE, claim: ActionType = CLAIM) -> Sequence[ClusterEventWithHint]:
    """A node or a claim changes; a class or a slice is added or changes."""
    change = ActionType.ADD | ActionType.UPDATE
    return (
        builtin(EventResource.NODE, node),
        builtin(EventResource.RESOURCE_CLAIM, claim, _after_claim_change),
        builtin(EventResource.POD, ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM, _after_pod_change),
        builtin(EventResource.DEVICE_CLASS, change),
        builtin(EventResource.RESOURCE_SLICE, change),
    )


def _after_claim_change(
    pod: PodInfo, old: ResourceClaim | None, new: ResourceClaim | None, cluster: Cluster
) -> QueueingHint:
    """Any claim was deallocated, or one of the pod's own changed; all of the pod's claims must exist."""
    was_allocated = old is not None and old.status.allocation is not None
    if new is None:
        return queue_if(was_allocated)
    claims = user_claims(pod, cluster)
    if isinstance(claims, Status):
        return QUEUE_SKIP
    if was_allocated and new.status.allocation is None:
        return QUEUE
    if not any(_is_same(claim, new) for claim in claims):
        return QUEUE_SKIP
    return queue_if(old is None or old.status != new.status)


def _is_same(claim: ResourceClaim, other: ResourceClaim) -> bool:
    one, two = claim.metadata, other.metadata
    return one.uid == two.uid if one.uid or two.uid else (one.namespace, one.name) == (two.namespace, two.name)


def _after_pod_change(pod: PodInfo, _old: Pod | None, new: Pod, cluster: Cluster) -> QueueingHint:
    """The pod itself now has all its claims."""
    return queue_if(is_same_pod(pod, new) and not isinstance(user_claims(PodInfo(new), cluster), Status))
