"""VolumeBinding: each claim needs a volume that the node can use, existing or new (`plugins/volumebinding`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.matching.volumes import (
    STORAGE,
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
from kwhatif.kube.model.quantity import QuantityText, parse_quantity, value
from kwhatif.kube.model.storage import CSIDriver, CSINode, CSIStorageCapacity, PersistentVolumeClaim, StorageClass
from kwhatif.scheduler.framework import signers
from kwhatif.scheduler.framework.events import ActionType, EventResource
from kwhatif.scheduler.framework.hints import (
    BY_CLAIM,
    ClusterEventWithHint,
    QueueingHint,
    after_own_claim,
    builtin,
    queue_if,
)
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer, Reads, always
from kwhatif.scheduler.framework.scoring_strategy import (
    MAX_SHAPE_SCORE,
    UtilizationShapePoint,
    requested_to_capacity_ratio,
)
from kwhatif.scheduler.framework.status import SKIP, Status, error, unresolvable
from kwhatif.scheduler.plugins.volume_binding.filtering import MIGRATED_PLUGINS, BindingFilter, Plan
from kwhatif.scheduler.plugins.volume_binding.provisioning import why_unbound
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


def events_to_register() -> Sequence[ClusterEventWithHint]:
    """Claims, volumes, classes, capacities, drivers or nodes are added or change."""
    change = ActionType.ADD | ActionType.UPDATE
    return (
        builtin(EventResource.STORAGE_CLASS, change, _after_class_change),
        builtin(EventResource.PERSISTENT_VOLUME_CLAIM, change, after_own_claim, BY_CLAIM),
        builtin(EventResource.PERSISTENT_VOLUME, change),
        builtin(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
        builtin(EventResource.CSI_NODE, change, _after_csi_node_change),
        builtin(EventResource.CSI_DRIVER, ActionType.UPDATE, _after_csi_driver_change),
        builtin(EventResource.CSI_STORAGE_CAPACITY, change, _after_capacity_change),
    )


def _after_class_change(_pod: PodInfo, old: StorageClass | None, new: StorageClass, _cluster: Cluster) -> QueueingHint:
    return queue_if(old is None or old.allowed_topologies != new.allowed_topologies)


def _after_csi_node_change(_pod: PodInfo, old: CSINode | None, new: CSINode, _cluster: Cluster) -> QueueingHint:
    """The set of migrated in-tree plugins has changed."""
    return queue_if(old is None or _migrated(old) != _migrated(new))


def _migrated(csi_node: CSINode) -> str:
    return csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "")


def _after_csi_driver_change(pod: PodInfo, old: CSIDriver, new: CSIDriver, _cluster: Cluster) -> QueueingHint:
    """The driver of an inline volume no longer reports storage capacity."""
    if new.spec.storage_capacity or not old.spec.storage_capacity:
        return QueueingHint.QUEUE_SKIP
    drivers = (volume.csi.driver for volume in pod.pod.spec.volumes if volume.csi is not None)
    return queue_if(new.metadata.name in drivers)


def _after_capacity_change(
    _pod: PodInfo, old: CSIStorageCapacity | None, new: CSIStorageCapacity, _cluster: Cluster
) -> QueueingHint:
    """The capacity for volumes has grown."""
    if old is None:
        return QueueingHint.QUEUE
    before, after = _limit(old), _limit(new)
    return queue_if(after is not None and (before is None or after > before))


def _limit(capacity: CSIStorageCapacity) -> int | None:
    """The maximum size of a volume in bytes, if known."""
    largest = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
    return None if largest is None else value(parse_quantity(largest))


#: From `defaults.go`.
DEFAULT_SHAPE = (
    UtilizationShapePoint(utilization=0, score=MAX_SHAPE_SCORE),
    UtilizationShapePoint(utilization=100, score=0),
)
#: Storage class -> requested bytes and total bytes.
_Classes = dict[str, tuple[int, int]]


class StorageScorer(NodeScorer):
    """The mean score of the storage classes of the pod's claims (`scorer.go`; gate `StorageCapacityScoring`).

    By default, nodes whose storage has the lowest utilization with the pod are preferred; `shape` can change this.
    """

    reads = Reads.NODE

    def __init__(self, claims: BindingFilter, shape: Sequence[UtilizationShapePoint]) -> None:
        self._claims = claims
        self._score_of = requested_to_capacity_ratio(shape)

    def score(self, node: NodeInfo) -> int:
        """0 to 100; 0 if no volume of known size is bound or provisioned."""
        plan = self._claims.plan(node)
        if plan is None:
            return 0
        classes = _of_bindings(plan) if plan.bindings else _of_provisions(plan, node)
        if not classes:
            return 0
        # An unknown capacity counts as full. Rounded as `math.Round`; the operands are never negative.
        total = sum(
            self._score_of(requested, size) if size else self._score_of(1, 0) for requested, size in classes.values()
        )
        return (2 * total + len(classes)) // (2 * len(classes))


def _of_bindings(plan: Plan) -> _Classes:
    classes: _Classes = {}
    for volume, claim in plan.bindings:
        name = volume.spec.storage_class_name
        requested, size = classes.get(name, (0, 0))
        classes[name] = requested + _bytes(claim.spec.resources.requests), size + _bytes(volume.spec.capacity)
    return classes


def _of_provisions(plan: Plan, node: NodeInfo) -> _Classes:
    """The claims of one class count against a single pool: the one for the last claim."""
    classes: _Classes = {}
    for provisioning in plan.provisions:
        size = provisioning.pool_size(node.labels)
        if size is not None:
            requested, _ = classes.get(provisioning.class_name, (0, 0))
            classes[provisioning.class_name] = requested + _bytes(provisioning.claim.spec.resources.requests), size
    return classes


def _bytes(amounts: Mapping[str, QuantityText]) -> int:
    return value(parse_quantity(amounts.get(STORAGE, 0)))


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
        """Sort the pod's claims: bound, or waiting for a node; any other claim ends the cycle."""
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

    events_to_register = staticmethod(events_to_register)

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
