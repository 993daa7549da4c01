"""`RankedNodes`: nodes by rank, with efficient changes of ranks, and the ties at any earlier moment."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable
from copy import copy
from functools import partial
from heapq import heapify, heappop, heappush, merge
from operator import itemgetter
from typing import Generic, TypeVar

from kwhatif.kube.model.overlay import Overlay

AnyRank = TypeVar("AnyRank", int, tuple[int, ...])


class RankedNodes(Generic[AnyRank]):
    """Nodes by rank; the lowest rank is the best, and of equally good nodes the first by name.

    Thousands of pods may each have ties of thousands of nodes. So ties are computed on demand from the changes since
    the start, which is fast if they are requested in order. A copy shares everything that does not change, so it is
    cheap for any number of nodes.
    """

    def __init__(self, ranks: dict[str, AnyRank]) -> None:
        """`ranks`: rank by node name; this object takes over the dictionary."""
        #: All initial ranks as a heap that is never changed again: copies share it.
        self._heap: list[tuple[AnyRank, str]] = [(rank, name) for name, rank in ranks.items()]
        heapify(self._heap)
        #: What is left of the heap: the best of each part, and its index.
        self._front: list[tuple[AnyRank, str, int]] = [(rank, name, 0) for rank, name in self._heap[:1]]
        #: Later ranks, as a heap. Outdated entries are dropped when they are at the top, as above.
        self._later: list[tuple[AnyRank, str]] = []
        #: The number of nodes by rank, without zeros.
        self._numbers: Overlay[AnyRank, int] = Overlay(Counter(ranks.values()))
        self._begin(Overlay(ranks))

    def _begin(self, ranks: Overlay[str, AnyRank]) -> None:
        """Start recording: this is the earliest moment for ties."""
        self._ranks: Overlay[str, AnyRank] = ranks
        self._start: Overlay[str, AnyRank] = ranks.fork()
        self._changes: list[tuple[str, AnyRank | None]] = []
        #: The number of applied changes, and the sorted nodes of each rank at that moment.
        self._played = 0
        self._then: dict[str, AnyRank] = {}
        self._equals: dict[AnyRank, list[str]] | None = None

    def copy(self) -> RankedNodes[AnyRank]:
        """An independent copy; earlier moments stay with this one."""
        other: RankedNodes[AnyRank] = copy(self)
        other._front, other._later = self._front.copy(), self._later.copy()
        other._numbers = self._numbers.fork()
        other._begin(self._ranks.fork())
        return other

    def __len__(self) -> int:
        """The number of nodes that have a rank."""
        return len(self._ranks)

    def put(self, name: str, rank: AnyRank | None) -> None:
        """Set the rank of the node; None removes it."""
        before = self._ranks.get(name)
        if rank == before:
            return
        self._changes.append((name, rank))
        if before is not None:
            self._count(before, -1)
        if rank is None:
            self._ranks.pop(name)
        else:
            self._count(rank, 1)
            self._ranks.put(name, rank)
            heappush(self._later, (rank, name))

    def _count(self, rank: AnyRank, amount: int) -> None:
        number = self._numbers.get(rank, 0) + amount
        if number:
            self._numbers.put(rank, number)
        else:
            self._numbers.pop(rank)

    def best(self) -> tuple[AnyRank, str] | None:
        """The best rank, and the first node that has it."""
        front, later, ranks = self._front, self._later, self._ranks
        while front and ranks.get(front[0][1]) != front[0][0]:
            place = heappop(front)[2]
            for child in range(2 * place + 1, min(2 * place + 3, len(self._heap))):
                rank, name = self._heap[child]
                heappush(front, (rank, name, child))
        while later and ranks.get(later[0][1]) != later[0][0]:
            heappop(later)
        if not front:
            return later[0] if later else None
        rank, name, _ = front[0]
        return min((rank, name), later[0]) if later else (rank, name)

    def is_tied(self) -> bool:
        """Whether more than one node has the best rank."""
        best = self.best()
        return best is not None and self._numbers[best[0]] > 1

    # --- ties ----------------------------------------------------------------------------------------

    def ties(self, rank: AnyRank) -> Callable[[], list[str]]:
        """A function that computes, at any later time, which nodes have the rank now; sorted."""
        return partial(self._at, len(self._changes), rank)

    def _at(self, moment: int, rank: AnyRank) -> list[str]:
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

    def _rewind(self) -> dict[AnyRank, list[str]]:
        """Go back to the start."""
        self._played = 0
        self._then = dict(self._start.items())
        equals: dict[AnyRank, list[str]] = {}
        for name, rank in sorted(self._start.items(), key=itemgetter(0)):
            equals.setdefault(rank, []).append(name)
        return equals


def all_ties(ranked: Iterable[tuple[RankedNodes[AnyRank], AnyRank]]) -> Callable[[], tuple[str, ...]]:
    """A function that computes, at any later time, which nodes have these ranks now; sorted."""
    return partial(_merged, [nodes.ties(rank) for nodes, rank in ranked])


def _merged(ties: list[Callable[[], list[str]]]) -> tuple[str, ...]:
    return tuple(merge(*(tied() for tied in ties))) if len(ties) > 1 else tuple(ties[0]())
