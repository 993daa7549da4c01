"""Schedules of CronJobs (`robfig/cron`, which the API server and `pkg/controller/cronjob` use)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from kwhatif.kube.model.quantity import parse_duration

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_SHORT = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
#: (minimum, maximum, names) of minutes, hours, days of the month, months, and days of the week.
_FIELDS = ((0, 59, ()), (0, 23, ()), (1, 31, ()), (1, 12, _MONTHS), (0, 6, _DAYS))
_EVERY = "@every "
#: At most this many minutes of a time span are checked: they contain a time of nearly every schedule.
_MOST_MINUTES = 60 * 24 * 400
#: A part of the name of a time zone.
_ZONE_PART = re.compile(r"[A-Za-z._0-9+-]{1,14}")


class Field(NamedTuple):
    """One of the five fields of a schedule."""

    values: frozenset[int]
    #: Whether a part of the field is a star without a step.
    is_any: bool


def parse_schedule(schedule: str) -> Sequence[Field] | None:
    """The five fields; None for an interval, which begins when the controller starts (`@every 5m`).

    Raises:
        ValueError: the text is not a schedule; with the API server's message (`cron.ParseStandard`).
    """
    if not schedule:
        raise ValueError("empty spec string")
    if schedule.startswith(_EVERY):
        try:
            parse_duration(schedule.removeprefix(_EVERY))
        except ValueError:
            invalid = f'time: invalid duration "{schedule.removeprefix(_EVERY)}"'
            raise ValueError(f"failed to parse duration {schedule}: {invalid}") from None
        return None
    if schedule.startswith("@") and schedule not in _SHORT:
        raise ValueError(f"unrecognized descriptor: {schedule}")
    fields = _SHORT.get(schedule, schedule).split()
    if len(fields) != len(_FIELDS):
        raise ValueError(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]")
    return [_field(text, *bounds) for text, bounds in zip(fields, _FIELDS, strict=True)]


def is_zone(zone: str) -> bool:
    """Whether the time zone exists; without a time zone database on this machine, whether the syntax is valid."""
    parts = zone.split("/")
    if any(part in (".", "..") or part.startswith("-") or not _ZONE_PART.fullmatch(part) for part in parts):
        return False
    return _has(zone) or not _has("Europe/London")


@cache
def _has(zone: str) -> bool:
    try:
        ZoneInfo(zone)
    except (ValueError, KeyError, OSError):
        return False
    return True


def is_due(schedule: str, zone: str, since: int, until: int) -> bool:
    """Whether a time of the schedule is after `since`, and not after `until`: seconds since the epoch.

    A schedule or zone that cannot be parsed counts as due; the default zone is UTC, as kube-controller-manager usually
    runs in UTC.
    """
    try:
        fields = parse_schedule(schedule.strip())
        time_zone = ZoneInfo(zone) if zone else UTC
    except (ValueError, KeyError, OSError):
        return True
    if fields is None:
        return True
    first = since - since % 60 + 60
    for minute in range(min((until - since) // 60 + 1, _MOST_MINUTES)):
        if first + minute * 60 > until:
            return False
        try:
            moment = datetime.fromtimestamp(first + minute * 60, UTC).astimezone(time_zone)
        except (OverflowError, ValueError):  # before the first or after the last year of the calendar
            continue
        if _matches(moment, fields):
            return True
    return False


def _matches(at: datetime, fields: Sequence[Field]) -> bool:
    minutes, hours, days, months, weekdays = fields
    on_day, on_weekday = at.day in days.values, at.isoweekday() % 7 in weekdays.values
    # If both the day of the month and the day of the week are set, one match is enough.
    is_day = (on_day and on_weekday) if days.is_any or weekdays.is_any else (on_day or on_weekday)
    return at.minute in minutes.values and at.hour in hours.values and at.month in months.values and is_day


def _field(text: str, low: int, high: int, names: tuple[str, ...]) -> Field:
    values: set[int] = set()
    is_any = False
    for part in filter(None, text.split(",")):
        span, *steps = part.split("/")
        first, *rest = span.split("-")
        if first in ("*", "?"):
            start, end = low, high
        else:
            start = end = _number(first, low, names)
            if rest:
                end = _number(rest[0], low, names)
        if first not in ("*", "?") and len(rest) > 1:
            raise ValueError(f"too many hyphens: {part}")
        if len(steps) > 1:
            raise ValueError(f"too many slashes: {part}")
        step = _number(steps[0], low, ()) if steps else 1
        if steps and not rest:
            end = high
        _check_span(part, (start, end), (low, high), step)
        values.update(range(start, end + 1, step))
        is_any |= first in ("*", "?") and step == 1
    return Field(frozenset(values), is_any)


def _check_span(part: str, span: tuple[int, int], bounds: tuple[int, int], step: int) -> None:
    (start, end), (low, high) = span, bounds
    if start < low:
        raise ValueError(f"beginning of range ({start}) below minimum ({low}): {part}")
    if end > high:
        raise ValueError(f"end of range ({end}) above maximum ({high}): {part}")
    if start > end:
        raise ValueError(f"beginning of range ({start}) beyond end of range ({end}): {part}")
    if step == 0:
        raise ValueError(f"step of range should be a positive number: {part}")


#: A number that Go can parse and that fits into 64 bits (`strconv.Atoi`).
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")


def _number(text: str, low: int, names: tuple[str, ...]) -> int:
    if text.lower() in names:
        return names.index(text.lower()) + low
    if not _NUMBER.fullmatch(text):
        why = "value out of range" if text.lstrip("+-").isdecimal() and text.isascii() else "invalid syntax"
        raise ValueError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": {why}')
    number = int(text)
    if number < 0:
        raise ValueError(f"negative number ({number}) not allowed: {text}")
    return number
