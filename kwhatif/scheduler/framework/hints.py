"""Queueing hints: whether an event may make a rejected pod schedulable.

(`EnqueueExtensions` and `QueueingHintFn` in `staging/src/k8s.io/kube-scheduler/framework`, `buildQueueingHintMap` in
`pkg/scheduler/scheduler.go`.)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple, Protocol, runtime_checkable

from kwhatif.kube.matching.volumes import claim_names
from kwhatif.kube.model.cluster import Cluster, identity, key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.scheduler.framework.cycle import EXTENDER
from kwhatif.scheduler.framework.events import ActionType, ClusterEvent, EventResource
from kwhatif.scheduler.framework.plugin import Plugin
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.state.pod_info import PodInfo


class QueueingHint(Enum):
    """A plugin's answer about an event, with upstream's names."""

    QUEUE = "Queue"
    QUEUE_SKIP = "QueueSkip"


QUEUE = QueueingHint.QUEUE
QUEUE_SKIP = QueueingHint.QUEUE_SKIP


def queue_if(condition: object) -> QueueingHint:
    """QUEUE if the condition is true."""
    return QUEUE if condition else QUEUE_SKIP


#: Called with the pending pod, the object before and after (None: it does not exist), and the cluster after the event.
QueueingHintFn = Callable[[PodInfo, Any, Any, Cluster], QueueingHint]


#: What pods and events have in common; any values that the plugin chooses. None stands for everything.
Keys = Collection[Hashable] | None


class HintIndex(NamedTuple):
    """The pods that an event can concern, so that hints run only for these. Only for speed.

    For a pod with none of the event's keys the hint must return QUEUE_SKIP. Replicas have the same keys.
    """

    of_pod: Callable[[Pod], Keys]
    #: The keys of an event, from the object before and after, and the cluster after the event.
    of_event: Callable[[Any, Any, Cluster], Keys]


class ClusterEventWithHint(NamedTuple):
    """An event that a plugin registers for, and its hint; without a hint the pod is always queued."""

    event: ClusterEvent
    queueing_hint: QueueingHintFn | None = None
    #: Pods that differ only in name, UID and time of creation get the same answer. Only for speed; the pod that the
    #: event itself is about is always evaluated separately.
    same_for_replicas: bool = False
    indexed_by: HintIndex | None = None


@runtime_checkable
class EnqueueExtensions(Plugin, Protocol):
    """A plugin that names the events that may help its rejected pods; other plugins are registered for every event."""

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """The events with their hints; none: only time, or another plugin, brings its pods back."""


class Registration(NamedTuple):
    """An event that a plugin is registered for."""

    plugin: str
    event: ClusterEvent
    hint: QueueingHintFn | None
    same_for_replicas: bool
    indexed_by: HintIndex | None = None


def builtin(
    resource: EventResource,
    action: ActionType,
    queueing_hint: QueueingHintFn | None = None,
    index: HintIndex | None = None,
) -> ClusterEventWithHint:
    """A registration of a built-in plugin, whose hints never distinguish replicas."""
    return ClusterEventWithHint(ClusterEvent(resource, action), queueing_hint, same_for_replicas=True, indexed_by=index)


#: Registrations of extenders, and of plugins that name no events (`UnrollWildCardResource`).
#: QUIRK: attachments and resource slices are not among them.
EVERY_EVENT: tuple[ClusterEventWithHint, ...] = tuple(
    builtin(resource, ActionType.ALL)
    for resource in (
        EventResource.POD,
        EventResource.NODE,
        EventResource.PERSISTENT_VOLUME,
        EventResource.PERSISTENT_VOLUME_CLAIM,
        EventResource.CSI_NODE,
        EventResource.CSI_DRIVER,
        EventResource.CSI_STORAGE_CAPACITY,
        EventResource.STORAGE_CLASS,
        EventResource.RESOURCE_CLAIM,
        EventResource.DEVICE_CLASS,
    )
)

_NODE_TAINT = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)


def registrations(profile: Profile) -> list[Registration]:
    """The events that the profile's plugins are registered for (`buildQueueingHintMap`).

    Only plugins that can reject a pod count: those at PreEnqueue, PreFilter and Filter (and Reserve and Permit, but
    kwhatif has no plugin that is only at those).
    """
    found = [Registration(EXTENDER, *entry) for entry in EVERY_EVENT] if profile.extenders else []
    rejecting: dict[str, Plugin] = {}
    for plugin in (*profile.pre_enqueue, *profile.pre_filter, *profile.filter):
        rejecting.setdefault(plugin.name, plugin)
    for plugin in rejecting.values():
        found.extend(_of(plugin))
    return found


def _of(plugin: Plugin) -> list[Registration]:
    entries = _entries(plugin)
    on_nodes = [entry.event.action for entry in entries if entry.event.resource is EventResource.NODE]
    added = any(ActionType.ADD in action for action in on_nodes)
    tainted = any(ActionType.UPDATE_NODE_TAINT in action for action in on_nodes)
    found = [Registration(plugin.name, *entry) for entry in entries]
    if added and not tainted:
        # QUIRK: (buildQueueingHintMap) left over from a removed check: any change of any node's taints counts as an
        # event for plugins that are registered for new nodes.
        found.append(Registration(plugin.name, _NODE_TAINT, None, same_for_replicas=True))
    return found


def _entries(plugin: Plugin) -> Sequence[ClusterEventWithHint]:
    return plugin.events_to_register() if isinstance(plugin, EnqueueExtensions) else EVERY_EVENT


def is_same_pod(waiting: PodInfo, pod: Pod) -> bool:
    """Whether the event is about the pending pod itself."""
    return waiting.uid == identity(pod)


def _claims(pod: Pod) -> list[str]:
    return [f"{pod.metadata.namespace}/{claim.name}" for claim in claim_names(pod)]


#: For events of claims that concern only pods that name them.
BY_CLAIM = HintIndex(_claims, lambda old, new, _cluster: (key_of(old if new is None else new),))
#: For deletions of pods, which do not matter if the pod has no volumes.
BY_VOLUMES = HintIndex(lambda _pod: (), lambda old, _new, _cluster: None if old.spec.volumes else ())


def after_own_claim(
    pod: PodInfo, _old: PersistentVolumeClaim | None, new: PersistentVolumeClaim, _cluster: Cluster
) -> QueueingHint:
    """A hint: the claim belongs to the pod, also one for an ephemeral volume."""
    return queue_if(key_of(new) in _claims(pod.pod))


def after_named_claim(
    pod: PodInfo, _old: PersistentVolumeClaim | None, new: PersistentVolumeClaim, _cluster: Cluster
) -> QueueingHint:
    """A hint: the pod names the claim; claims for ephemeral volumes do not count."""
    return queue_if(new.metadata.namespace == pod.namespace and new.metadata.name in pod.claim_names)


def changed_keys(old: Mapping[str, str], new: Mapping[str, str]) -> set[str]:
    """The keys of labels that were added, removed or changed."""
    return {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)}


def answer_at_once(waiting: PodInfo, old: Pod | None, new: Pod | None) -> QueueingHint | None:
    """The common start of hints about scheduled pods: an update of the pod itself queues it, unscheduled pods never do.

    None: the hint has to compare the pods.
    """
    if old is not None and new is not None and is_same_pod(waiting, new):
        return QUEUE
    return None if all(is_scheduled(pod) for pod in (old, new) if pod is not None) else QUEUE_SKIP


def is_scheduled(pod: Pod) -> bool:
    """Whether the pod takes up resources: it has a node, or is nominated to one."""
    return bool(pod.spec.node_name or pod.status.nominated_node_name)
