"""VolumeBinding: claims must find a volume, or get one provisioned, for the pod's node (`plugins/volumebinding`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.matching.volumes import (
    WAIT_FOR_FIRST_CONSUMER,
    ClaimName,
    claim_class,
    claim_names,
    claim_not_found,
    is_fully_bound,
    not_owner,
)
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import Model
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.storage import PersistentVolumeClaim, StorageClass
from kwhatif.scheduler.framework import signers
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer, always
from kwhatif.scheduler.framework.scoring_strategy import UtilizationShapePoint
from kwhatif.scheduler.framework.status import SKIP, Status, error, unresolvable
from kwhatif.scheduler.plugins.volume_binding import hints
from kwhatif.scheduler.plugins.volume_binding.filtering import BindingFilter
from kwhatif.scheduler.plugins.volume_binding.scoring import DEFAULT_SHAPE, StorageScorer
from kwhatif.scheduler.plugins.volume_binding.unbound import why_unbound
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

__all__ = ["VolumeBinding", "VolumeBindingArgs"]

UNBOUND_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"


class VolumeBindingArgs(Model):
    """`VolumeBindingArgs`.

    The timeout is for binding, which is not modelled; `shape` must be unset if StorageCapacityScoring is off.
    """

    bind_timeout_seconds: int = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None


class VolumeBinding:
    """Rejects nodes that cannot use the pod's bound volumes, or where its other claims cannot get one."""

    name: ClassVar[str] = "VolumeBinding"
    reads_claims: ClassVar[bool] = True

    def __init__(self, args: VolumeBindingArgs | None = None, *, gates: Gates = BASE_GATES) -> None:
        self.args = args or VolumeBindingArgs()
        self._scores = "StorageCapacityScoring" in gates

    def pre_filter(self, pod: PodInfo, state: State) -> NodeFilter | Status:
        """Sort the pod's claims into bound ones and those that wait for a node; any other claim ends the cycle."""
        if not pod.pod.spec.volumes:
            return SKIP
        claims: list[PersistentVolumeClaim] = []
        for name in claim_names(pod.pod):
            claim = _usable_claim(pod.pod, name, state.cluster)
            if isinstance(claim, Status):
                return claim
            claims.append(claim)
        return _compile(claims, state) if claims else SKIP

    #: Filter fails, because it needs PreFilter's state.
    without_pre_filter = always(error("not found"))

    sign = staticmethod(signers.volumes)

    events_to_register = staticmethod(hints.events_to_register)

    def pre_score(self, pod: PodInfo, state: State, nodes: Sequence[NodeInfo]) -> NodeScorer | Status:
        """SKIP without the gate StorageCapacityScoring, and for pods without claims."""
        claims = self.pre_filter(pod, state) if self._scores else SKIP
        return StorageScorer(claims, self.args.shape or DEFAULT_SHAPE) if isinstance(claims, BindingFilter) else SKIP


def _usable_claim(pod: Pod, name: ClaimName, cluster: Cluster) -> PersistentVolumeClaim | Status:
    """The claim, or why the pod cannot be scheduled with it (`podHasPVCs`)."""
    claim = cluster.get(PersistentVolumeClaim, f"{pod.metadata.namespace}/{name.name}")
    if claim is None:
        if name.ephemeral:
            return unresolvable(
                f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name.name}"'
            )
        return unresolvable(claim_not_found(name.name))
    if claim.status.phase == "Lost":
        return unresolvable(
            f'persistentvolumeclaim "{name.name}" bound to non-existent persistentvolume "{claim.spec.volume_name}"'
        )
    if claim.metadata.deletion_timestamp is not None:
        return unresolvable(f'persistentvolumeclaim "{name.name}" is being deleted')
    if name.ephemeral and (stranger := not_owner(pod, claim)):
        return unresolvable(stranger)
    return claim


def _compile(claims: list[PersistentVolumeClaim], state: State) -> NodeFilter | Status:
    """Sort the claims into bound, delayed and immediate ones, and compile the checks (`GetPodVolumeClaims`)."""
    bound: list[PersistentVolumeClaim] = []
    delayed: list[tuple[PersistentVolumeClaim, StorageClass]] = []
    immediate: list[PersistentVolumeClaim] = []
    for claim in claims:
        if is_fully_bound(claim):
            bound.append(claim)
            continue
        storage_class = state.cluster.get(StorageClass, claim_class(claim))
        if storage_class is not None and storage_class.volume_binding_mode is None:
            return error(f'VolumeBindingMode not set for StorageClass "{storage_class.metadata.name}"')
        waits = storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
        if storage_class is not None and waits and not claim.spec.volume_name:
            delayed.append((claim, storage_class))
        else:
            immediate.append(claim)
    if immediate:
        evidence = (why_unbound(claim, state.cluster) for claim in immediate)
        return unresolvable(UNBOUND_IMMEDIATE, *evidence)
    return BindingFilter(bound, delayed, state)
