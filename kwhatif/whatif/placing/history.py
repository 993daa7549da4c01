"""`History`: where every node stood at each step, told from what changed since the start."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Hashable, Mapping
from heapq import merge
from operator import itemgetter


class History:
    """Which nodes stood where, step by step.

    Thousands of pods may each tie on thousands of nodes: ties are listed when they are asked for, and cheaply so if
    that happens in the order of the steps.
    """

    def __init__(self, start: Mapping[str, Hashable]) -> None:
        self._start = dict(start)
        self._moves: list[tuple[str, Hashable | None]] = []
        #: How far the steps are played, and where the nodes are then.
        self._done = 0
        self._places: dict[str, Hashable] = {}
        self._nodes: dict[Hashable, list[str]] = {}
        self._rewind()

    @property
    def now(self) -> int:
        """The number of steps so far."""
        return len(self._moves)

    def note(self, node: str, place: Hashable | None) -> None:
        """From now on the node stands there; None: nowhere."""
        self._moves.append((node, place))

    def at(self, moment: int, places: Collection[Hashable]) -> tuple[str, ...]:
        """The nodes that stood in one of these places after so many steps, sorted."""
        if moment < self._done:
            self._rewind()
        for node, place in self._moves[self._done : moment]:
            self._move(node, place)
        self._done = moment
        nodes = [self._nodes.get(place, ()) for place in places]
        return tuple(nodes[0]) if len(nodes) == 1 else tuple(merge(*nodes))

    def _rewind(self) -> None:
        """Back to the start."""
        self._done = 0
        self._places = {}
        self._nodes = {}
        for node, place in sorted(self._start.items(), key=itemgetter(0)):
            self._move(node, place)

    def _move(self, node: str, place: Hashable | None) -> None:
        before = self._places.pop(node, None)
        if before is not None:
            left = self._nodes[before]
            del left[bisect_left(left, node)]
        if place is not None:
            self._places[node] = place
            insort(self._nodes.setdefault(place, []), node)
