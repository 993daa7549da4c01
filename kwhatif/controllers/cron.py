"""Whether a CronJob is due within a span of time (`robfig/cron`, as `pkg/controller/cronjob` uses it)."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

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
#: Minimum, maximum and names of minutes, hours, days of the month, months, and days of the week.
_FIELDS = ((0, 59, ()), (0, 23, ()), (1, 31, ()), (1, 12, _MONTHS), (0, 6, _DAYS))
#: Only this much of a longer span is checked: it contains a time of nearly any schedule.
_MOST_MINUTES = 60 * 24 * 400


def is_due(schedule: str, zone: str, since: int, until: int) -> bool:
    """Whether a time of the schedule is after `since`, and not after `until`: seconds since the epoch.

    A schedule or zone that cannot be parsed counts as due; the default zone is UTC, as kube-controller-manager usually
    runs in UTC.
    """
    try:
        fields = [_values(text, *bounds) for text, bounds in zip(_five(schedule), _FIELDS, strict=True)]
        place = ZoneInfo(zone) if zone else UTC
    except (ValueError, KeyError, OSError):
        return True
    first = since - since % 60 + 60
    for minute in range(min((until - since) // 60 + 1, _MOST_MINUTES)):
        if first + minute * 60 > until:
            return False
        try:
            moment = datetime.fromtimestamp(first + minute * 60, UTC).astimezone(place)
        except (OverflowError, ValueError):  # at the start or the end of the calendar
            continue
        if _matches(moment, fields):
            return True
    return False


def _five(schedule: str) -> list[str]:
    return _SHORT.get(schedule.strip(), schedule).split()


def _matches(at: datetime, fields: list[tuple[frozenset[int], bool]]) -> bool:
    (minutes, _), (hours, _), (days, any_day), (months, _), (weekdays, any_weekday) = fields
    on_day, on_weekday = at.day in days, at.isoweekday() % 7 in weekdays
    # If both are set, one of them is enough.
    is_day = (on_day and on_weekday) if any_day or any_weekday else (on_day or on_weekday)
    return at.minute in minutes and at.hour in hours and at.month in months and is_day


def _values(text: str, low: int, high: int, names: tuple[str, ...]) -> tuple[frozenset[int], bool]:
    """The values of a field, and whether one of its parts is a star without a step."""
    values: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        if first in ("*", "?"):
            start, end = low, high
        else:
            start = _number(first, low, names)
            end = _number(last, low, names) if last else (high if step else start)
        if not low <= start <= end <= high:
            raise ValueError(f"{part!r} is not within {low} and {high}")
        values.update(range(start, end + 1, int(step or 1)))
    return frozenset(values), any(part in ("*", "?", "*/1") for part in text.split(","))


def _number(text: str, low: int, names: tuple[str, ...]) -> int:
    return names.index(text.lower()) + low if text.lower() in names else int(text)
