"""Events that may make room for a pod (`EventsToRegister` and its hints in `noderesources/fit.go`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Sequence
from functools import partial

from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.matching.device_classes import IMPLICIT_PREFIX, ClassesOf, classes_under
from kwhatif.kube.matching.requests import PODS, Resources, pod_requests, pod_resources, resource_nanos, to_resources
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.quantity import value
from kwhatif.kube.model.resource import DeviceClass
from kwhatif.scheduler.framework.events import ActionType, EventResource
from kwhatif.scheduler.framework.hints import (
    QUEUE,
    QUEUE_SKIP,
    ClusterEventWithHint,
    HintIndex,
    Keys,
    QueueingHint,
    answer_at_once,
    builtin,
    queue_if,
)
from kwhatif.state.pod_info import PodInfo


def events_to_register(gates: Gates = BASE_GATES) -> Sequence[ClusterEventWithHint]:
    """A pod is deleted or scaled down; a node is added or grows; a DeviceClass is set up for a resource."""
    pod = ActionType.DELETE | ActionType.UPDATE_POD_SCALE_DOWN
    node = ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE
    classes_of = classes_under(gates)
    by_size = HintIndex(_by_size, partial(_sizes_that_fit, classes_of))
    events = (
        builtin(EventResource.POD, pod, _after_pod_event, HintIndex(_asked_names, _given_names)),
        builtin(EventResource.NODE, node, partial(_after_node_change, classes_of), by_size),
    )
    if "DRAExtendedResource" not in gates:
        return events
    return *events, builtin(EventResource.DEVICE_CLASS, ActionType.ADD | ActionType.UPDATE, _after_class_event)


# --- pods --------------------------------------------------------------------------------------------


def _after_pod_event(pod: PodInfo, old: Pod, new: Pod | None, _cluster: Cluster) -> QueueingHint:
    """Any pod on a node was deleted; the pod requests less; another pod released resources that it requests."""
    at_once = answer_at_once(pod, old, new)
    if at_once is not None or new is None:
        return at_once or QUEUE
    before, after = (pod_resources(one).requested for one in (old, new))
    return queue_if(
        new.spec.node_name and any(after.of(name) < before.of(name) for name in pod.resources.requested.asked)
    )


def _asked_names(pod: Pod) -> Keys:
    return pod_resources(pod).requested.asked


def _given_names(old: Pod, new: Pod | None, _cluster: Cluster) -> Keys:
    if new is None:
        return None
    before, after = (pod_resources(one).requested for one in (old, new))
    return [name for name in before.asked if after.of(name) < before.of(name)]


# --- nodes -------------------------------------------------------------------------------------------


def _after_node_change(
    classes_of: ClassesOf, pod: PodInfo, old: Node | None, new: Node, cluster: Cluster
) -> QueueingHint:
    """The pod fits the empty node, and a resource that it requests has increased."""
    asked = pod.derived(_asked)
    after = _room(new)
    classes = classes_of(cluster)
    if not after.has(asked, classes):
        return QUEUE_SKIP
    return queue_if(old is None or after.grew(_room(old), asked, classes))


def _asked(pod: Pod) -> Resources:
    """The requests of a pending pod: only the spec counts."""
    return to_resources(pod_requests(pod))


def _by_size(pod: Pod) -> Keys:
    """Pods by the first scalar resource that they request, or by the number of bits of their cpu request."""
    asked = _asked(pod)
    special = next((name for name, amount in asked.scalars if amount > 0), None)
    if special is not None:
        return (special,)
    return None if asked.cpu < 0 else (asked.cpu.bit_length(),)


def _sizes_that_fit(classes_of: ClassesOf, _old: Node | None, new: Node, cluster: Cluster) -> Keys:
    room = _room(new).amounts
    special = (name for name, _ in room.scalars)
    return [*range(room.cpu.bit_length() + 1), *special, *classes_of(cluster)]


class _Room:
    """The resources of an empty node."""

    def __init__(self, node: Node) -> None:
        amounts = resource_nanos(node.status.allocatable)
        self.pods = value(amounts.get(PODS, 0))
        self.amounts = to_resources(amounts)

    def has(self, asked: Resources, classes: Container[str]) -> bool:
        """Whether there is room for a pod with these requests.

        QUIRK: (isFit) resources that the plugin is configured to ignore count nevertheless.
        """
        most = self.amounts
        if not self.pods or asked.cpu > most.cpu or asked.memory > most.memory or asked.ephemeral > most.ephemeral:
            return False
        return all(
            amount <= most.scalar(name) or self._leaves_it_to_devices(name, classes) for name, amount in asked.scalars
        )

    def grew(self, before: _Room, asked: Resources, classes: Container[str]) -> bool:
        """Whether there is more room for such a pod (`haveAnyRequestedResourcesIncreased`)."""
        if self.pods > before.pods:
            return True
        return any(
            self.amounts.of(name) > before.amounts.of(name) or self._leaves_it_to_devices(name, classes)
            for name in asked.asked
        )

    def _leaves_it_to_devices(self, name: str, classes: Container[str]) -> bool:
        """Whether a scalar that the node lacks has a DeviceClass (`shouldDelegateResourceToDRA`)."""
        return self.amounts.of(name) <= 0 and name in classes


#: The nodes of the last event, cached because all pending pods are checked against it.
_last: deque[tuple[Node, _Room]] = deque(maxlen=2)


def _room(node: Node) -> _Room:
    for known, room in _last:
        if known is node:
            return room
    room = _Room(node)
    _last.append((node, room))
    return room


# --- device classes ----------------------------------------------------------------------------------


def _after_class_event(pod: PodInfo, old: DeviceClass | None, new: DeviceClass, _cluster: Cluster) -> QueueingHint:
    """The class is now the class of a resource that the pod requests."""
    explicit = new.spec.extended_resource_name
    if old is not None and (old.spec.extended_resource_name or "") == (explicit or ""):
        return QUEUE_SKIP
    names = pod_requests(pod.pod, pod_level=True).keys()
    if old is None and IMPLICIT_PREFIX + new.metadata.name in names:
        return QUEUE
    return queue_if(explicit is not None and explicit in names)
