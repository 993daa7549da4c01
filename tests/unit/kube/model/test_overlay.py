"""Mappings that are cheap to fork."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kwhatif.kube.model.overlay import Overlay

NUMBERS = st.integers(0, 120)


@given(st.lists(NUMBERS, max_size=30), st.lists(NUMBERS, max_size=30), st.lists(NUMBERS, max_size=10))
def test_many_values_at_once_are_those_that_are_there(put: list[int], popped: list[int], again: list[int]) -> None:
    base: Overlay[int, int] = Overlay({number: number for number in range(100)})
    fork = base.fork()
    for number in put:
        fork.put(number, -number)
    for number in popped:
        fork.pop(number)
    for number in again:
        fork.put(number, 1000 + number)
    keys = list(range(121))
    assert fork.select(key for key in keys if key in fork) == [fork[key] for key in keys if key in fork]
    assert base.select(range(100)) == list(range(100))
