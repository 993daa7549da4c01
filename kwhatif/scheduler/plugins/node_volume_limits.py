"""NodeVolumeLimits: how many volumes of each CSI driver a node can attach (`plugins/nodevolumelimits/csi.go`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from msgspec.structs import replace

from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.matching.csi_migration import (
    Disk,
    UntranslatableError,
    csi_handle,
    in_tree_disk,
    plugin_named,
    plugin_of,
    volume_handle,
)
from kwhatif.kube.matching.volumes import ClaimName, claim_class, claim_name, claim_not_found, not_owner
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, next_generation
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.storage import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    Volume,
    VolumeAttachment,
)
from kwhatif.scheduler.framework import signers
from kwhatif.scheduler.framework.events import ActionType, EventResource
from kwhatif.scheduler.framework.evidence import VolumeLimit
from kwhatif.scheduler.framework.hints import (
    BY_CLAIM,
    BY_VOLUMES,
    QUEUE,
    QUEUE_SKIP,
    ClusterEventWithHint,
    QueueingHint,
    after_own_claim,
    builtin,
    is_scheduled,
    queue_if,
)
from kwhatif.scheduler.framework.incremental import Relaxing, Signed
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.status import SKIP, SUCCESS, Status, error, unresolvable, unschedulable
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: Prefix of the handle of a volume to be provisioned; upstream's handle contains random letters.
CLAIM = "claim-"

#: Volumes that count towards a limit: `driver/handle` -> driver.
Attached = dict[str, str]
#: Driver and handle, or the Status that ends the plugin.
Attachment = tuple[str, str] | Status | None


def volumes_of(pod: Pod, cluster: Cluster, *, new: bool, migrated: bool = True) -> Attached | Status:
    """The volumes that must be attached for the pod, or the Status that ends the plugin (`filterAttachableVolumes`).

    `migrated`: the node has a CSINode, so in-tree volumes count for their CSI driver.
    """
    attached: Attached = {}
    for volume in pod.spec.volumes:
        claim = claim_name(pod, volume)
        attachment = (
            _inline(volume, migrated=migrated)
            if claim is None
            else _claimed(pod, claim, cluster, new=new, migrated=migrated)
        )
        if isinstance(attachment, Status):
            return attachment
        if attachment is not None and all(attachment):
            attached["/".join(attachment)] = attachment[0]
    return attached


def _inline(volume: Volume, *, migrated: bool) -> Attachment:
    disk = in_tree_disk(volume)
    if disk is None or not _migrates(disk, migrated=migrated):
        return None
    try:
        return plugin_of(disk).driver, csi_handle(disk)
    except UntranslatableError as failure:
        return error(f"converting volume({volume.name}) from inline to csi: {failure}")


def _migrates(disk: Disk, *, migrated: bool) -> bool:
    return migrated and plugin_of(disk).migrated


def _claimed(pod: Pod, claim: ClaimName, cluster: Cluster, *, new: bool, migrated: bool) -> Attachment:
    if not claim.name:
        return error("PersistentVolumeClaim had no name")
    key = f"{pod.metadata.namespace}/{claim.name}"
    found = cluster.get(PersistentVolumeClaim, key)
    if found is None:
        return unresolvable(f"looking up PVC {key}: {claim_not_found(claim.name)}") if new else None
    if claim.ephemeral and (stranger := not_owner(pod, found)):
        return error(stranger)
    volume = cluster.get(PersistentVolume, found.spec.volume_name)
    if volume is None:
        return _to_be_provisioned(found, cluster, migrated=migrated)
    return _of_volume(volume, migrated=migrated)


def _of_volume(volume: PersistentVolume, *, migrated: bool) -> Attachment:
    csi = volume.spec.csi
    if csi is not None:
        return csi.driver, csi.volume_handle
    disk = in_tree_disk(volume.spec)
    if disk is None or not _migrates(disk, migrated=migrated):
        return None
    try:
        return plugin_of(disk).driver, volume_handle(volume, disk)
    except UntranslatableError:
        return None


def _to_be_provisioned(claim: PersistentVolumeClaim, cluster: Cluster, *, migrated: bool) -> Attachment:
    """A claim without a volume counts as the volume that will be provisioned for it."""
    storage_class = cluster.get(StorageClass, claim_class(claim))
    if storage_class is None:
        return None
    handle = f"{CLAIM}{claim.metadata.namespace}/{claim.metadata.name}"
    plugin = plugin_named(storage_class.provisioner)
    if plugin is None:
        return storage_class.provisioner, handle
    return (plugin.driver, handle) if migrated and plugin.migrated else None


def attachments_by_node(cluster: Cluster) -> Mapping[str, Attached]:
    """Attached volumes by node, also without a pod that uses them (`getNodeVolumeAttachmentInfo`)."""
    by_node: dict[str, Attached] = {}
    for attachment in cluster.all(VolumeAttachment).values():
        spec = attachment.spec
        volume = cluster.get(PersistentVolume, spec.source.persistent_volume_name or "")
        if spec.attacher and volume is not None and volume.spec.csi is not None:
            key = f"{spec.attacher}/{volume.spec.csi.volume_handle}"
            by_node.setdefault(spec.node_name, {})[key] = spec.attacher
    return by_node


def events_to_register() -> Sequence[ClusterEventWithHint]:
    """A CSINode is added or allows more; a pod or an attachment is deleted; a claim is added."""
    return (
        builtin(EventResource.CSI_NODE, ActionType.ADD),
        builtin(EventResource.CSI_NODE, ActionType.UPDATE, _after_csi_node_updated),
        builtin(EventResource.POD, ActionType.DELETE, _after_pod_deleted, BY_VOLUMES),
        builtin(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD, after_own_claim, BY_CLAIM),
        builtin(EventResource.VOLUME_ATTACHMENT, ActionType.DELETE, _after_attachment_deleted),
    )


def _limits(csi_node: CSINode) -> dict[str, int]:
    drivers = csi_node.spec.drivers
    return {driver.name: (driver.allocatable and driver.allocatable.count) or 0 for driver in drivers}


def _after_csi_node_updated(_pod: PodInfo, old: CSINode, new: CSINode, _cluster: Cluster) -> QueueingHint:
    """Whether a driver may attach more volumes."""
    before = _limits(old)
    return queue_if(any(limit > before.get(driver, 0) for driver, limit in _limits(new).items()))


def _after_pod_deleted(_pod: PodInfo, old: Pod, _new: None, _cluster: Cluster) -> QueueingHint:
    """Whether the pod was on a node and had a volume to attach."""
    return queue_if(is_scheduled(old) and any(map(_may_be_attached, old.spec.volumes)))


def _may_be_attached(volume: Volume) -> bool:
    return bool(volume.persistent_volume_claim or volume.ephemeral or _migratable(volume))


def _migratable(volume: Volume) -> Disk | None:
    """The disk, if the scheduler translates such disks to CSI (`IsInlineMigratable`)."""
    disk = in_tree_disk(volume)
    return disk if disk is not None and plugin_of(disk).migrated else None


def _after_attachment_deleted(pod: PodInfo, old: VolumeAttachment, _new: None, _cluster: Cluster) -> QueueingHint:
    """Whether the pod has a claim, or a disk of that driver."""
    for volume in pod.pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            return QUEUE
        disk = _migratable(volume)
        if disk is not None and (plugin_of(disk).driver == old.spec.attacher or not _translates(disk)):
            return QUEUE
    return QUEUE_SKIP


def _translates(disk: Disk) -> bool:
    """Whether the disk can be translated; if not, upstream's hint fails, which queues the pod."""
    try:
        csi_handle(disk)
    except UntranslatableError:
        return False
    return True


