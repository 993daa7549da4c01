"""Functions that Kubernetes adds to CEL and that the engine does not have.

They follow `lists.go`, `regex.go`, `quantity.go` and `semverlib.go` in `k8s.io/apiserver/pkg/cel/library`, and
`ext/strings.go` of cel-go v0.26.
"""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import pairwise
from math import inf
from typing import Any

from kwhatif.cel import formats, net
from kwhatif.cel.values import Function, Semver, accepts, decode_any, numbers
from kwhatif.kube.model.quantity import MAX_UINT64, NANO, fits, parse_quantity, wrap

# --- strings: functions that differ from the engine's in which arguments are errors ------------------


def _index(number: int, last: int) -> int:
    if not 0 <= number <= last:
        raise ValueError(f"index out of range: {number}")
    return number


def index_of(text: str, wanted: str, start: int) -> int:
    """`string.indexOf(wanted, start)`: -1 if the start is beyond the end."""
    # QUIRK: an empty string is found at the start of the search, even outside the text.
    return start if not wanted else text.find(wanted, _index(start, max(start, 0)))


def last_index_of(text: str, wanted: str, start: int) -> int:
    """`string.lastIndexOf(wanted, start)`: -1 if the start is beyond the end."""
    if not wanted:
        return start  # QUIRK: an empty string is found at the start of the search, even outside the text.
    if _index(start, max(start, 0)) >= len(text):
        return -1
    return text.rfind(wanted, 0, start + len(wanted))


def char_at(text: str, index: int) -> str:
    """`string.charAt(index)`: the empty string for the index directly after the end."""
    _index(index, len(text))
    return text[index : index + 1]


def tail(text: str, start: int) -> str:
    """`string.substring(start)`."""
    return text[_index(start, len(text)) :]


def middle(text: str, start: int, end: int) -> str:
    """`string.substring(start, end)`."""
    if start > end:
        raise ValueError(f"invalid substring range. start: {start}, end: {end}")
    return text[_index(start, len(text)) : _index(end, len(text))]


#: Overload of the engine -> its replacement.
RENAMED = {
    "string_index_of_string_int": "@string.indexOf",
    "string_last_index_of_string_int": "@string.lastIndexOf",
    "string_char_at_int": "@string.charAt",
    "string_substring_int": "@string.substring",
    "string_substring_int_int": "@string.substring",
}
_STRINGS = (
    Function("@string.indexOf", ("string", "string", "int"), "int", index_of),
    Function("@string.lastIndexOf", ("string", "string", "int"), "int", last_index_of),
    Function("@string.charAt", ("string", "int"), "string", char_at),
    Function("@string.substring", ("string", "int"), "string", tail),
    Function("@string.substring", ("string", "int", "int"), "string", middle),
)


# --- lists -------------------------------------------------------------------------------------------


def _check_comparable(values: list[Any]) -> None:
    kinds = {type(value) for value in values}
    # Numbers of different types can be compared. A Python bool is also a number, but a CEL bool is not.
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


def list_index_of(values: list[Any], wanted: Any) -> int:
    """`list.indexOf(wanted)`."""
    return next((index for index, value in enumerate(values) if _equal(value, wanted)), -1)


def list_last_index_of(values: list[Any], wanted: Any) -> int:
    """`list.lastIndexOf(wanted)`."""
    return next((index for index in reversed(range(len(values))) if _equal(values[index], wanted)), -1)


#: Element types whose values need the static type to be converted back; each has its own functions.
TYPED = ("uint", "duration", "timestamp")
_LISTS = (
    Function("isSorted", ("list",), "bool", is_sorted, member=True),
    Function("sum", ("list",), "dyn", total, member=True),
    Function("min", ("list",), "dyn", smallest, member=True),
    Function("max", ("list",), "dyn", largest, member=True),
    Function("indexOf", ("list", "dyn"), "int", list_index_of, member=True),
    Function("lastIndexOf", ("list", "dyn"), "int", list_last_index_of, member=True),
    *(Function(f"@{kind}.min", ("list",), kind, smallest) for kind in TYPED),
    *(Function(f"@{kind}.max", ("list",), kind, largest) for kind in TYPED),
    Function("@uint.sum", ("list",), "uint", total_uint),
    Function("@duration.sum", ("list",), "duration", total_duration),
)


# --- regular expressions -----------------------------------------------------------------------------

# Both Go and the engine use RE2. So `rewrite.py` replaces `find` by a function of the engine that returns the first
# match, or the group if the pattern has one. It replaces `findAll`, and `find` with a computed pattern, by another
# function that puts marks around each match, even around an empty match; then the text is split at the marks.

#: A character of Unicode's private planes, which no text of an expression contains.
MARK = "\U0010fffd"
# A "]" at the start of a class is a literal. The engine rejects a class without an end.
_CLASS = r"\[\^?+\]?+(?:\[:\^?\w++:\]|\\.|[^\]\\])*+(?:\]|\\?\Z)"
_GROUP = r"\((?!\?)|\(\?P?<\w+>"
_GROUPS = re.compile(rf"(?P<keep>\\Q.*?(?:\\E|\Z)|\\.|{_CLASS})|{_GROUP}", re.DOTALL)


def without_groups(pattern: str) -> str:
    """The pattern without capturing groups, so that the whole match is extracted."""
    return _GROUPS.sub(lambda match: match["keep"] or "(?:", pattern)


