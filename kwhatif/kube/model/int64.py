"""Go's 64-bit integers: the results of sums, products and conversions that overflow."""

from __future__ import annotations

MAX_INT64 = 2**63 - 1
MIN_INT64 = -(2**63)
MAX_UINT64 = 2**64 - 1
_RANGE = 2**64


def wrap(number: int) -> int:
    """The number wrapped around to an int64: its lowest 64 bits."""
    return (number - MIN_INT64) % _RANGE + MIN_INT64


def fits(number: int) -> bool:
    """Whether an int64 can hold the number."""
    return MIN_INT64 <= number <= MAX_INT64


def from_float(number: float) -> int:
    """A float64 as int64, truncated; a number out of range becomes the smallest int64, as on amd64."""
    return int(number) if -(2.0**63) <= number < 2.0**63 else MIN_INT64
