"""VolumeRestrictions: disks that pods cannot share, and claims for a single pod (`plugins/volumerestrictions`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, Self

from kwhatif.kube.matching.volumes import READ_WRITE_ONCE_POD, claim_not_found
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.storage import (
    ISCSI,
    RBD,
    AWSElasticBlockStore,
    GCEPersistentDisk,
    PersistentVolumeClaim,
    Volume,
)
from kwhatif.scheduler.framework import signers
from kwhatif.scheduler.framework.events import ActionType, EventResource
from kwhatif.scheduler.framework.evidence import VolumeConflict
from kwhatif.scheduler.framework.hints import (
    BY_CLAIM,
    BY_VOLUMES,
    ClusterEventWithHint,
    QueueingHint,
    after_named_claim,
    builtin,
    queue_if,
)
from kwhatif.scheduler.framework.incremental import Selective, Signed
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.status import SKIP, SUCCESS, Status, error, unresolvable, unschedulable
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

DISK_CONFLICT = "node(s) had no available disk"
CLAIM_IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)


_Disk = GCEPersistentDisk | AWSElasticBlockStore | ISCSI | RBD


def _disks(volume: Volume) -> Sequence[_Disk]:
    """The volume's disks of the four kinds that are checked; the API server accepts at most one per volume."""
    sources = volume.gce_persistent_disk, volume.aws_elastic_block_store, volume.iscsi, volume.rbd
    return [source for source in sources if source is not None]


def _disks_of(pod: PodInfo) -> tuple[_Disk, ...]:
    """The pod's disks: the first disk of each volume."""
    return tuple(disk for volume in pod.pod.spec.volumes for disk in _disks(volume)[:1])


def _identity(disk: _Disk) -> tuple[str, ...]:
    """The kind of the disk, and its identity within the kind."""
    match disk:
        case GCEPersistentDisk():
            return "gcePersistentDisk", disk.pd_name
        case AWSElasticBlockStore():
            return "awsElasticBlockStore", disk.volume_id
        case ISCSI():
            return "iscsi", disk.iqn
        case RBD():
            return "rbd", disk.pool, disk.image


def _clash(one: _Disk, other: _Disk) -> bool:
    """Whether two volumes use the same disk and cannot share it (`isVolumeConflict`)."""
    if _identity(one) != _identity(other):
        return False
    if isinstance(one, RBD) and isinstance(other, RBD) and set(one.monitors).isdisjoint(other.monitors):
        return False
    return isinstance(one, AWSElasticBlockStore) or not (one.read_only and other.read_only)


class VolumeRestrictions:
    """Rejects nodes where a disk of the pod is in use; rejects all nodes while a ReadWriteOncePod claim is in use."""

    name: ClassVar[str] = "VolumeRestrictions"
    _claim_in_use: ClassVar[str] = CLAIM_IN_USE
    reads_claims: ClassVar[bool] = True

    def pre_filter(self, pod: PodInfo, state: State) -> NodeFilter | Status:
        """Find the pod's disks, and the pods that use its ReadWriteOncePod claims."""
        if not pod.pod.spec.volumes:
            return SKIP
        exclusive = set()
        for name in pod.claim_names:
            claim = state.cluster.get(PersistentVolumeClaim, f"{pod.namespace}/{name}")
            if claim is None:
                return unresolvable(claim_not_found(name))
            if READ_WRITE_ONCE_POD in claim.spec.access_modes:
                exclusive.add(name)
        disks = _disks_of(pod)
        claims = _ExclusiveClaims(pod.namespace, frozenset(exclusive), state, self._claim_in_use)
        users = claims.in_use()
        if not disks and not users:
            return SKIP
        return _RestrictionsFilter(disks, claims, users)

    def without_pre_filter(self, pod: PodInfo, state: State) -> NodeFilter:
        """Without PreFilter, Filter checks the disks, and then fails, because it needs PreFilter's state."""
        return _RestrictionsFilter(_disks_of(pod), _UncheckedClaims(), 1)

    sign = staticmethod(signers.volumes)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """A pod is deleted; a node is added; a claim is added."""
        return (
            builtin(EventResource.POD, ActionType.DELETE, _after_pod_deleted, BY_VOLUMES),
            builtin(EventResource.NODE, ActionType.ADD),
            builtin(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD, after_named_claim, BY_CLAIM),
        )


