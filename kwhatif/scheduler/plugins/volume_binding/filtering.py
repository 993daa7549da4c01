"""VolumeBinding's Filter and Reserve (`FindPodVolumes` and `AssumePodVolumes` in `plugins/volumebinding/binder.go`)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.kube.matching.volumes import SELECTED_NODE
from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.storage import ClaimReference, PersistentVolume, PersistentVolumeClaim, StorageClass
from kwhatif.scheduler.framework.incremental import Signed
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.status import SUCCESS, Status
from kwhatif.scheduler.plugins.volume_binding.bound import BoundClaims
from kwhatif.scheduler.plugins.volume_binding.conflict import ClaimConflict
from kwhatif.scheduler.plugins.volume_binding.delayed import DelayedClaims, Plan
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.state import State


class BindingFilter(Signed, NodeFilter):
    """Checks the pod's claims against nodes."""

    def __init__(
        self,
        bound: Sequence[PersistentVolumeClaim],
        delayed: Sequence[tuple[PersistentVolumeClaim, StorageClass]],
        state: State,
    ) -> None:
        self._bound = BoundClaims(bound, state.cluster)
        self._delayed = DelayedClaims(delayed, state.cluster) if delayed else None
        keys, by_name = self._bound.keys, self._bound.by_name
        if self._delayed is not None:
            keys |= self._delayed.keys
            by_name |= self._delayed.by_name
        by_shape = not by_name and keys.isdisjoint(state.shapes.unfixed)
        self.reads = Reads.SHAPE if by_shape else Reads.NODE
        self.reserves = self._delayed is not None
        self.signature = tuple([(key_of(claim), claim.spec.volume_name) for claim in bound]), self._signed(delayed)

    def _signed(self, delayed: Sequence[tuple[PersistentVolumeClaim, StorageClass]]) -> Hashable:
        """Claims of one class with equal requests are interchangeable, if each of them needs a new volume."""
        asked = [(storage_class.metadata.name, msgspec.json.encode(claim.spec)) for claim, storage_class in delayed]
        if self._delayed is None or self._delayed.makes_all:
            return tuple(asked)
        return tuple([(key_of(claim), claim.metadata.annotations.get(SELECTED_NODE)) for claim, _ in delayed]), *asked

    def filter(self, node: NodeInfo) -> Status:
        """The node must be able to use bound volumes, and every other claim must find or get a volume there."""
        objection = self._bound.check(node)
        if isinstance(objection, Status):
            return objection
        if self._delayed is not None:
            plan = self._delayed.plan(node)
            if isinstance(plan, Status):
                return plan
            if isinstance(plan, ClaimConflict):
                return plan.alone if objection is None else objection.and_also(plan)
        return SUCCESS if objection is None else objection.alone

    def plan(self, node: NodeInfo) -> Plan | None:
        """What would happen to the claims that wait for a node; None if none waits, or the node does not fit."""
        plan = self._delayed.plan(node) if self._delayed is not None else None
        return plan if isinstance(plan, Plan) else None

    def reserve(self, node: NodeInfo, state: State) -> Iterator[KubernetesObject]:
        """Bind volumes to claims and claims to the node, so that the next pods see them as used.

        Upstream also annotates the volume as bound by the controller, but no scheduling rule reads that.
        """
        if self._delayed is None:
            return
        plan = self._delayed.plan(node)
        assert isinstance(plan, Plan), "only a node that passed the filter is reserved"
        for volume, claim in plan.bindings:
            yield _bind(volume, claim)
        for provisioning in plan.provisions:
            yield _select_node(provisioning.claim, node.name)


def _bind(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    meta = claim.metadata
    ref = ClaimReference(namespace=meta.namespace, name=meta.name, uid=meta.uid)
    return replace(volume, spec=replace(volume.spec, claim_ref=ref))


def _select_node(claim: PersistentVolumeClaim, node_name: str) -> PersistentVolumeClaim:
    annotations = {**claim.metadata.annotations, SELECTED_NODE: node_name}
    return replace(claim, metadata=replace(claim.metadata, annotations=annotations))
