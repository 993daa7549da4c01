"""Mappings that are cheap to fork: `Overlay`, and `CopyOnWriteDict` for mutable values."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, ValuesView
from collections.abc import Set as AbstractSet
from enum import Enum
from itertools import islice
from math import isqrt
from typing import Any, Generic, TypeVar, cast, overload

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")


class CopyOnWriteDict(Generic[K, V]):
    """Mutable values by key; a fork copies a value before its first change.

    Forks share values: read them with `get`, and change only values that `own` returns.
    """

    __slots__ = ("_copy", "_owned", "_values")

    def __init__(self, copy: Callable[[V], V], shared: dict[K, V] | None = None) -> None:
        """Set up.

        Args:
            copy: makes an independent copy of a value.
            shared: initial content; the dictionary is used directly, but its values are copied before a change.
        """
        self._copy = copy
        self._values: dict[K, V] = {} if shared is None else shared
        #: Keys whose values are not shared with a fork; None: no value is shared.
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
        """Set the value; nothing else may use it."""
        self._values[key] = value
        if self._owned is not None:
            self._owned.add(key)
        return value

    def keys(self) -> set[K]:
        """All keys."""
        return set(self._values)

    def fork(self) -> CopyOnWriteDict[K, V]:
        """An independent mapping with the same content."""
        other: CopyOnWriteDict[K, V] = CopyOnWriteDict(self._copy)
        other._values = self._values.copy()
        self._owned, other._owned = set(), set()
        return other


#: The maximum size of a base that is copied: a copy takes a microsecond.
_SMALL = 64


class _Gone(Enum):
    GONE = 0


_GONE = _Gone.GONE


class Overlay(Mapping[K, V], Generic[K, V]):
    """A mapping that is cheap to fork, however large it is.

    Forks share a base that is never changed again, and each fork keeps its own differences, with tombstones for removed
    keys. If a fork has more than about √n differences (n: size of the base), they are merged into a new base. So a fork
    costs O(√n), and a change costs O(√n) on average.

    It keeps insertion order, as a dictionary does; reading is only slightly slower than reading a dictionary.
    """

    __slots__ = ("_added", "_base", "_changed", "_order", "_owned")

    def __init__(self, base: dict[K, V] | None = None) -> None:
        """Use this dictionary as the base; nothing else may use it from now on."""
        self._base: dict[K, V] = {} if base is None else base
        #: Whether the base is not shared: the base is then changed in place, and there are no differences.
        self._owned = True
        #: Keys of the base that have another value, or were removed.
        self._changed: dict[K, V | _Gone] = {}
        #: Keys that were added later; if the base also has the key, `_changed` has it as removed.
        self._added: dict[K, V] = {}
        #: The order of the base, if the base is not sorted yet.
        self._order: _LateOrder[K, V] | None = None

    @overload
    def get(self, key: K, /) -> V | None: ...
    @overload
    def get(self, key: K, /, default: V | D) -> V | D: ...
    def get(self, key: K, /, default: V | D | None = None) -> V | D | None:
        """The value of the key, or the default."""
        if self._added and key in self._added:
            return self._added[key]
        if self._changed:
            found = self._changed.get(key)
            if found is _GONE:
                return default
            if found is not None:
                return found
        return self._base.get(key, default)

    def __getitem__(self, key: K) -> V:
        if self._added and key in self._added:
            return self._added[key]
        if self._changed and key in self._changed:
            found = self._changed[key]
            if found is _GONE:
                raise KeyError(key)
            return found
        return self._base[key]

    def __contains__(self, key: object) -> bool:
        if key in self._added:
            return True
        return key in self._base and self._changed.get(key) is not _GONE

    def __len__(self) -> int:
        gone = sum(value is _GONE for value in self._changed.values()) if self._changed else 0
        return len(self._base) - gone + len(self._added)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __iter__(self) -> Iterator[K]:
        return iter(self._whole())

    def items(self) -> ItemsView[K, V]:
        """All keys with their values; merges the differences first, because all entries are visited anyway."""
        return self._whole().items()

    def values(self) -> ValuesView[V]:
        """All values; merges the differences first, as `items`."""
        return self._whole().values()

    def select(self, keys: Iterable[K]) -> list[V]:
        """The values of these keys; all must exist."""
        added, base = self._added, self._base
        changed = cast("dict[K, V]", self._changed)
        if not changed and not added:
            return [base[key] for key in keys]
        return [added[key] if key in added else changed[key] if key in changed else base[key] for key in keys]

    def in_order(self, keys: AbstractSet[K]) -> list[K]:
        """These keys in the overlay's order; all must exist. This is fast for keys near the end."""
        if len(keys) < 2:
            return list(keys)
        found: list[K] = []
        for key in self._from_the_end():
            if key in keys:
                found.append(key)
                if len(found) == len(keys):
                    break
        found.reverse()
        return found

    def _from_the_end(self) -> Iterator[K]:
        self._settle()
        yield from reversed(self._added)
        yield from (key for key in reversed(self._base) if self._changed.get(key) is not _GONE)

    def put(self, key: K, value: V) -> None:
        """Set the value; an existing key keeps its position, a new key is the last."""
        if self._owned or self._merge_if_many():
            self._base[key] = value
        elif key in self._base and self._changed.get(key) is not _GONE:
            self._changed[key] = value
        else:
            self._added[key] = value

    def pop(self, key: K) -> V | None:
        """Remove the key and return its value; None if it is absent."""
        found = self.get(key)
        if found is None:
            return None
        if self._owned or self._merge_if_many():
            del self._base[key]
        elif key in self._added:
            del self._added[key]
        else:
            self._changed[key] = _GONE
        return found

    def update(self, values: Mapping[K, V]) -> None:
        """Set many values."""
        self._whole()
        if not self._owned:
            self._base, self._owned = self._base.copy(), True
        self._base.update(values)

    def reorder(self, keys: list[K]) -> None:
        """Set the order of the keys; `keys` must contain all keys."""
        whole = self._whole()
        self._base, self._owned = {key: whole[key] for key in keys}, True

    def sort(self, misplaced: AbstractSet[K], rank: Callable[[K], Any]) -> None:
        """Sort the keys by `rank`; all keys except `misplaced` are in order already.

        The sort runs when the order is first needed, once for all forks: most forks only look up keys.
        """
        known, self._order = self._order, None
        if known is not None and known.is_found:
            self._base, known = known.found(), None
        if self._changed or self._added:
            self._merge()
        if known is not None:  # the keys of a sort that has not run yet are also misplaced
            misplaced |= known.misplaced
        moved = misplaced & self._base.keys()
        if moved:
            self._order, self._owned = _LateOrder(self._base, moved, rank), False

    def fork(self) -> Overlay[K, V]:
        """An independent overlay with the same content."""
        self._owned = False
        other: Overlay[K, V] = Overlay(self._base)
        other._owned = False
        other._changed = self._changed.copy()
        other._added = self._added.copy()
        other._order = self._order
        return other

    def _settle(self) -> None:
        """Sort the base, if it is not sorted yet."""
        if self._order is not None:
            self._base, self._order = self._order.found(), None

    def _merge_if_many(self) -> bool:
        """Merge the differences if there are too many for the base's size; returns whether the base is now owned."""
        size = len(self._base)
        if size > _SMALL and len(self._changed) + len(self._added) < isqrt(size):
            return False
        self._merge()
        return True

    def _merge(self) -> None:
        self._settle()
        base = self._base.copy()
        for key, value in self._changed.items():
            if value is _GONE:
                del base[key]
            else:
                base[key] = value
        base.update(self._added)
        self._base, self._owned = base, True
        self._changed, self._added = {}, {}

    def _whole(self) -> dict[K, V]:
        if self._changed or self._added:
            self._merge()
        self._settle()
        return self._base

    def __getstate__(self) -> tuple[None, dict[str, object]]:
        """The whole content, in order."""
        self._settle()
        return None, {name: getattr(self, name) for name in self.__slots__}

    def __repr__(self) -> str:
        """The content, for debugging and failing tests."""
        return f"Overlay({dict(self)})"


