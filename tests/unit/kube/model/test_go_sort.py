"""Sorting as Go does it: `go_sort.json` holds what `sort.Slice` made of keys with a "less" that also holds of equals."""

import json
from pathlib import Path

import pytest

from kwhatif.kube.model.go_sort import go_sort

CASES = json.loads((Path(__file__).parent / "go_sort.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(len(case["keys"])))
def test_equals_end_up_where_go_puts_them(case: dict[str, list[int]]) -> None:
    keys = case["keys"]
    places = list(range(len(keys)))
    go_sort(places, lambda one, other: keys[one] <= keys[other])
    assert places == case["sorted"]


def test_few_equals_are_reversed() -> None:
    items = ["a", "b", "c"]
    go_sort(items, lambda _one, _other: True)
    assert items == ["c", "b", "a"]
