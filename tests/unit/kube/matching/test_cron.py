"""Schedules of CronJobs."""

import re
from datetime import UTC, datetime

import pytest

from kwhatif.kube.matching.cron import is_due, is_zone, parse_schedule

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


@pytest.mark.parametrize(
    ("schedule", "wrong"),
    [
        ("", "empty spec string"),
        ("*/5 * * *", "expected exactly 5 fields, found 4: [*/5 * * *]"),
        ("61 * * * *", "end of range (61) above maximum (59): 61"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'),
        (
            f"{10**20} * * * *",
            f'failed to parse int from {10**20}: strconv.Atoi: parsing "{10**20}": value out of range',
        ),
        ("@sometimes", "unrecognized descriptor: @sometimes"),
        ("@every x", 'failed to parse duration @every x: time: invalid duration "x"'),
    ],
)
def test_what_is_wrong_with_a_schedule_is_said_as_the_api_server_does(schedule: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=re.escape(wrong)):
        parse_schedule(schedule)


@pytest.mark.parametrize("schedule", ["@every 5m", "0 0 * * SUN,mon", "*/5,,3 * * * *", "*-3 * * * *", " * * * * *"])
def test_a_schedule_that_the_api_server_takes(schedule: str) -> None:
    parse_schedule(schedule)
    assert is_due(schedule, "", START, START + 86400 * 7)


@pytest.mark.parametrize(
    ("zone", "known"), [("Europe/Berlin", True), ("Etc/GMT+5", True), ("Europe/Nowhere", False), ("../etc", False)]
)
def test_a_time_zone(zone: str, known: bool) -> None:
    assert is_zone(zone) == known
