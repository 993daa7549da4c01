"""`ClusterEvent`: what a change of an object means to pending pods.

(`staging/src/k8s.io/kube-scheduler/framework/types.go`, `pkg/scheduler/framework/events.go` and `types.go`.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import IntFlag, StrEnum
from typing import NamedTuple, cast

from kwhatif.dra.devices import changes_devices
from kwhatif.kube.gates import BASE_RESIZES
from kwhatif.kube.matching.requests import pod_requests, resource_nanos
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.kube.model.quantity import milli_value
from kwhatif.kube.model.resource import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice
from kwhatif.kube.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)


class ActionType(IntFlag):
    """What happened to the object; a registration may name several actions."""

    ADD = 1
    DELETE = 2
    UPDATE_NODE_ALLOCATABLE = 4
    UPDATE_NODE_LABEL = 8
    #: Also the end of a cordon.
    UPDATE_NODE_TAINT = 16
    UPDATE_NODE_CONDITION = 32
    UPDATE_NODE_ANNOTATION = 64
    UPDATE_NODE_DECLARED_FEATURE = 128
    UPDATE_POD_LABEL = 256
    UPDATE_POD_SCALE_DOWN = 512
    UPDATE_POD_TOLERATION = 1024
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 2048
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 4096
    UPDATE = 8188
    ALL = 8191


class EventResource(StrEnum):
    """The resource that changed. Plugins register for `POD`; an event names one of the two kinds of pods."""

    POD = "Pod"
    ASSIGNED_POD = "AssignedPod"
    UNSCHEDULABLE_POD = "UnschedulablePod"
    NODE = "Node"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
    RESOURCE_SLICE = "resource.k8s.io/ResourceSlice"
    DEVICE_CLASS = "resource.k8s.io/DeviceClass"
    POD_GROUP = "scheduling.k8s.io/PodGroup"
    WILDCARD = "*"


#: Kinds whose events are just added, updated, deleted.
PLAIN: Mapping[type, EventResource] = {
    PersistentVolume: EventResource.PERSISTENT_VOLUME,
    PersistentVolumeClaim: EventResource.PERSISTENT_VOLUME_CLAIM,
    CSINode: EventResource.CSI_NODE,
    CSIDriver: EventResource.CSI_DRIVER,
    VolumeAttachment: EventResource.VOLUME_ATTACHMENT,
    CSIStorageCapacity: EventResource.CSI_STORAGE_CAPACITY,
    StorageClass: EventResource.STORAGE_CLASS,
    ResourceClaim: EventResource.RESOURCE_CLAIM,
    ResourceSlice: EventResource.RESOURCE_SLICE,
    DeviceClass: EventResource.DEVICE_CLASS,
    PodGroup: EventResource.POD_GROUP,
}

_NAMES: Mapping[ActionType, str] = {
    action: "".join(word.capitalize() for word in str(action.name).split("_")) for action in ActionType
} | {ActionType.UPDATE: "Update", ActionType.ALL: "All"}


class ClusterEvent(NamedTuple):
    """A resource and an action; an event, or what a plugin registers for."""

    resource: EventResource
    action: ActionType
    custom_label: str = ""

    @property
    def label(self) -> str:
        """The event's name, as in the scheduler's metrics: `AssignedPodDelete`."""
        return self.custom_label or f"{self.resource}{_NAMES[self.action]}"

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of all events that a registration is for: it may have several actions (`Add | UpdateNodeLabel`)."""
        if self.custom_label or self.action in _NAMES:
            return (self.label,)
        return tuple(f"{self.resource}{_NAMES[single]}" for single in self.action)

    @property
    def is_wildcard(self) -> bool:
        """Whether it stands for every event (`ClusterEventIsWildCard`)."""
        return self.resource is EventResource.WILDCARD and self.action is ActionType.ALL

    def matches(self, incoming: ClusterEvent) -> bool:
        """Whether this registration covers the incoming event (`MatchClusterEvents`).

        A general update matches only registrations for all updates.
        """
        if self.is_wildcard:
            return True
        resource = self.resource
        agree = (
            resource in (EventResource.WILDCARD, incoming.resource)
            or (resource is EventResource.POD and incoming.resource in (ASSIGNED_POD, UNSCHEDULABLE_POD))
        )  # fmt: skip
        return agree and bool(self.action & incoming.action) and incoming.action <= self.action


ASSIGNED_POD = EventResource.ASSIGNED_POD
UNSCHEDULABLE_POD = EventResource.UNSCHEDULABLE_POD
ASSIGNED_POD_ADD = ClusterEvent(ASSIGNED_POD, ActionType.ADD)
ASSIGNED_POD_DELETE = ClusterEvent(ASSIGNED_POD, ActionType.DELETE)
UNSCHEDULED_POD_ADD = ClusterEvent(UNSCHEDULABLE_POD, ActionType.ADD)
UNSCHEDULABLE_TIMEOUT = ClusterEvent(EventResource.WILDCARD, ActionType.ALL, "UnschedulableTimeout")
FORCE_ACTIVATE = ClusterEvent(EventResource.WILDCARD, ActionType.ALL, "ForceActivate")


# --- nodes -------------------------------------------------------------------------------------------


