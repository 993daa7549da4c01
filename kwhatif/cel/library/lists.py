"""`kubernetes.lists` (`k8s.io/apiserver/pkg/cel/library/lists.go`)."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

from kwhatif.cel.library.function import Function
from kwhatif.kube.model.quantity import MAX_UINT64, fits


def _check_comparable(values: list[Any]) -> None:
    kinds = {type(value) for value in values}
    # Numbers compare across types. A Python bool is a number too, but a CEL bool is not.
    if kinds == {int, float}:
        return
    if len(kinds) > 1 or kinds & {list, dict, type(None)}:
        raise ValueError("no such overload")


def is_sorted(values: list[Any]) -> bool:
    """`list.isSorted()`."""
    _check_comparable(values)
    return all(before <= after for before, after in pairwise(values))


def smallest(values: list[Any]) -> Any:
    """`list.min()`."""
    if not values:
        raise ValueError("min called on empty list")
    _check_comparable(values)
    return min(values)


def largest(values: list[Any]) -> Any:
    """`list.max()`."""
    if not values:
        raise ValueError("max called on empty list")
    _check_comparable(values)
    return max(values)


def total(values: list[Any]) -> Any:
    """`list.sum()` of ints or doubles."""
    if any(type(value) not in {int, float} for value in values):
        raise ValueError("no such overload")
    result = sum(values)
    if isinstance(result, int) and not fits(result):
        raise ValueError("integer overflow")
    return result


def total_uint(values: list[int]) -> int:
    """`list.sum()` of uints."""
    if sum(values) > MAX_UINT64:
        raise ValueError("unsigned integer overflow")
    return sum(values)


def total_duration(values: list[timedelta]) -> timedelta:
    """`list.sum()` of durations."""
    return sum(values, timedelta())


def _equal(left: Any, right: Any) -> bool:
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def index_of(values: list[Any], wanted: Any) -> int:
    """`list.indexOf(wanted)`."""
    return next((index for index, value in enumerate(values) if _equal(value, wanted)), -1)


def last_index_of(values: list[Any], wanted: Any) -> int:
    """`list.lastIndexOf(wanted)`."""
    return next((index for index in reversed(range(len(values))) if _equal(values[index], wanted)), -1)


#: Element types whose values can be converted back only with the static type, and their functions.
TYPED = ("uint", "duration", "timestamp")
FUNCTIONS = (
    Function("isSorted", ("list",), "bool", is_sorted, member=True),
    Function("sum", ("list",), "dyn", total, member=True),
    Function("min", ("list",), "dyn", smallest, member=True),
    Function("max", ("list",), "dyn", largest, member=True),
    Function("indexOf", ("list", "dyn"), "int", index_of, member=True),
    Function("lastIndexOf", ("list", "dyn"), "int", last_index_of, member=True),
    *(Function(f"@{kind}.min", ("list",), kind, smallest) for kind in TYPED),
    *(Function(f"@{kind}.max", ("list",), kind, largest) for kind in TYPED),
    Function("@uint.sum", ("list",), "uint", total_uint),
    Function("@duration.sum", ("list",), "duration", total_duration),
)
