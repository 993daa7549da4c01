"""Simulated time: seconds since the start, and an agenda of items by due time."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Generic, TypeVar

from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.meta import FIRST_SECOND, LAST_SECOND, SECOND, format_time, is_plain_time, parse_time
from kwhatif.kube.model.node import Node
from kwhatif.workloads.survey import survey_of

#: The start if the input has no timestamps.
_SOME_START = "2026-01-01T00:00:00Z"
T = TypeVar("T")


class Clock:
    """The simulated time, and the real time at which it started."""

    def __init__(self, start: int) -> None:
        """`start`: nanoseconds since the epoch."""
        self._start = start
        #: Seconds since the start.
        self.now = 0.0
        #: The last result: many things happen at one moment.
        self._stamped = (-1.0, "")

    @classmethod
    def standing(cls) -> Clock:
        """A clock for one moment whose date does not matter."""
        return cls(parse_time(_SOME_START))

    def fork(self) -> Clock:
        """Another clock that shows the same time."""
        other = Clock(self._start)
        other.now = self.now
        return other

    @property
    def nanoseconds(self) -> int:
        """The present, since the epoch."""
        return self._start + round(self.now * SECOND)

    def at(self, time: str) -> float:
        """An RFC 3339 time in seconds since the start."""
        return (parse_time(time) - self._start) / SECOND

    def stamp(self, seconds: float) -> str:
        """The RFC 3339 time of seconds since the start, with fractions if needed; see `format_time`."""
        if self._stamped[0] == seconds:
            return self._stamped[1]
        moment = min(max(self._start + round(seconds * SECOND), FIRST_SECOND * SECOND), LAST_SECOND * SECOND)
        whole, nanoseconds = divmod(moment, SECOND)
        text = format_time(whole)
        if nanoseconds:
            text = f"{text[:-1]}.{nanoseconds:09}".rstrip("0") + "Z"
        self._stamped = seconds, text
        return text


def start_of(cluster: Cluster) -> int:
    """The time of the cluster's snapshot, nanoseconds since the epoch.

    That is when it was read, if known, or just after its latest timestamp. That also wins if it is later:
    the reader's clock may be slow, and pods would not be ready yet.
    """
    survey, nodes = survey_of(cluster), cluster.derived(_Nodes, Node)
    times = filter(None, {survey.latest, *survey.odd_times, nodes.latest, *nodes.odd_times})
    latest = max(map(parse_time, times), default=None)
    taken = parse_time(cluster.facts.taken_at) if cluster.facts.taken_at else None
    if taken is not None and (latest is None or latest <= taken):
        return taken
    return parse_time(_SOME_START) if latest is None else latest - latest % SECOND + 60 * SECOND


class _Nodes:
    """The times at which nodes were created."""

    def __init__(self, cluster: Cluster) -> None:
        times = {node.metadata.creation_timestamp or "" for node in cluster.all(Node).values()}
        #: The latest that is written as the API server does it, and all that are written otherwise.
        self.latest = max(filter(is_plain_time, times), default="")
        self.odd_times = {time for time in times if time and not is_plain_time(time)}

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> _Nodes | None:
        """See `Index`."""
        was, now = (None if node is None else node.metadata.creation_timestamp for node in (before, after))
        is_known = was == now or (before is None and now is not None and is_plain_time(now) and now <= self.latest)
        return self if is_known else None


class Agenda(Generic[T]):
    """Items by due time; at one moment by the string `order`."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, str, int, T, float]] = []
        self._count = 0

    def fork(self) -> Agenda[T]:
        """An independent agenda with the same items."""
        other: Agenda[T] = Agenda()
        other._heap, other._count = self._heap.copy(), self._count
        return other

    def put(self, time: float, order: str, item: T, now: float) -> None:
        """Add an item that is due at `time`; `now`: when it was added."""
        self._count += 1
        heappush(self._heap, (time, order, self._count, item, now))

    def known_since(self, time: float) -> Iterator[T]:
        """The items that were already scheduled at that time, and still are."""
        return (item for _, _, _, item, since in self._heap if since <= time)

    def next(self) -> float | None:
        """When the next item is due."""
        return self._heap[0][0] if self._heap else None

    def head(self) -> tuple[float, T] | None:
        """The due time of the next item, and the item."""
        return (self._heap[0][0], self._heap[0][3]) if self._heap else None

    def pop(self) -> None:
        """Remove the next item."""
        heappop(self._heap)

    def take(self, now: float) -> list[T]:
        """Remove and return all due items."""
        taken = []
        while self._heap and self._heap[0][0] <= now:
            taken.append(heappop(self._heap)[3])
        return taken
