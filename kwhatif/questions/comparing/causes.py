"""The smallest set of changes that makes one answer of another: found by asking, and proven by it.

First delta debugging (A. Zeller, R. Hildebrandt: Simplifying and Isolating Failure-Inducing Input), from kinds to
objects to fields: none of what is left can be left out. Then all smaller sets, as long as they are few enough.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

from kwhatif.report.clusters import Proof

#: What a cluster with these changes, by their places, answers: subject -> what it comes to.
Ask = Callable[[frozenset[int]], Mapping[str, str]]


class Cause(NamedTuple):
    """Places of changes; `tried` is how many sets were asked about."""

    because: tuple[int, ...] = ()
    proof: Proof = "none"
    tried: int = 0


class Causes:
    """Finds causes, and remembers what was asked."""

    def __init__(self, ask: Ask, units: Sequence[Sequence[Hashable]], most: int) -> None:
        """Set up.

        Args:
            ask: asks the first cluster with some of the changes.
            units: of each change what it belongs to, from the largest unit down: its kind, its object.
            most: so many sets are asked about for one cause.
        """
        self._ask = ask
        self._units = units
        self._most = most
        self._known: dict[frozenset[int], Mapping[str, str]] = {}
        self._tried = 0

    def of(self, subject: str, wanted: str | None) -> Cause:
        """The smallest set of changes with which the subject comes to what is wanted; none, if all do not suffice."""
        self._tried = 0
        everything = frozenset(range(len(self._units)))

        def holds(some: frozenset[int]) -> bool:
            return self._answer(some).get(subject) == wanted

        if not everything or not holds(everything):
            return Cause(tried=self._tried)
        left = everything
        for depth in range(len(self._units[0])):
            left = _minimal(self._grouped(left, depth), holds)
        left = _minimal([frozenset([each]) for each in sorted(left)], holds)
        smaller, is_smallest = self._smaller(len(left), holds)
        proof: Proof = "smallest" if is_smallest else "minimal"
        return Cause(tuple(sorted(smaller or left)), proof, self._tried)

    def _grouped(self, some: frozenset[int], depth: int) -> list[frozenset[int]]:
        groups: dict[Hashable, list[int]] = {}
        for place in sorted(some):
            groups.setdefault(tuple(self._units[place][: depth + 1]), []).append(place)
        return [frozenset(group) for group in groups.values()]

    def _smaller(self, size: int, holds: Callable[[frozenset[int]], bool]) -> tuple[frozenset[int] | None, bool]:
        """A set with fewer changes that does, too; and whether no smaller set than that one does."""
        count = len(self._units)
        for fewer in range(size):
            if comb(count, fewer) > self._most - self._tried:
                return None, False
            for some in combinations(range(count), fewer):
                if holds(frozenset(some)):
                    return frozenset(some), True
        return None, True

    def _answer(self, some: frozenset[int]) -> Mapping[str, str]:
        self._tried += 1
        if some not in self._known:
            self._known[some] = self._ask(some)
        return self._known[some]


def _minimal(units: Sequence[frozenset[int]], holds: Callable[[frozenset[int]], bool]) -> frozenset[int]:
    """Of these units as few as are needed together (`ddmin`): it does not hold without any one of them."""
    left = list(units)
    parts = 2
    while len(left) > 1:
        size = -(-len(left) // parts)
        chunks = [left[start : start + size] for start in range(0, len(left), size)]
        rests = [[unit for other in chunks if other is not chunk for unit in other] for chunk in chunks]
        smaller = next((chunk for chunk in (*chunks, *rests) if len(chunk) < len(left) and holds(_union(chunk))), None)
        if smaller is not None:
            parts = 2 if smaller in chunks else max(parts - 1, 2)
            left = smaller
        elif parts >= len(left):
            break
        else:
            parts = min(parts * 2, len(left))
    return _union(left)


def _union(units: Sequence[frozenset[int]]) -> frozenset[int]:
    return frozenset().union(*units)
