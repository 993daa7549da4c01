"""`EventHandlers`: how the scheduler reacts to a change of the cluster (`pkg/scheduler/eventhandlers.go`)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple, Protocol

from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.scheduler.framework.events import ASSIGNED_POD_DELETE
from kwhatif.scheduler.queue.group_queue import GroupSchedulingQueue
from kwhatif.scheduler.queue.queued_pod import PodLister, QueuedPodInfo
from kwhatif.scheduler.queue.scheduling_queue import SchedulingQueue
from kwhatif.state.pod_info import PodInfo


class FailedAttempt(NamedTuple):
    """How an attempt failed."""

    #: Plugins that rejected the pod; none after an error, or when there are no nodes.
    unschedulable_plugins: Collection[str] = ()
    pending_plugins: Collection[str] = ()
    #: The node that it is nominated to now, "" for none; None: that of its status.
    nominated_node_name: str | None = ""


def handle_failure(queue: SchedulingQueue, info: QueuedPodInfo, failed: FailedAttempt, lister: PodLister) -> Pod | None:
    """Put the pod back into the queue, and record its nomination (`handleSchedulingFailure` in `schedule_one.go`).

    Returns:
        The current pod, whose status is to be updated with the failure; None if another pod has its name.
    """
    info.clear_rejectors()
    info.unschedulable_plugins = set(failed.unschedulable_plugins)
    info.pending_plugins = set(failed.pending_plugins)
    listed = lister(info.key)
    if listed is None or listed.spec.node_name:
        queue.done(info.uid)
    else:
        if listed is not info.pod_info.pod:
            latest = PodInfo(listed)
            if latest.uid != info.uid:
                queue.done(info.uid)
                return None
            info.update(latest)
        queue.add_unschedulable_if_not_present(info)
    queue.nominator.add(info.pod_info, failed.nominated_node_name)
    return info.pod_info.pod


class AssumedPods(Protocol):
    """The part of the scheduler's cache that is used here: pods that have a node but are not bound yet."""

    def assumed(self, uid: str) -> Pod | None:
        """The pod with its node, if it is assumed."""

    def forget(self, uid: str) -> None:
        """The pod will not be bound."""


class _NoAssumedPods:
    """For a scheduler that binds at once."""

    def assumed(self, uid: str) -> Pod | None:
        del uid
        return None

    def forget(self, uid: str) -> None:
        pass


class EventHandlers:
    """Passes changes on to the queue.

    The caller keeps the order: it changes the cluster and the scheduler's cache before it calls the queue;
    only for the deletion of a node it calls the queue first.
    """

    def __init__(
        self, queue: SchedulingQueue, scheduler_names: Collection[str], cache: AssumedPods | None = None
    ) -> None:
        """Without a cache, pods are bound at once."""
        self._queue = queue
        #: Pods of other schedulers matter only once they have a node.
        self._names = scheduler_names
        self._cache = cache or _NoAssumedPods()

    def handle(self, old: KubernetesObject | None, new: KubernetesObject | None) -> None:
        """An object was added (`old` None), updated, or deleted (`new` None). A pod that ended counts as deleted."""
        if isinstance(old if new is None else new, Pod):
            self._handle_pod(_live(old), _live(new))
            return
        if isinstance(old if new is None else new, PodGroup) and isinstance(self._queue, GroupSchedulingQueue):
            self._handle_group(self._queue, old, new)
        for event in self._queue.events_of(old, new):
            self._queue.move_all_to_active_or_backoff(event, old, new)

    @staticmethod
    def _handle_group(queue: GroupSchedulingQueue, old: KubernetesObject | None, new: KubernetesObject | None) -> None:
        """A group was added, updated or deleted (`addPodGroup`, `updatePodGroup`, `deletePodGroup`)."""
        if isinstance(new, PodGroup):
            queue.put_group(new)
        elif old is not None:
            queue.drop_group(key_of(old))

    def _handle_pod(self, old: Pod | None, new: Pod | None) -> None:
        for event in self._queue.events_of(old, new):
            binding = old is not None and not old.spec.node_name and new is not None
            self._queue.move_all_to_active_or_backoff(event, None if binding else old, new)
        if old is None:
            if new is not None and self._waits_here(new):
                self._queue.add(PodInfo(new))
        elif self._waits_here(old):
            self._handle_waiting(old, new)

    def _waits_here(self, pod: Pod) -> bool:
        return not pod.spec.node_name and pod.spec.scheduler_name in self._names

    def _handle_waiting(self, old: Pod, new: Pod | None) -> None:
        if new is None:
            self._delete(old)
        elif new.spec.node_name:
            self._queue.delete(PodInfo(old))
        else:
            self._update(old, new)

    def _update(self, old: Pod, new: Pod) -> None:
        """A pod without a node changed (`updatePodInSchedulingQueue`)."""
        info = PodInfo(new)
        if self._cache.assumed(info.uid) is not None:
            if new.metadata.deletion_timestamp is not None and old.metadata.deletion_timestamp is None:
                self._drop_assumed(info.uid)
            return
        self._queue.update(PodInfo(old), info)
        nominated = old.status.nominated_node_name
        if nominated and nominated != new.status.nominated_node_name:
            self._nomination_lost(old)

    def _delete(self, pod: Pod) -> None:
        """A pod without a node is gone (`deletePodFromSchedulingQueue`)."""
        info = PodInfo(pod)
        self._queue.delete(info)
        if self._cache.assumed(info.uid) is not None:
            self._drop_assumed(info.uid)
        elif pod.status.nominated_node_name:
            self._nomination_lost(pod)

    def _nomination_lost(self, pod: Pod) -> None:
        """For the pod and for pods that had to leave it room, this counts as the deletion of a pod on the node."""
        self._queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, pod, None, _not_above(PodInfo(pod).priority))

    def _drop_assumed(self, uid: str) -> None:
        """An assumed pod is being deleted: its room is free (`handleAssumedPodDeletion`)."""
        pod = self._cache.assumed(uid)
        self._cache.forget(uid)
        self._queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, pod, None)


def _live(obj: KubernetesObject | None) -> Pod | None:
    return obj if isinstance(obj, Pod) and not is_terminal(obj) else None


def _not_above(priority: int) -> Callable[[PodInfo], bool]:
    return lambda info: info.priority <= priority
