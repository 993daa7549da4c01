"""A heap of pods and groups that can be found, replaced and taken out by their key (`pkg/scheduler/backend/heap`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from kwhatif.scheduler.queue.queued_group import QueuedEntity
from kwhatif.scheduler.queue.queued_pod import QueuedPodInfo

#: What pods are ordered by, the smallest first.
Order = tuple[Any, ...]
_Entry = tuple[Order, int, QueuedEntity]


class Heap:
    """Pods in an order that does not change while they are here; equal ones stay in insertion order."""

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