TOO_MANY_VOLUMES = "node(s) exceed max volume count"


class NodeVolumeLimits:
    """Rejects nodes where a CSI driver would have more volumes attached than its CSINode allows."""

    name: ClassVar[str] = "NodeVolumeLimits"
    reads_claims: ClassVar[bool] = True

    def __init__(self, *, gates: Gates = BASE_GATES) -> None:
        self._needs_drivers = "VolumeLimitScaling" in gates

    def pre_filter(self, pod: PodInfo, state: State) -> NodeFilter | Status:
        """Find the volumes that must be attached for the pod."""
        for volume in pod.pod.spec.volumes:
            if volume.persistent_volume_claim or volume.ephemeral or in_tree_disk(volume):
                return _LimitsFilter(pod.pod, state, needs_drivers=self._needs_drivers)
        return SKIP

    sign = staticmethod(signers.volumes)

    events_to_register = staticmethod(events_to_register)


class _NodeVolumes(NamedTuple):
    """The volumes that are attached to a node, including those of its pods."""

    attached: Attached
    #: Number of volumes by driver, including those that no pod uses.
    counts: dict[str, int]
    error: Status | None = None


class _Volumes:
    """The volumes of pods; results for running pods are cached with the pods, by generation."""

    def __init__(self, cluster: Cluster) -> None:
        self.generation = next_generation()
        self._by_node = attachments_by_node(cluster)

    def on(self, node: NodeInfo, cluster: Cluster) -> _NodeVolumes:
        """The volumes that are attached to the node."""
        memos = node.memos
        if memos is None:
            memos = node.memos = {}
        known: tuple[int, _NodeVolumes] | None = memos.get(_Volumes)
        if known is None or known[0] != self.generation:
            known = memos[_Volumes] = self.generation, self._find_out(node, cluster)
        return known[1]

    def _find_out(self, node: NodeInfo, cluster: Cluster) -> _NodeVolumes:
        attached: Attached = {}
        for pod in node.pods:
            if not pod.pod.spec.volumes:
                continue
            volumes: Attached | Status | None = pod.memos.get(self.generation) if pod.memos else None
            if volumes is None:
                volumes = volumes_of(pod.pod, cluster, new=False)
                pod.remember(self.generation, volumes)
            if isinstance(volumes, Status):
                return _NodeVolumes({}, {}, volumes)
            attached.update(volumes)
        counts = Counter((self._by_node.get(node.name, {}) | attached).values())
        return _NodeVolumes(attached, counts)

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> _Volumes | None:
        """This object, if the volumes of claims and their disks are unchanged; otherwise None."""
        if isinstance(before, PersistentVolumeClaim) and isinstance(after, PersistentVolumeClaim):
            return self if _needs(before) == _needs(after) else None
        if isinstance(before, PersistentVolume) and isinstance(after, PersistentVolume):
            given = replace(after.spec, claim_ref=before.spec.claim_ref)
            return self if before.metadata == after.metadata and before.spec == given else None
        return None


