"""Lists: Kubernetes' library and CEL's own extension."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kwhatif.cel import CelRuntimeError, compile_expression

VALUES = {
    "isSorted": ("[1, 2, 2, 3].isSorted()", True),
    "isSorted of what is not": ("['b', 'a'].isSorted()", False),
    "isSorted of nothing": ("[].isSorted()", True),
    "sum of ints": ("[1, 3].sum()", 4),
    "sum of doubles": ("[1.0, 3.5].sum()", 4.5),
    "sum of uints is a uint": ("[1u, 3u].sum() + 1u", 5),
    "sum of durations": ("[duration('1m'), duration('1s')].sum()", timedelta(seconds=61)),
    "sum of nothing": ("[].sum()", 0),
    "min": ("[3, 1, 2].min()", 1),
    "max": ("['a', 'c', 'b'].max()", "c"),
    "max of uints is a uint": ("[1u, 3u].max() + 1u", 4),
    "max of timestamps": (
        "[timestamp('2025-01-01T00:00:00Z'), timestamp('2026-01-01T00:00:00Z')].max().getFullYear()",
        2026,
    ),
    "max where types are dynamic": ("data.map(x, x * 2).max()", 6),
    "indexOf": ("[1, 2, 2, 3].indexOf(2)", 1),
    "lastIndexOf": ("['a', 'b', 'b', 'c'].lastIndexOf('b')", 2),
    "indexOf what is not there": ("[1.0].indexOf(1.1)", -1),
    "indexOf does not take true for one": ("data.indexOf(dyn(true))", -1),
    "indexOf takes a double for its int": ("data.indexOf(dyn(1.0))", 1),
    "distinct": ("[1, 2, 2, 1].distinct()", [1, 2]),
    "flatten": ("[[1, 2], [], [3]].flatten()", [1, 2, 3]),
    "flatten to a depth": ("dyn([[[1]], [[2]]]).flatten(2)", [1, 2]),
    "slice": ("[1, 2, 3, 4].slice(1, 3)", [2, 3]),
    "sort": ("[3, 1, 2].sort()", [1, 2, 3]),
    "sortBy": ("[{'n': 2}, {'n': 1}].sortBy(e, e.n).map(e, e.n)", [1, 2]),
    "lists.range": ("lists.range(3)", [0, 1, 2]),
    "lists.range of less than nothing": ("lists.range(-1)", []),
    "reverse": ("[1, 2, 3].reverse()", [3, 2, 1]),
}


@pytest.mark.parametrize(("expression", "expected"), VALUES.values(), ids=VALUES.keys())
def test_values(expression: str, expected: object) -> None:
    assert compile_expression(expression, {"data": "dyn"}).evaluate({"data": [2, 1, 3]}) == expected


ERRORS = {
    "min of nothing": ("[].min()", "min called on empty list"),
    "max of nothing": ("[].max()", "max called on empty list"),
    "sum of texts": ("data.sum()", "no such overload"),
    "min of lists": ("dyn([[1]]).min()", "no such overload"),
    "min of several types": ("(dyn([1]) + ['a']).min()", "no such overload"),
    "a sum beyond 64 bits": ("[9223372036854775807, 1].sum()", "integer overflow"),
    "an unsigned sum beyond 64 bits": ("[18446744073709551615u, 1u].sum()", "unsigned integer overflow"),
}


@pytest.mark.parametrize(("expression", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_fails(expression: str, message: str) -> None:
    with pytest.raises(CelRuntimeError) as caught:
        compile_expression(expression, {"data": "dyn"}).evaluate({"data": ["a"]})
    assert caught.value.message == message