class VolumeRestrictionsUntil133(VolumeRestrictions):
    """The plugin up to 1.33."""

    _claim_in_use = "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"


def _after_pod_deleted(pod: PodInfo, old: Pod, _new: None, _cluster: Cluster) -> QueueingHint:
    """The deleted pod used a disk or a claim of this pod, on any node."""
    if old.metadata.namespace != pod.namespace:
        return QueueingHint.QUEUE_SKIP
    theirs = [disk for volume in old.spec.volumes for disk in _disks(volume)]
    clashes = any(_clash(disk, other) for disk in _disks_of(pod) for other in theirs)
    return queue_if(clashes or not set(PodInfo(old).claim_names).isdisjoint(pod.claim_names))


class _ExclusiveClaims:
    """The pod's ReadWriteOncePod claims in the snapshot."""

    def __init__(self, namespace: str, names: frozenset[str], state: State, reason: str) -> None:
        self._reason = reason
        self.names = names
        self._namespace = namespace
        self._state = state

    def in_use(self) -> int:
        """How many of the claims are used by pods on nodes."""
        if not self.names:
            return 0
        return sum(self._state.users_of(f"{self._namespace}/{name}") > 0 for name in self.names)

    @cached_property
    def refusal(self) -> Status:
        """The rejection, with the users as evidence; shared by all nodes."""
        return unschedulable(self._reason, *self._users())

    def _users(self) -> list[VolumeConflict]:
        namespace = self._namespace
        return [
            VolumeConflict(claim=f"{namespace}/{name}", detail=f"in use by {pod.key} on {node.name}")
            for node in self._state.nodes
            for pod in node.pods
            if pod.namespace == namespace and pod.pod.spec.volumes
            for name in pod.claim_names
            if name in self.names
        ]


class _UncheckedClaims:
    """The pod's claims if PreFilter is disabled."""

    names: frozenset[str] = frozenset()
    refusal = error('cannot read "PreFilterVolumeRestrictions" from cycleState')


class _RestrictionsFilter(Selective, Signed, NodeFilter):
    def __init__(self, disks: tuple[_Disk, ...], claims: _ExclusiveClaims | _UncheckedClaims, users: int) -> None:
        self.reads = Reads.CLUSTER if claims.names else Reads.PODS
        self._disks = disks
        self._claims = claims
        self._users = users
        self.signature = claims.names, users

    def filter(self, node: NodeInfo) -> Status:
        if self._disks:
            conflict = self._disk_conflict(node)
            if conflict is not None:
                return unschedulable(DISK_CONFLICT, conflict)
        return self._claims.refusal if self._users > 0 else SUCCESS

    def _disk_conflict(self, node: NodeInfo) -> VolumeConflict | None:
        for disk in self._disks:
            for pod in node.pods:
                for volume in pod.pod.spec.volumes:
                    if any(_clash(disk, other) for other in _disks(volume)):
                        kind, *name = _identity(disk)
                        return VolumeConflict(claim=f"{kind} {'/'.join(name)}", detail=f"in use by {pod.key}")
        return None

    def fork(self) -> Self:
        return type(self)(self._disks, self._claims, self._users)

    def affected_by(self, pod: PodInfo) -> bool:
        return bool(self._disks) or self._mentions(pod) > 0

    def add_pod(self, pod: PodInfo, node: NodeInfo) -> None:
        self._users += self._mentions(pod)

    def remove_pod(self, pod: PodInfo, node: NodeInfo) -> None:
        self._users -= self._mentions(pod)

    def _mentions(self, pod: PodInfo) -> int:
        # QUIRK: (updateWithPod) only the claim's name is compared. So if a pod of another namespace has a claim of the
        # same name, adding that pod makes the claim appear used, and removing that pod makes it appear free.
        names = self._claims.names
        return sum(name in names for name in pod.claim_names) if names else 0
