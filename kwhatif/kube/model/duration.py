"""Go durations, as configurations write them: `1m30s`, `100ms`, `0`."""

from __future__ import annotations

import re
from fractions import Fraction

_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
#: Characters; more digits would not change the value, and cost time.
_LONGEST = 200
_PART = re.compile(r"([0-9]++\.?[0-9]*+|\.[0-9]++)(ns|us|µs|ms|s|m|h)")
_WHOLE = re.compile(rf"[-+]?(?:0|(?:{_PART.pattern})+)")


def parse_duration(text: str) -> int:
    """Nanoseconds of a Go duration (`time.ParseDuration`).

    Raises:
        ValueError: the text is not a duration.
    """
    if len(text) > _LONGEST or not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is not a duration such as 10s or 1m30s")
    total = sum(int(Fraction(amount) * _UNITS[unit]) for amount, unit in _PART.findall(text))
    return -total if text.startswith("-") else total


def go_duration(nanos: int) -> str:
    """A duration as Go prints it: `1h0m0s`, `1.5s`, `20ms` (`time.Duration.String`)."""
    if nanos == 0:
        return "0s"
    sign, left = ("-", -nanos) if nanos < 0 else ("", nanos)
    if left < 10**9:
        unit, size = next((unit, size) for unit, size in (("ms", 10**6), ("µs", 10**3), ("ns", 1)) if left >= size)
        return f"{sign}{_decimal(Fraction(left, size))}{unit}"
    seconds = Fraction(left, 10**9)
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    shown = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{shown}{_decimal(Fraction(rest))}s"


def _decimal(number: Fraction) -> str:
    whole, rest = divmod(number, 1)
    digits = f"{int(rest * 10**9):09d}".rstrip("0")
    return f"{int(whole)}.{digits}" if digits else str(int(whole))
