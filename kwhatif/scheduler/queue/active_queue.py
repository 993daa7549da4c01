"""`ActiveQueue` and `BackoffQueue`: pods that are ready, in flight, or in backoff.

Follows `active_queue.go` and `backoff_queue.go` in `pkg/scheduler/backend/queue`, and `backend/heap`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from math import sqrt
from typing import Any

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.meta import SECOND
from kwhatif.scheduler.framework.events import ClusterEvent
from kwhatif.scheduler.queue.hinting import Occurrence
from kwhatif.scheduler.queue.queued_pod import QueuedEntity, QueuedPodGroupInfo, QueuedPodInfo

#: The sort key of pods; the smallest is first.
Order = tuple[Any, ...]
_Entry = tuple[Order, int, QueuedEntity]


class Heap:
    """Pods and groups in an order, found and removed by key (`pkg/scheduler/backend/heap`).

    Their order does not change while they are here; equal ones stay in insertion order.
    """

    def __init__(self, order: Callable[[QueuedEntity], Order]) -> None:
        self._order = order
        #: Also has removed entries, which are skipped.
        self._heap: list[_Entry] = []
        self._entries: dict[str, _Entry] = {}
        self._number = 0

    def take_over(self, other: Heap) -> None:
        """Copy the content of another heap of the same order; the records are independent."""
        self._number = other._number
        self._entries = {key: (order, number, info.fork()) for key, (order, number, info) in other._entries.items()}
        self._heap = sorted(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[QueuedEntity]:
        """All pods and groups, in no particular order."""
        return (info for _, _, info in self._entries.values())

    def get(self, key: str) -> QueuedEntity | None:
        """The pod of that key, `namespace/name`."""
        entry = self._entries.get(key)
        return None if entry is None else entry[2]

    def add_or_update(self, info: QueuedEntity) -> None:
        """Insert the pod, in place of one with the same key."""
        self._number += 1
        entry = (self._order(info), self._number, info)
        self._entries[info.key] = entry
        heappush(self._heap, entry)
        if len(self._heap) > 2 * len(self._entries) + 16:
            self._heap = list(self._entries.values())
            heapify(self._heap)

    def delete(self, key: str) -> bool:
        """Remove the pod of that key; returns whether it was there."""
        return self._entries.pop(key, None) is not None

    def peek(self) -> QueuedEntity | None:
        """The first pod."""
        while self._heap:
            entry = self._heap[0]
            if self._entries.get(entry[2].key) is entry:
                return entry[2]
            heappop(self._heap)
        return None

    def pop(self) -> QueuedEntity | None:
        """Remove the first pod."""
        heap, entries = self._heap, self._entries
        while heap:
            entry = heappop(heap)
            info = entry[2]
            key = info.key
            if entries.get(key) is entry:
                del entries[key]
                return info
        return None

    def entities(self) -> Sequence[QueuedEntity]:
        """All pods and groups, in the order in which they would be popped."""
        return [info for _, _, info in sorted(self._entries.values(), key=lambda entry: entry[:2])]

    def list(self) -> list[QueuedPodInfo]:
        """All pods that are not of groups, in that order."""
        return [info for info in self.entities() if isinstance(info, QueuedPodInfo)]


def priority_sort(info: QueuedEntity) -> Order:
    """Higher priority first, then longer wait (PrioritySort, `plugins/queuesort/priority_sort.go`)."""
    return -info.priority, info.timestamp


class ActiveQueue:
    """activeQ, the pods in flight, and the events since the first of them was popped."""

    def __init__(self) -> None:
        self.queue = Heap(priority_sort)
        #: UID -> the number of its marker in the list of events; in the order of the markers.
        self._in_flight: dict[str, int] = {}
        self._events: deque[tuple[int, Occurrence]] = deque()
        self._number = 0

    def fork(self) -> ActiveQueue:
        """An independent queue with the same content."""
        other = ActiveQueue()
        other.queue.take_over(self.queue)
        other._in_flight, other._events, other._number = self._in_flight.copy(), self._events.copy(), self._number
        return other

    @property
    def is_any_in_flight(self) -> bool:
        """Whether a pod was popped that is not done."""
        return bool(self._in_flight)

    def move_to_in_flight(self, info: QueuedEntity) -> bool:
        """The pod was popped; False if its UID is already in flight: then this one is dropped."""
        info.attempts += 1
        if isinstance(info, QueuedPodGroupInfo):
            return any([self.move_to_in_flight(member) for member in info.in_order])  # noqa: C419 - all are moved
        if info.uid in self._in_flight:
            return False
        self._number += 1
        self._in_flight[info.uid] = self._number
        return True

    def add_events_if_in_flight(
        self, uid: str, events: Iterable[ClusterEvent], old: KubernetesObject | None, new: KubernetesObject | None
    ) -> bool:
        """Record events of a pod itself if it is in flight; returns whether it is."""
        if uid not in self._in_flight:
            return False
        for event in events:
            self._append(Occurrence(event, old, new))
        return True

    def add_event_if_any_in_flight(self, event: Occurrence) -> None:
        """Record an event of any object if any pod is in flight."""
        if self._in_flight:
            self._append(event)

    def _append(self, event: Occurrence) -> None:
        self._number += 1
        self._events.append((self._number, event))

    def events_for(self, info: QueuedPodInfo) -> Iterator[Occurrence] | None:
        """The events since the pod was popped, in order; None if it is not in flight."""
        marker = self._in_flight.get(info.uid)
        return None if marker is None else (event for number, event in self._events if number > marker)

    def done(self, uid: str) -> None:
        """The pod's attempt is over; events that only it could need are dropped."""
        if self._in_flight.pop(uid, None) is None:
            return
        first = next(iter(self._in_flight.values()), None)
        while self._events and (first is None or self._events[0][0] < first):
            self._events.popleft()


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
            # QUIRK: (backoff_queue.go) for a group only the longest wait grows, with the root of its size.
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
