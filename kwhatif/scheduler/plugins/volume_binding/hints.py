"""Events that may help a pod's claims to get volumes (the hints in `volumebinding/volume_binding.go`)."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.quantity import parse_quantity, value
from kwhatif.kube.model.storage import CSIDriver, CSINode, CSIStorageCapacity, StorageClass
from kwhatif.scheduler.framework.events import ActionType, EventResource
from kwhatif.scheduler.framework.hints import (
    BY_CLAIM,
    ClusterEventWithHint,
    QueueingHint,
    after_own_claim,
    builtin,
    queue_if,
)
from kwhatif.scheduler.plugins.volume_binding.bound import MIGRATED_PLUGINS
from kwhatif.state.pod_info import PodInfo


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
