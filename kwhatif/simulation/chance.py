"""`Chance`: decisions that are random in a real cluster, and how they are made here.

Without a seed, by convention: the first of equal choices by name, and pods end as late as they may. With a seed, by a
hash of the seed and the occasion: the same seed gives the same choices, in whatever order they are made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from hashlib import blake2b

#: The number of different shares.
_FINE = 1 << 32


class Chance:
    """One set of choices, and how often it mattered."""

    def __init__(self, seed: str | None = None) -> None:
        """`seed`: None for the convention."""
        self.seed = seed
        #: The number of choices by subject.
        self.choices: dict[str, int] = {}
        self._occasions = 0

    @property
    def is_convention(self) -> bool:
        """Whether there is no seed."""
        return self.seed is None

    def fork(self) -> Chance:
        """An independent copy."""
        other = copy(self)
        other.choices = self.choices.copy()
        return other

    def note(self, what: str) -> None:
        """Count a choice."""
        self.choices[what] = self.choices.get(what, 0) + 1

    def pick(self, options: Sequence[str]) -> str:
        """One of the sorted options; each call is a new occasion."""
        if self.seed is None:
            return options[0]
        self._occasions += 1
        return options[self._number(f"pick {self._occasions}") * len(options) // _FINE]

    def share(self, of: str) -> float:
        """A share from 0 to 1: always the same for the same name."""
        return 1.0 if self.seed is None else self._number(f"share {of}") / _FINE

    def order(self, names: Iterable[str]) -> list[str]:
        """The pods of a drain in a chosen order; by convention as given."""
        names = list(names)
        if len(names) > 1:
            self.note("drains")
        if self.seed is None:
            return names
        return sorted(names, key=lambda name: (self._number(f"order {name}"), name))

    def _number(self, occasion: str) -> int:
        """From 0 to `_FINE`, exclusive."""
        return int.from_bytes(blake2b(f"{self.seed}\0{occasion}".encode(), digest_size=4).digest())