def _needs(claim: PersistentVolumeClaim) -> object:
    meta = claim.metadata
    return claim.spec, claim_class(claim), meta.uid, meta.owner_references


class _LimitsFilter(Relaxing, Signed, NodeFilter):
    reads = Reads.PODS

    def __init__(self, pod: Pod, state: State, *, needs_drivers: bool = False) -> None:
        cluster = self._cluster = state.cluster
        self._new = volumes_of(pod, cluster, new=True)
        #: The volumes on a node without a CSINode: in-tree volumes are not translated there, so errors may differ.
        self._new_without_csi_node = volumes_of(pod, cluster, new=True, migrated=False)
        self._limits = cluster.derived(_limits_by_node, CSINode)
        kinds = PersistentVolumeClaim, PersistentVolume, StorageClass, VolumeAttachment
        self._volumes = cluster.derived(_Volumes, *kinds)
        if not any(self._limits.values()):
            self.reads = Reads.NODE
        # A volume that this pod shares with a pod on the node counts again if that pod is removed, even above a limit.
        self.relaxing = isinstance(self._new, Status) or all(
            _is_new_and_unused(handle, driver, state) for handle, driver in self._new.items()
        )
        shared = () if self.relaxing or isinstance(self._new, Status) else frozenset(self._new)
        signed = _signed(self._new), _signed(self._new_without_csi_node)
        self.signature = self.relaxing, shared, *signed
        #: Drivers of the pod's volumes that must be installed on the node; sorted.
        self._needed = _needed_drivers(self._new, cluster) if needs_drivers else ()

    def filter(self, node: NodeInfo) -> Status:
        limits = self._limits.get(node.name)
        new = self._new_without_csi_node if limits is None else self._new
        if isinstance(new, Status):
            return new
        if not new:
            return SUCCESS
        missing = self._missing(node.name)
        if missing is not None:
            return unschedulable(f"{missing} CSI driver is not installed on the node")
        if not limits:
            return SUCCESS
        there = self._volumes.on(node, self._cluster)
        if there.error is not None:
            return there.error
        return _judge(new, limits, there)

    def _missing(self, node_name: str) -> str | None:
        """The first required driver that is not installed on the node (`checkCSIDriverOnNode`, in random order)."""
        if not self._needed:
            return None
        csi_node = self._cluster.get(CSINode, node_name)
        there = {driver.name for driver in csi_node.spec.drivers} if csi_node is not None else set()
        return next((driver for driver in self._needed if driver not in there), None)


