"""`Drawers`: values that are changed in place, by key; a fork copies one when it first wants to change it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Drawers(Generic[K, V]):
    """What forks share is looked at with `get`, and changed only by way of `own`."""

    __slots__ = ("_copy", "_owned", "_values")

    def __init__(self, copy: Callable[[V], V], shared: dict[K, V] | None = None) -> None:
        """Set up.

        Args:
            copy: makes a value that can be changed without changing the other.
            shared: what is in them; the dictionary is theirs, its values are somebody else's.
        """
        self._copy = copy
        self._values: dict[K, V] = {} if shared is None else shared
        #: Keys whose values nobody else has; None: all.
        self._owned: set[K] | None = None if shared is None else set()

    def get(self, key: K) -> V | None:
        """The value, to be looked at; None where there is none."""
        return self._values.get(key)

    def own(self, key: K) -> V | None:
        """The value, to be changed; None where there is none."""
        found = self._values.get(key)
        if found is None or self._owned is None or key in self._owned:
            return found
        return self.put(key, self._copy(found))

    def put(self, key: K, value: V) -> V:
        """Set the value, which nobody else has."""
        self._values[key] = value
        if self._owned is not None:
            self._owned.add(key)
        return value

    def keys(self) -> set[K]:
        """All keys."""
        return set(self._values)

    def fork(self) -> Drawers[K, V]:
        """Independent drawers with the same content."""
        other: Drawers[K, V] = Drawers(self._copy)
        other._values = self._values.copy()
        self._owned, other._owned = set(), set()
        return other
