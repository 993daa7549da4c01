"""`BackoffQueue`: pods in backoff before their next attempt (`backend/queue/backoff_queue.go`)."""

from __future__ import annotations

from math import sqrt

from kwhatif.kube.model.meta import SECOND
from kwhatif.scheduler.queue.active_queue import Heap, Order, priority_sort
from kwhatif.scheduler.queue.queued_pod import QueuedEntity


def align_to_window(time: int) -> int:
    """The start of the second: pods whose backoff ends within one second are ordered by priority."""
    return time - time % SECOND


def backoff_end(failed: int, count: int, initial: int, most: int) -> int:
    """The start of the second in which the backoff ends, after `count` failures, the last of them at `failed`."""
    shift = count - 1
    return align_to_window(failed + (most if initial > most >> shift else initial << shift))


class BackoffQueue:
    """podBackoffQ and podErrorBackoffQ. All times are nanoseconds."""

    def __init__(self, initial: int, most: int) -> None:
        self._initial = initial
        self._most = most
        #: Rejected pods; popped early when activeQ is empty.
        self.pod_backoff = Heap(self._by_expiration_then_priority)
        #: Pods whose attempt ended with an error; never popped early.
        self.pod_error_backoff = Heap(self._by_expiration)

    def fork(self) -> BackoffQueue:
        """An independent queue with the same content."""
        other = BackoffQueue(self._initial, self._most)
        other.pod_backoff.take_over(self.pod_backoff)
        other.pod_error_backoff.take_over(self.pod_error_backoff)
        return other

    def backoff_time(self, info: QueuedEntity) -> int:
        """The start of the second in which the pod's backoff ends; 0 if it has no backoff."""
        count = info.consecutive_errors_count or info.unschedulable_count
        if not self._most or not count:
            return 0
        if info.backoff_expiration is None:
            # QUIRK: (backoff_queue.go) of a group only the most that it has to wait grows, with the root of its size.
            most = self._most if info.size == 1 else int(self._most * sqrt(info.size))
            info.backoff_expiration = backoff_end(info.timestamp, count, self._initial, most)
        return info.backoff_expiration

    def is_backing_off(self, info: QueuedEntity, now: int) -> bool:
        """Whether the pod is in backoff; in the second in which its backoff ends it still is."""
        return self.backoff_time(info) >= align_to_window(now)

    def _by_expiration_then_priority(self, info: QueuedEntity) -> Order:
        return self.backoff_time(info), *priority_sort(info)

    def _by_expiration(self, info: QueuedEntity) -> Order:
        return (self.backoff_time(info),)

    def __contains__(self, key: str) -> bool:
        return key in self.pod_backoff or key in self.pod_error_backoff

    def get(self, key: str) -> QueuedEntity | None:
        """The pod of that key."""
        return self.pod_backoff.get(key) or self.pod_error_backoff.get(key)

    def add(self, info: QueuedEntity) -> None:
        """Add the pod; one without rejectors came back because of an error."""
        here, other = self.pod_backoff, self.pod_error_backoff
        if not info.unschedulable_plugins and not info.pending_plugins:
            here, other = other, here
        here.add_or_update(info)
        other.delete(info.key)

    def update(self, info: QueuedEntity) -> None:
        """A pod in this queue has changed."""
        for queue in (self.pod_backoff, self.pod_error_backoff):
            if info.key in queue:
                queue.add_or_update(info)
                return

    def delete(self, key: str) -> bool:
        """Remove the pod; returns whether it was here."""
        return self.pod_backoff.delete(key) or self.pod_error_backoff.delete(key)

    def pop_completed(self, now: int) -> list[QueuedEntity]:
        """Remove all pods whose backoff is over."""
        popped = []
        for queue in (self.pod_backoff, self.pod_error_backoff):
            while (info := queue.peek()) is not None and not self.is_backing_off(info, now):
                queue.pop()
                popped.append(info)
        return popped
