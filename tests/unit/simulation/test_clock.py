"""Times that a simulation writes."""

import pytest

from kwhatif.kube.model.meta import format_time, parse_time
from kwhatif.simulation.clock import Clock, start_of
from tests.builders import cluster, node, pod


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


@pytest.mark.parametrize(
    ("granted", "own", "start"),
    [
        # It was deleted ten minutes before the end of its grace period: the dump is of a minute after that.
        (600, 30, "2026-03-02T08:51:00Z"),
        (0, 30, "2026-03-02T09:01:00Z"),
        # The dump does not say what was granted: what a deletion grants that asks for nothing else.
        (None, 3600, "2026-03-02T08:01:00Z"),
        # It was created after the other times: nothing else says when.
        (30 * 86400, 30, "2026-03-01T00:01:00Z"),
    ],
)
def test_a_dump_without_a_date_is_no_earlier_than_its_deletions(granted: int | None, own: int, start: str) -> None:
    going = pod("going").on("a").spec(termination_grace_period_seconds=own)
    going = going.meta(
        creation_timestamp="2026-03-01T00:00:00Z",
        deletion_timestamp="2026-03-02T09:00:00Z",
        deletion_grace_period_seconds=granted,
    )
    assert format_time(start_of(cluster(node("a"), going)) // 10**9) == start
