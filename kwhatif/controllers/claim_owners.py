"""Owners of a StatefulSet's claims, with which they are deleted (`updateClaimOwnerRefForSetAndPod`).

(`pkg/controller/statefulset/stateful_set_utils.go`.)
"""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.kube.model.meta import OwnerReference
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.kube.model.workload import ClaimRetentionPolicy, StatefulSet
from kwhatif.workloads.owners import reference

_DELETE = "Delete"


def with_owners(claim: PersistentVolumeClaim, stateful_set: StatefulSet, surplus: Pod | None) -> PersistentVolumeClaim:
    """The claim with the owners by the set's retention policy.

    Args:
        claim: a claim of one of the set's pods.
        stateful_set: the set.
        surplus: the pod, if the set no longer needs it.

    A claim with another controller does not change.
    """
    policy = stateful_set.spec.persistent_volume_claim_retention_policy or ClaimRetentionPolicy()
    references = claim.metadata.owner_references
    others = tuple(owner for owner in references if owner.kind not in ("StatefulSet", "Pod"))
    if any(owner.controller for owner in others):
        return claim
    wanted: tuple[OwnerReference, ...] = ()
    if surplus is not None and policy.when_scaled == _DELETE:
        wanted = (reference(surplus),)
    elif policy.when_deleted == _DELETE:
        wanted = (reference(stateful_set),)
    if references == (*others, *wanted):
        return claim
    return replace(claim, metadata=replace(claim.metadata, owner_references=(*others, *wanted)))
