"""Counts that thousands of forks share, each with a few changes of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class DomainTally:
    """Counts by topology value: a common base, and a private difference.

    Made for preemption, which forks the state of a plugin per candidate node but then changes only that node's domains.
    """

    __slots__ = ("_base", "_delta", "nonzero")

    def __init__(self, base: dict[str, int]) -> None:
        self._base = base
        self._delta: dict[str, int] = {}
        #: How many values have a count other than 0.
        self.nonzero = sum(map(bool, base.values()))

    def count(self, value: str) -> int:
        """The count of a value; 0 for an unknown one."""
        return self._base.get(value, 0) + self._delta.get(value, 0)

    @property
    def values(self) -> Iterator[str]:
        """The values with a count above 0."""
        return (value for value in self._base.keys() | self._delta.keys() if self.count(value) > 0)

    def add(self, value: str, amount: int) -> int:
        """Change a count, and return it."""
        before = self.count(value)
        after = before + amount
        self._delta[value] = self._delta.get(value, 0) + amount
        self.nonzero += bool(after) - bool(before)
        return after

    def settle(self, value: str, amount: int) -> int:
        """Change a count in the common base, and return it. Not allowed on a fork, or while a fork is in use."""
        before = self._base.get(value, 0)
        after = self._base[value] = before + amount
        self.nonzero += bool(after) - bool(before)
        return after

    @property
    def settled(self) -> Mapping[str, int]:
        """The common base."""
        return self._base

    def copy(self) -> DomainTally:
        """An independent copy with a base of its own."""
        other = self.fork()
        other._base = self._base.copy()
        return other

    def fork(self) -> DomainTally:
        """An independent copy."""
        other = DomainTally.__new__(DomainTally)
        other._base = self._base
        other._delta = self._delta.copy()
        other.nonzero = self.nonzero
        return other
