"""Pods in an order, with running sums."""

from __future__ import annotations

from kwhatif.state.state import PodRow
from tests.builders import pod

GPU = "example.com/gpu"


def test_sums_start_with_nobody_and_end_with_all() -> None:
    row = PodRow([pod("a").cpu("1").info(), pod("b").info(), pod("c").requests({"cpu": "250m", GPU: "2"}).info()])
    assert list(row.sums("cpu")) == [0, 1000, 1000, 1250]
    assert list(row.sums(GPU)) == [0, 0, 0, 2]
    assert list(row.sums("memory")) == [0, 0, 0, 0]


def test_nobody_requests_nothing() -> None:
    assert list(PodRow([]).sums("cpu")) == [0]
