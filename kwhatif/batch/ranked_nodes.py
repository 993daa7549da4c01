"""`RankedNodes`: nodes by rank, however often ranks change, and which of them tied at any earlier moment."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from heapq import heapify, heappop, heappush, merge
from operator import itemgetter
from typing import Generic, TypeVar

Rank = TypeVar("Rank", int, tuple[int, ...])


class RankedNodes(Generic[Rank]):
    """Nodes by rank; the least is the best, and of equally good ones the first by name.

    Thousands of pods may each tie on thousands of nodes. So ties are listed when they are asked for: from what changed
    since the start, and cheaply so if they are asked for in the order of events.
    """

    def __init__(self, ranks: Mapping[str, Rank]) -> None:
        self._ranks: dict[str, Rank] = dict(ranks)
        #: The best first. What is out of date is dropped when it comes up.
        self._heap: list[tuple[Rank, str]] = [(rank, name) for name, rank in ranks.items()]
        heapify(self._heap)
        self._start: Mapping[str, Rank] = ranks
        self._changes: list[tuple[str, Rank | None]] = []
        #: How many changes are played, and who has which rank then, sorted.
        self._played = 0
        self._then: dict[str, Rank] = {}
        self._equals: dict[Rank, list[str]] | None = None

    def copy(self) -> RankedNodes[Rank]:
        """An independent copy; earlier moments stay with this one."""
        other = RankedNodes[Rank]({})
        other._ranks, other._heap, other._start = self._ranks.copy(), self._heap.copy(), self._ranks.copy()
        return other

    def __len__(self) -> int:
        """How many nodes have a rank."""
        return len(self._ranks)

    def put(self, name: str, rank: Rank | None) -> None:
        """From now on the node has this rank; None: none."""
        if rank == self._ranks.get(name):
            return
        self._changes.append((name, rank))
        if rank is None:
            del self._ranks[name]
        else:
            self._ranks[name] = rank
            heappush(self._heap, (rank, name))

    def best(self) -> tuple[Rank, str] | None:
        """The best rank, and the first node that has it."""
        heap = self._heap
        while heap:
            rank, name = heap[0]
            if self._ranks.get(name) == rank:
                return heap[0]
            heappop(heap)
        return None

    def is_tied(self) -> bool:
        """Whether more than one node has the best rank."""
        best, heap = self.best(), self._heap
        places = [0] if best is not None else []
        while places:
            place = places.pop()
            rank, name = heap[place]
            if best is None or rank != best[0]:
                continue
            if name != best[1] and self._ranks.get(name) == rank:
                return True
            places += [child for child in (2 * place + 1, 2 * place + 2) if child < len(heap)]
        return False

    # --- ties ----------------------------------------------------------------------------------------

    def ties(self, rank: Rank) -> Callable[[], list[str]]:
        """Finds out, whenever it is called, which nodes have the rank now; sorted."""
        return partial(self._at, len(self._changes), rank)

    def _at(self, moment: int, rank: Rank) -> list[str]:
        if self._equals is None or moment < self._played:
            self._equals = self._rewind()
        for name, after in self._changes[self._played : moment]:
            before = self._then.pop(name, None)
            if before is not None:
                left = self._equals[before]
                del left[bisect_left(left, name)]
            if after is not None:
                self._then[name] = after
                insort(self._equals.setdefault(after, []), name)
        self._played = moment
        return self._equals.get(rank, [])

    def _rewind(self) -> dict[Rank, list[str]]:
        """Back to the start."""
        self._played = 0
        self._then = dict(self._start)
        equals: dict[Rank, list[str]] = {}
        for name, rank in sorted(self._start.items(), key=itemgetter(0)):
            equals.setdefault(rank, []).append(name)
        return equals


def all_ties(ranked: Iterable[tuple[RankedNodes[Rank], Rank]]) -> Callable[[], tuple[str, ...]]:
    """Finds out, whenever it is called, which nodes have these ranks now; sorted."""
    return partial(_merged, [nodes.ties(rank) for nodes, rank in ranked])


def _merged(ties: list[Callable[[], list[str]]]) -> tuple[str, ...]:
    return tuple(merge(*(tied() for tied in ties))) if len(ties) > 1 else tuple(ties[0]())
