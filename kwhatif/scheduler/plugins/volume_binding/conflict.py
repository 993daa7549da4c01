"""Why a claim cannot be used on a node."""

from __future__ import annotations

from enum import Enum

from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.scheduler.framework.evidence import VolumeConflict
from kwhatif.scheduler.framework.status import Code, Status


class ConflictReason(Enum):
    """Upstream's reasons, in the order in which it lists them."""

    NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
    BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
    NOT_ENOUGH_SPACE = "node(s) did not have enough free storage"
    VOLUME_NOT_FOUND = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


_ORDER = list(ConflictReason)


class ClaimConflict:
    """A reason and its claim. It does not contain the node, so nodes can share it."""

    def __init__(self, reason: ConflictReason, claim: PersistentVolumeClaim, detail: str) -> None:
        self._reason = reason
        self._evidence = VolumeConflict(claim=key_of(claim), detail=detail)
        #: The rejection of a node for this reason only.
        self.alone = Status(Code.UNRESOLVABLE, (reason.value,), (self._evidence,))

    def and_also(self, other: ClaimConflict) -> Status:
        """The rejection for both reasons."""
        both = sorted((self, other), key=lambda objection: _ORDER.index(objection._reason))
        return Status(
            Code.UNRESOLVABLE,
            tuple(objection._reason.value for objection in both),
            tuple(objection._evidence for objection in both),
        )