def marked(parts: list[str], limit: int) -> list[str]:
    """The texts between marks, at most `limit` texts; all texts if `limit` is negative."""
    found = parts[1::2]
    return found if limit < 0 else found[:limit]


def first_marked(parts: list[str]) -> str:
    """The text between the first two marks."""
    return parts[1] if len(parts) > 1 else ""


_REGEX = (
    Function("@firstMarked", ("list",), "string", first_marked),
    Function("@marked", ("list", "int"), "dyn", marked),
)


# --- quantities and versions -------------------------------------------------------------------------


def is_integer(nanos: int) -> bool:
    """`q.isInteger()`."""
    return nanos % NANO == 0 and fits(nanos // NANO)


def as_integer(nanos: int) -> int:
    """`q.asInteger()`."""
    if not is_integer(nanos):
        raise ValueError("cannot convert value to integer")
    return nanos // NANO


def as_approximate_float(nanos: int) -> float:
    """`q.asApproximateFloat()`."""
    try:
        return nanos / NANO
    except OverflowError:
        return inf if nanos > 0 else -inf


def add_int(nanos: int, units: int) -> int:
    """`q.add(1)`."""
    return nanos + units * NANO


def sub_int(nanos: int, units: int) -> int:
    """`q.sub(1)`."""
    return nanos - units * NANO


_QUANTITY = "kubernetes.Quantity"
_QUANTITIES = (
    Function("quantity", ("string",), _QUANTITY, parse_quantity),
    Function("isQuantity", ("string",), "bool", accepts(parse_quantity)),
    Function("isInteger", (_QUANTITY,), "bool", is_integer, member=True),
    Function("asInteger", (_QUANTITY,), "int", as_integer, member=True),
    Function("asApproximateFloat", (_QUANTITY,), "double", as_approximate_float, member=True),
    Function("add", (_QUANTITY, _QUANTITY), _QUANTITY, int.__add__, member=True),
    Function("add", (_QUANTITY, "int"), _QUANTITY, add_int, member=True),
    Function("sub", (_QUANTITY, _QUANTITY), _QUANTITY, int.__sub__, member=True),
    Function("sub", (_QUANTITY, "int"), _QUANTITY, sub_int, member=True),
)


def parse_semver(text: str, normalize: bool = False) -> Semver:  # noqa: FBT001, FBT002 - called by position, by CEL
    """`semver(text)` and `semver(text, normalize)`."""
    return Semver.parse_normalized(text) if normalize else Semver.parse(text)


_SEMVER = "kubernetes.Semver"
# QUIRK: (semverlib.go) the numbers are uint64, and are converted to int64 without a check.
_VERSIONS = (
    Function("semver", ("string",), _SEMVER, parse_semver),
    Function("semver", ("string", "bool"), _SEMVER, parse_semver),
    Function("isSemver", ("string",), "bool", accepts(parse_semver)),
    Function("isSemver", ("string", "bool"), "bool", accepts(parse_semver)),
    Function("major", (_SEMVER,), "int", lambda key: wrap(numbers(key)[0]), member=True),
    Function("minor", (_SEMVER,), "int", lambda key: wrap(numbers(key)[1]), member=True),
    Function("patch", (_SEMVER,), "int", lambda key: wrap(numbers(key)[2]), member=True),
)


# For values whose types are known only at run time. If the type checker knows the types, `rewrite.py` uses the engine's
# own comparison.


def compare(left: bytes, right: bytes) -> int:
    """-1, 0 or 1, as `left.compareTo(right)`."""
    types = {found[0] if (found := decode_any(bytes(side))) else "" for side in (left, right)}
    if len(types) > 1 or not types <= {"kubernetes.Quantity", "kubernetes.Semver"}:
        raise ValueError("no such overload")
    return (left > right) - (left < right)


_COMPARISONS = (
    Function("compareTo", ("bytes", "bytes"), "int", compare, member=True),
    Function("isGreaterThan", ("bytes", "bytes"), "bool", lambda a, b: compare(a, b) > 0, member=True),
    Function("isLessThan", ("bytes", "bytes"), "bool", lambda a, b: compare(a, b) < 0, member=True),
)


# --- the table -----------------------------------------------------------------------------------------


def _fail(what: str = "") -> bool:
    raise ValueError(f"no such overload: {what}" if what else "no such overload")


def _insert_entry(entries: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    if key in entries:
        raise ValueError(f"insert failed: key {key} already exists")
    return {**entries, key: value}


def _insert_entries(entries: dict[Any, Any], more: dict[Any, Any]) -> dict[Any, Any]:
    for key, value in more.items():
        entries = _insert_entry(entries, key, value)
    return entries


#: All implementations in Python; `environment.yaml` declares the functions that expressions may call.
FUNCTIONS: tuple[Function, ...] = (
    Function("@noSuchOverload", (), "bool", _fail),
    Function("@noSuchOverload", ("string",), "dyn", _fail),
    # The engine has the macros for two-variable comprehensions, but not the functions to which these macros expand.
    Function("cel.@mapInsert", ("map", "dyn", "dyn"), "dyn", _insert_entry),
    Function("cel.@mapInsert", ("map", "map"), "dyn", _insert_entries),
    *formats.FUNCTIONS,
    *net.FUNCTIONS,
    *_LISTS,
    *_COMPARISONS,
    *_QUANTITIES,
    *_REGEX,
    *_VERSIONS,
    *_STRINGS,
)