def _uncordoned(old: Node, new: Node) -> bool:
    return old.spec.unschedulable and not new.spec.unschedulable


def _allocatable_changed(old: Node, new: Node) -> bool:
    before, after = old.status.allocatable, new.status.allocatable
    return before != after and resource_nanos(before) != resource_nanos(after)


def _conditions(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}


_NODE_CHANGES: tuple[tuple[ActionType, Callable[[Node, Node], bool]], ...] = (
    (ActionType.UPDATE_NODE_TAINT, _uncordoned),
    (ActionType.UPDATE_NODE_ALLOCATABLE, _allocatable_changed),
    (ActionType.UPDATE_NODE_LABEL, lambda old, new: old.metadata.labels != new.metadata.labels),
    (ActionType.UPDATE_NODE_TAINT, lambda old, new: old.spec.taints != new.spec.taints),
    (ActionType.UPDATE_NODE_CONDITION, lambda old, new: _conditions(old) != _conditions(new)),
    (ActionType.UPDATE_NODE_ANNOTATION, lambda old, new: old.metadata.annotations != new.metadata.annotations),
    (
        ActionType.UPDATE_NODE_DECLARED_FEATURE,
        lambda old, new: old.status.declared_features != new.status.declared_features,
    ),
)


def node_events(old: Node, new: Node) -> Iterator[ClusterEvent]:
    """The events of a node's update, in order; none if no plugin needs it (`NodeSchedulingPropertiesChange`)."""
    for action, changed in _NODE_CHANGES:
        if changed(old, new):
            yield ClusterEvent(EventResource.NODE, action)


# --- pods --------------------------------------------------------------------------------------------


def _scaled_down(old: Pod, new: Pod) -> bool:
    """Whether the request of some resource became smaller."""
    if old.spec == new.spec and old.status == new.status:
        return False
    before, after = (pod_requests(pod, resizes=BASE_RESIZES) for pod in (old, new))
    return any(name not in after or milli_value(nanos) > milli_value(after[name]) for name, nanos in before.items())


def _claims_changed(old: Pod, new: Pod) -> bool:
    before, after = old.status, new.status
    return (
        before.resource_claim_statuses != after.resource_claim_statuses
        or before.extended_resource_claim_status != after.extended_resource_claim_status
    )


_POD_CHANGES: tuple[tuple[ActionType, Callable[[Pod, Pod], bool]], ...] = (
    (ActionType.UPDATE_POD_LABEL, lambda old, new: old.metadata.labels != new.metadata.labels),
    (ActionType.UPDATE_POD_SCALE_DOWN, _scaled_down),
    (
        ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
        lambda old, new: bool(old.spec.scheduling_gates) and not new.spec.scheduling_gates,
    ),
    # The API allows adding tolerations, but not changing or removing them, so it is enough to compare their number.
    (ActionType.UPDATE_POD_TOLERATION, lambda old, new: len(old.spec.tolerations) != len(new.spec.tolerations)),
    (ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM, _claims_changed),
)


def pod_events(old: Pod, new: Pod) -> list[ClusterEvent]:
    """The events of an update of a pod, in order; at least a general update (`PodSchedulingPropertiesChange`)."""
    resource = ASSIGNED_POD if new.spec.node_name else UNSCHEDULABLE_POD
    actions = [action for action, changed in _POD_CHANGES if changed(old, new)]
    return [ClusterEvent(resource, action) for action in actions or [ActionType.UPDATE]]


def _announced(old: Pod | None, new: Pod | None) -> list[ClusterEvent]:
    assigned_before = old is not None and bool(old.spec.node_name)
    if new is None or not new.spec.node_name:
        return [ASSIGNED_POD_DELETE] if assigned_before and new is None else []
    if old is None or not assigned_before:
        return [ASSIGNED_POD_ADD]
    return pod_events(old, new)


# --- any object --------------------------------------------------------------------------------------


def cluster_events(old: KubernetesObject | None, new: KubernetesObject | None, cluster: Cluster) -> list[ClusterEvent]:
    """The scheduler's events for a change, for all pending pods; `old` None: added, `new` None: deleted.

    A pod that ended counts as deleted. A change of a pod without a node concerns only that pod (`pod_events`);
    for a nomination that it loses see `queue.event_handlers`. Kinds that the scheduler does not watch have no events.
    A change of a DeviceTaintRule counts as a change of the devices' slices (`resourceslice/tracker`).
    """
    kind = type(old if new is None else new)
    if kind is Pod:
        pods = (cast("Pod | None", obj) for obj in (old, new))
        return _announced(*(None if pod is None or is_terminal(pod) else pod for pod in pods))
    if kind is Node and old is not None and new is not None:
        return list(node_events(cast("Node", old), cast("Node", new)))
    if kind is DeviceTaintRule:
        before, after = (cast("DeviceTaintRule | None", obj) for obj in (old, new))
        changes = changes_devices(before, after, cluster)
        return [ClusterEvent(EventResource.RESOURCE_SLICE, ActionType.UPDATE)] if changes else []
    resource = EventResource.NODE if kind is Node else PLAIN.get(kind)
    if resource is None:
        return []
    action = ActionType.ADD if old is None else ActionType.DELETE if new is None else ActionType.UPDATE
    return [ClusterEvent(resource, action)]
