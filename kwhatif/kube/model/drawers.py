"""`Drawers`: mutable values by key; a fork copies a value before it first changes it (copy-on-write)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Drawers(Generic[K, V]):
    """Forks share values: read them with `get`, and change only what `own` returns."""

    __slots__ = ("_copy", "_owned", "_values")

    def __init__(self, copy: Callable[[V], V], shared: dict[K, V] | None = None) -> None:
        """Set up.

        Args:
            copy: makes an independent copy of a value.
            shared: initial content; takes over the dictionary, but its values belong to others.
        """
        self._copy = copy
        self._values: dict[K, V] = {} if shared is None else shared
        #: Keys whose values are not shared with a fork; None: all.
        self._owned: set[K] | None = None if shared is None else set()

    def get(self, key: K) -> V | None:
        """The value, for reading only; None if the key is absent."""
        return self._values.get(key)

    def own(self, key: K) -> V | None:
        """The value, for changing in place; None if the key is absent."""
        found = self._values.get(key)
        if found is None or self._owned is None or key in self._owned:
            return found
        return self.put(key, self._copy(found))

    def put(self, key: K, value: V) -> V:
        """Set the value, which must not be shared."""
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