class KeySets(Generic[K]):
    """Sets of keys by group, in order of insertion; cheap to fork, and never changed in place."""

    __slots__ = ("_sets",)

    def __init__(self, sets: Mapping[K, dict[str, bool]]) -> None:
        """Use these dictionaries, whose values do not matter."""
        self._sets: Overlay[K, Overlay[str, bool]] = Overlay({group: Overlay(keys) for group, keys in sets.items()})

    def get(self, group: K) -> Iterable[str]:
        """The keys in the group."""
        return self._sets.get(group) or ()

    def groups(self) -> Iterable[K]:
        """The groups with any keys."""
        return self._sets

    def moved(self, key: str, before: Iterable[K], after: Iterable[K]) -> KeySets[K]:
        """Other sets, in which the key is in the groups `after` instead of the groups `before`."""
        other: KeySets[K] = KeySets({})
        other._sets = sets = self._sets.fork()
        for group in before:
            left = sets[group].fork()
            left.pop(key)
            if left:
                sets.put(group, left)
            else:
                sets.pop(group)
        for group in after:
            keys = sets[group].fork() if group in sets else Overlay[str, bool]()
            keys.put(key, True)
            sets.put(group, keys)
        return other


class _LateOrder(Generic[K, V]):
    """The order of a base that is never changed again, computed when it is first needed."""

    __slots__ = ("_base", "_found", "_rank", "misplaced")

    def __init__(self, base: dict[K, V], misplaced: AbstractSet[K], rank: Callable[[K], Any]) -> None:
        self._base = base
        #: Keys of the base that may be out of order; all other keys are sorted by `rank`.
        self.misplaced = misplaced
        self._rank = rank
        self._found: dict[K, V] | None = None

    @property
    def is_found(self) -> bool:
        """Whether the order has been computed."""
        return self._found is not None

    def found(self) -> dict[K, V]:
        """The sorted base, which forks share."""
        if self._found is None:
            in_order = self._in_order()
            self._found = dict(zip(in_order, map(self._base.__getitem__, in_order), strict=True))
            self._base = self._found
        return self._found

    def _in_order(self) -> list[K]:
        base, misplaced, rank = self._base, self.misplaced, self._rank
        last = list(islice(reversed(base), len(misplaced)))
        if misplaced == set(last):  # usual for new keys
            rest = list(islice(base, len(base) - len(misplaced)))
        else:
            rest = [key for key in base if key not in misplaced]
        in_order: list[K] = []
        start = 0
        for key in sorted(misplaced, key=rank):
            index = bisect_left(rest, rank(key), start, key=rank)
            in_order += rest[start:index]
            in_order.append(key)
            start = index
        return in_order + rest[start:]
