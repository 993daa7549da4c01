"""Go's arithmetic where it differs from Python's."""

from __future__ import annotations

import pytest

from kwhatif.kube.model.quantity import MAX_INT64, MIN_INT64, from_float, wrap


@pytest.mark.parametrize(
    ("number", "kept"),
    [(0, 0), (MAX_INT64, MAX_INT64), (MAX_INT64 + 1, MIN_INT64), (MIN_INT64 - 1, MAX_INT64), (2**64 + 5, 5)],
)
def test_wraps(number: int, kept: int) -> None:
    assert wrap(number) == kept


@pytest.mark.parametrize(
    ("number", "whole"), [(99.9, 99), (-99.9, -99), (-(2.0**63), MIN_INT64), (2.0**63, MIN_INT64), (-1e30, MIN_INT64)]
)
def test_floats_are_truncated_or_out_of_range(number: float, whole: int) -> None:
    assert from_float(number) == whole