def _needed_drivers(new: Attached | Status, cluster: Cluster) -> tuple[str, ...]:
    """The drivers of new volumes that must be installed on the node (`preventPodSchedulingIfMissing`); sorted."""
    drivers = () if isinstance(new, Status) else sorted(set(new.values()))
    found = ((name, cluster.get(CSIDriver, name)) for name in drivers)
    return tuple(name for name, driver in found if driver and driver.spec.prevent_pod_scheduling_if_missing)


def _is_new_and_unused(handle: str, driver: str, state: State) -> bool:
    """Whether the volume is still to be provisioned, for a claim that no pod on a node uses."""
    claim = handle.removeprefix(f"{driver}/{CLAIM}")
    return claim != handle and not state.users_of(claim)


def _signed(new: Attached | Status) -> Hashable:
    """For volumes still to be provisioned, which are not attached to any node, only the number per driver matters."""
    if isinstance(new, Status):
        return new.code, new.reasons
    to_be_made = all(handle.startswith(f"{driver}/{CLAIM}") for handle, driver in new.items())
    return frozenset(Counter(new.values()).items()) if to_be_made else frozenset(new.items())


def _judge(new: Attached, limits: Mapping[str, int], there: _NodeVolumes) -> Status:
    wanted: dict[str, int] = {}
    for volume, driver in new.items():
        # QUIRK: (Filter) a volume that is already attached to the node, but not for a pod, counts twice.
        if driver in limits and volume not in there.attached:
            wanted[driver] = wanted.get(driver, 0) + 1
    counts = there.counts
    exceeded = [driver for driver, count in wanted.items() if counts.get(driver, 0) + count > limits[driver]]
    if not exceeded:
        return SUCCESS
    evidence = (
        VolumeLimit(driver=driver, attached=counts.get(driver, 0), new=wanted[driver], limit=limits[driver])
        for driver in exceeded
    )
    return unschedulable(TOO_MANY_VOLUMES, *evidence)


def _limits_by_node(cluster: Cluster) -> Mapping[str, Mapping[str, int]]:
    """Limits by driver, for every node that has a CSINode."""
    return {
        name: {
            driver.name: driver.allocatable.count
            for driver in csi_node.spec.drivers
            if driver.allocatable is not None and driver.allocatable.count is not None
        }
        for name, csi_node in cluster.all(CSINode).items()
    }
