"""The volumes that must be attached for pods (`plugins/nodevolumelimits/csi.go`)."""

from __future__ import annotations

from collections.abc import Mapping

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
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass, Volume, VolumeAttachment
from kwhatif.scheduler.framework.status import Status, error, unresolvable

#: Prefix of the handle of a volume to be provisioned; upstream's contains random letters.
CLAIM = "claim-"

#: Volumes that need a slot: `driver/handle` -> driver.
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
    if disk is None or not _translates(disk, migrated=migrated):
        return None
    try:
        return plugin_of(disk).driver, csi_handle(disk)
    except UntranslatableError as failure:
        return error(f"converting volume({volume.name}) from inline to csi: {failure}")


def _translates(disk: Disk, *, migrated: bool) -> bool:
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
    if disk is None or not _translates(disk, migrated=migrated):
        return None
    try:
        return plugin_of(disk).driver, volume_handle(volume, disk)
    except UntranslatableError:
        return None


def _to_be_provisioned(claim: PersistentVolumeClaim, cluster: Cluster, *, migrated: bool) -> Attachment:
    """A claim without a volume uses the slot of its future volume."""
    storage_class = cluster.get(StorageClass, claim_class(claim))
    if storage_class is None:
        return None
    handle = f"{CLAIM}{claim.metadata.namespace}/{claim.metadata.name}"
    plugin = plugin_named(storage_class.provisioner)
    if plugin is None:
        return storage_class.provisioner, handle
    return (plugin.driver, handle) if migrated and plugin.migrated else None


def attachments_by_node(cluster: Cluster) -> Mapping[str, Attached]:
    """Attached volumes by node, used by a pod or not (`getNodeVolumeAttachmentInfo`)."""
    by_node: dict[str, Attached] = {}
    for attachment in cluster.all(VolumeAttachment).values():
        spec = attachment.spec
        volume = cluster.get(PersistentVolume, spec.source.persistent_volume_name or "")
        if spec.attacher and volume is not None and volume.spec.csi is not None:
            key = f"{spec.attacher}/{volume.spec.csi.volume_handle}"
            by_node.setdefault(spec.node_name, {})[key] = spec.attacher
    return by_node
