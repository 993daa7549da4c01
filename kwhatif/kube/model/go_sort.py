"""Go's `sort.Slice`, with exactly the same moves (`src/sort/zsortfunc.go`, pdqsort).

The descheduler sorts pods with a comparison that returns "less" even for equal pods, and then evicts the first pods. So
the result depends on the algorithm. Up to 12 elements it is an insertion sort, which reverses equal elements.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Generic, TypeVar

T = TypeVar("T")

_MAX_INSERTION = 12
_SHORTEST_NINTHER = 50
_MAX_SWAPS = 4 * 3
_MAX_STEPS = 5
_SHORTEST_SHIFTING = 50
_MASK = 2**64 - 1


class _Hint(Enum):
    UNKNOWN = 0
    INCREASING = 1
    DECREASING = 2


def go_sort(items: list[T], less: Callable[[T, T], bool]) -> None:
    """Sort the list in place as `sort.Slice` does; `less` need not be a valid order."""
    _Sorting(items, less).sort(0, len(items), len(items).bit_length())


class _Sorting(Generic[T]):
    def __init__(self, items: list[T], less: Callable[[T, T], bool]) -> None:
        self._items = items
        self._is_less = less
        self._swaps = 0

    def _less(self, i: int, j: int) -> bool:
        return self._is_less(self._items[i], self._items[j])

    def _swap(self, i: int, j: int) -> None:
        items = self._items
        items[i], items[j] = items[j], items[i]

    def sort(self, a: int, b: int, limit: int) -> None:
        balanced = partitioned = True
        while b - a > _MAX_INSERTION:
            if limit == 0:
                self._heap_sort(a, b)
                return
            if not balanced:
                self._break_patterns(a, b)
                limit -= 1
            pivot, hint = self._choose_pivot(a, b)
            if hint is _Hint.DECREASING:
                self._items[a:b] = self._items[a:b][::-1]
                pivot = (b - 1) - (pivot - a)
                hint = _Hint.INCREASING
            if balanced and partitioned and hint is _Hint.INCREASING and self._partial_insertion_sort(a, b):
                return
            if a > 0 and not self._less(a - 1, pivot):
                a = self._partition_equal(a, b, pivot)
                continue
            length = b - a
            mid, partitioned = self._partition(a, b, pivot)
            left, right = mid - a, b - mid
            balanced = min(left, right) >= length // 8
            if left < right:
                self.sort(a, mid, limit)
                a = mid + 1
            else:
                self.sort(mid + 1, b, limit)
                b = mid
        self._insertion_sort(a, b)

    def _insertion_sort(self, a: int, b: int) -> None:
        for i in range(a + 1, b):
            j = i
            while j > a and self._less(j, j - 1):
                self._swap(j, j - 1)
                j -= 1

    def _heap_sort(self, a: int, b: int) -> None:
        size = b - a
        for i in range((size - 1) // 2, -1, -1):
            self._sift_down(i, size, a)
        for i in range(size - 1, -1, -1):
            self._swap(a, a + i)
            self._sift_down(0, i, a)

    def _sift_down(self, root: int, high: int, first: int) -> None:
        while (child := 2 * root + 1) < high:
            if child + 1 < high and self._less(first + child, first + child + 1):
                child += 1
            if not self._less(first + root, first + child):
                return
            self._swap(first + root, first + child)
            root = child

    def _partition(self, a: int, b: int, pivot: int) -> tuple[int, bool]:
        self._swap(a, pivot)
        i, j = self._gap(a, a + 1, b - 1)
        if i > j:
            self._swap(j, a)
            return j, True
        while i <= j:
            self._swap(i, j)
            i, j = self._gap(a, i + 1, j - 1)
        self._swap(j, a)
        return j, False

    def _gap(self, a: int, i: int, j: int) -> tuple[int, int]:
        """Indexes of the first item from the left not less than the pivot, and of the first from the right less."""
        while i <= j and self._less(i, a):
            i += 1
        while i <= j and not self._less(j, a):
            j -= 1
        return i, j

    def _partition_equal(self, a: int, b: int, pivot: int) -> int:
        self._swap(a, pivot)
        i, j = a + 1, b - 1
        while True:
            while i <= j and not self._less(a, i):
                i += 1
            while i <= j and self._less(a, j):
                j -= 1
            if i > j:
                return i
            self._swap(i, j)
            i += 1
            j -= 1

    def _partial_insertion_sort(self, a: int, b: int) -> bool:
        i = a + 1
        for _ in range(_MAX_STEPS):
            while i < b and not self._less(i, i - 1):
                i += 1
            if i == b:
                return True
            if b - a < _SHORTEST_SHIFTING:
                return False
            self._swap(i, i - 1)
            if i - a >= 2:
                self._shift(range(i - 1, 0, -1))
            if b - i >= 2:
                self._shift(range(i + 1, b))
        return False

    def _shift(self, indexes: range) -> None:
        for j in indexes:
            if not self._less(j, j - 1):
                return
            self._swap(j, j - 1)

    def _break_patterns(self, a: int, b: int) -> None:
        length = b - a
        random = length
        modulus = 1 << length.bit_length()
        middle = a + length // 4 * 2
        for index in range(middle - 1, middle + 2):
            random ^= random << 13 & _MASK
            random ^= random >> 7
            random ^= random << 17 & _MASK
            other = random & (modulus - 1)
            self._swap(index, a + (other - length if other >= length else other))

    def _choose_pivot(self, a: int, b: int) -> tuple[int, _Hint]:
        length = b - a
        self._swaps = 0
        i, j, k = (a + length // 4 * part for part in (1, 2, 3))
        if length >= _SHORTEST_NINTHER:
            i, j, k = (self._median(index - 1, index, index + 1) for index in (i, j, k))
        j = self._median(i, j, k)
        if self._swaps == 0:
            return j, _Hint.INCREASING
        return j, _Hint.DECREASING if self._swaps == _MAX_SWAPS else _Hint.UNKNOWN

    def _median(self, a: int, b: int, c: int) -> int:
        a, b = self._ordered(a, b)
        b, c = self._ordered(b, c)
        a, b = self._ordered(a, b)
        return b

    def _ordered(self, a: int, b: int) -> tuple[int, int]:
        if self._less(b, a):
            self._swaps += 1
            return b, a
        return a, b
