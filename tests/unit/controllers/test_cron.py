"""Schedules of CronJobs."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kwhatif.controllers.cron import is_due

#: A Thursday.
START = int(datetime(2026, 1, 1, 12, 0, 30, tzinfo=UTC).timestamp())


@pytest.mark.parametrize(
    ("schedule", "zone", "seconds", "due"),
    [
        ("* * * * *", "", 29, False),
        ("* * * * *", "", 30, True),
        ("*/5 * * * *", "", 269, False),
        ("*/5 * * * *", "", 270, True),
        ("0 12 * * *", "", 3600, False),
        ("@hourly", "", 3570, True),
        ("@daily", "", 3600, False),
        ("10-20/5 12 * JAN thu", "", 600, True),
        ("10 12 * FEB *", "", 3600, False),
        # Of a day of the month and one of the week, one is enough; with a star, both.
        ("10 12 2 * thu", "", 3600, True),
        ("10 12 2 * fri", "", 3600, False),
        ("10 12 2 * *", "", 3600, False),
        ("10 13 * * *", "Europe/Berlin", 3600, True),
        ("10 13 * * *", "", 3600, False),
        ("10 ? * * ?", "", 3600, True),
        # What cannot be read may be due.
        ("sometimes", "", 60, True),
        ("0 0 1 1 *", "No/Where", 60, True),
        ("99 * * * *", "", 60, True),
        ("* * * * *", "", 0, False),
    ],
)
def test_a_schedule_is_due(schedule: str, zone: str, seconds: int, due: bool) -> None:
    assert is_due(schedule, zone, START, START + seconds) is due
