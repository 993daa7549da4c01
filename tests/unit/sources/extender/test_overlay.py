"""Changes of a partial object on the whole one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.sources.scheduler.extender_objects import overlay

CASES: dict[str, tuple[Any, Any, Any, Any]] = {
    "nothing changed": ({"a": 1, "x": 2}, {"a": 1}, {"a": 1}, {"a": 1, "x": 2}),
    "a changed value": ({"a": 1, "x": 2}, {"a": 1}, {"a": 3}, {"a": 3, "x": 2}),
    "a new value": ({"x": 2}, {}, {"a": 3}, {"a": 3, "x": 2}),
    "a value that is gone": ({"a": 1, "x": 2}, {"a": 1}, {}, {"x": 2}),
    "deep inside": (
        {"spec": {"a": 1, "x": {"y": 2}}},
        {"spec": {"a": 1}},
        {"spec": {"a": 3, "b": 4}},
        {"spec": {"a": 3, "b": 4, "x": {"y": 2}}},
    ),
    "a value that the whole spells out and the partial view leaves to its default": (
        {"a": 0, "x": 2},
        {},
        {"a": 5},
        {"a": 5, "x": 2},
    ),
    "a map in which the partial view shows nothing before": (
        {"spec": {"x": {"y": 2}}},
        {},
        {"spec": {"a": 3}},
        {"spec": {"a": 3, "x": {"y": 2}}},
    ),
    "items of a list keep what is theirs": (
        [{"a": 1, "x": 1}, {"a": 2, "x": 2}],
        [{"a": 1}, {"a": 2}],
        [{"a": 1}, {"a": 3}],
        [{"a": 1, "x": 1}, {"a": 3, "x": 2}],
    ),
    "an appended item": ([{"a": 1, "x": 1}], [{"a": 1}], [{"a": 1}, {"b": 2}], [{"a": 1, "x": 1}, {"b": 2}]),
    "an item put before the others": (
        [{"name": "c", "x": 1}],
        [{"name": "c"}],
        [{"name": "init"}, {"name": "c", "a": 2}],
        [{"name": "init"}, {"name": "c", "a": 2, "x": 1}],
    ),
    "an item that is gone": (
        [{"name": "a", "x": 1}, {"name": "b", "x": 2}],
        [{"name": "a"}, {"name": "b"}],
        [{"name": "b"}],
        [{"name": "b", "x": 2}],
    ),
    "items without names": (["a", "b"], ["a", "b"], ["b"], ["b"]),
    "a value of another type": ({"a": "1"}, {"a": 1}, {"a": 2}, {"a": 2}),
    "a map that was none": ({"a": None}, {}, {"a": {"b": 1}}, {"a": {"b": 1}}),
}


@pytest.mark.parametrize(("whole", "before", "after", "expected"), CASES.values(), ids=CASES.keys())
def test_overlay(whole: Any, before: Any, after: Any, expected: Any) -> None:
    assert overlay(whole, before, after) == expected


JSON = st.recursive(
    st.integers(0, 3) | st.sampled_from("xyz"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON)
def test_where_all_is_shown_the_change_is_all_there_is(before: Any, after: Any) -> None:
    assert overlay(before, before, after) == after
