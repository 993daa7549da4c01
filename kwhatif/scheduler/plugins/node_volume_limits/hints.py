"""Events that may free a slot for a pod's volumes (the hints in `nodevolumelimits/csi.go`)."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.kube.matching.csi_migration import Disk, UntranslatableError, csi_handle, in_tree_disk, plugin_of
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.storage import CSINode, VolumeAttachment
from kwhatif.kube.model.volume import Volume
from kwhatif.scheduler.framework.events import ActionType, EventResource
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
from kwhatif.state.pod_info import PodInfo


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
    """Whether the disk can be translated; if not, upstream's hint fails, which queues."""
    try:
        csi_handle(disk)
    except UntranslatableError:
        return False
    return True
