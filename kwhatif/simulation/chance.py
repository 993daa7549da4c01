"""`Chance`: what is up to chance in a real cluster, and how it is settled here.

Without a seed by convention: of equal choices the first by name, and pods end as late as they may. With one, whatever
the seed makes of each occasion: the same seed, the same choices. Nothing is drawn; that keeps it the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from hashlib import blake2b

#: How many different shares there are.
_FINE = 1 << 32


class Chance:
    """One way in which it may come out, and how often it mattered."""

    def __init__(self, seed: str | None = None) -> None:
        """`seed`: None for the convention."""
        self.seed = seed
        #: How many choices there were, by what they were about.
        self.choices: dict[str, int] = {}
        self._occasions = 0

    @property
    def is_convention(self) -> bool:
        """Whether there is no seed."""
        return self.seed is None

    def fork(self) -> Chance:
        """An independent one that has come as far."""
        other = copy(self)
        other.choices = self.choices.copy()
        return other

    def note(self, what: str) -> None:
        """There was a choice."""
        self.choices[what] = self.choices.get(what, 0) + 1

    def pick(self, options: Sequence[str]) -> str:
        """One of the options, which are sorted; every occasion is another."""
        if self.seed is None:
            return options[0]
        self._occasions += 1
        return options[self._number(f"pick {self._occasions}") * len(options) // _FINE]

    def share(self, of: str) -> float:
        """A part of what there is at most, from 0 to 1: always the same for the same thing."""
        return 1.0 if self.seed is None else self._number(f"share {of}") / _FINE

    def order(self, names: Iterable[str]) -> list[str]:
        """The pods of a drain in an order of their own; by convention as they are."""
        names = list(names)
        if len(names) > 1:
            self.note("drains")
        if self.seed is None:
            return names
        return sorted(names, key=lambda name: (self._number(f"order {name}"), name))

    def _number(self, occasion: str) -> int:
        """From 0 to `_FINE`, exclusive."""
        return int.from_bytes(blake2b(f"{self.seed}\0{occasion}".encode(), digest_size=4).digest())
