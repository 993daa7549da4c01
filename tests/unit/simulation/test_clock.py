"""Times that a simulation writes."""

from __future__ import annotations

import pytest

from kwhatif.kube.model.meta import parse_time
from kwhatif.simulation.clock import Clock


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "2026-01-01T00:00:00Z"),
        (1.5, "2026-01-01T00:00:01.5Z"),
        (2**31, "2094-01-19T03:14:08Z"),
        (2**63, "9999-12-31T23:59:59Z"),
        (10**40, "9999-12-31T23:59:59Z"),
    ],
)
def test_a_stamp_is_always_a_time(seconds: float, shown: str) -> None:
    assert Clock(parse_time("2026-01-01T00:00:00Z")).stamp(seconds) == shown
