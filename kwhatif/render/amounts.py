"""Amounts for people: `1.3` cpu, `1.5Gi`, `2h`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kwhatif.kube.matching.requests import CPU, EPHEMERAL_STORAGE, HUGEPAGES_PREFIX, MEMORY
from kwhatif.kube.model.meta import parse_time

_BINARY = (("Ei", 1 << 60), ("Pi", 1 << 50), ("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))


def amount(resource: str, value: int) -> str:
    """An amount in the scheduler's unit (milli-cpu, bytes, units) for people: cpu in cores, bytes with a suffix.

    Rounded down: `1.99Gi`, not `2Gi`, for one byte less than 2Gi.
    """
    if resource == CPU:
        return f"{value / 1000:.3f}".rstrip("0").rstrip(".")
    if resource in (MEMORY, EPHEMERAL_STORAGE) or resource.startswith(HUGEPAGES_PREFIX):
        return _bytes(value)
    return str(value)


def quantity(resource: str, value: int) -> str:
    """An amount in the scheduler's unit as a Kubernetes quantity: `700m` or `2` cpu, `1.5Gi`."""
    return f"{value}m" if resource == CPU and value % 1000 else amount(resource, value)


def _bytes(value: int) -> str:
    sign, size = ("-", -value) if value < 0 else ("", value)
    for suffix, unit in _BINARY:
        if size >= unit:
            hundredths = size * 100 // unit
            return f"{sign}{hundredths / 100:.2f}".rstrip("0").rstrip(".") + suffix
    return f"{sign}{size}"


def plural(count: int, noun: str, nouns: str = "") -> str:
    """`1 node`, `3 nodes`."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def some(names: Collection[str], limit: int = 3, of: int = 0) -> str:
    """`a, b, c and 4 more`; `of` is the total number, if not all are in `names`."""
    count = max(len(names), of)
    if count <= limit + 1 and count == len(names):
        return ", ".join(names)
    shown = list(names)[:limit]
    return f"{', '.join(shown)} and {count - len(shown):,} more"


def listed(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `11th`."""
    teens = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


_AGE = (("y", 365 * 86400), ("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def but(said: str, doubt: str) -> str:
    """A verdict, with a doubt if there is one."""
    return f"{said}; but {doubt}" if doubt else said


def seconds(time: str) -> int:
    """Seconds since the epoch of a time (RFC 3339)."""
    return parse_time(time) // 1_000_000_000


def age(start: str | None, now: int) -> str:
    """The time since `start` (RFC 3339) as kubectl prints it: `3d4h`, `45m`; `now` in seconds since the epoch."""
    if start is None:
        return "<unknown>"
    elapsed = now - seconds(start)
    return duration(elapsed) if elapsed >= 0 else "<future>"


def took(seconds: float) -> str:
    """A duration such as `2.5 s`; in whole seconds from ten on."""
    return f"{seconds:g} s" if seconds < 10 else f"{seconds:.0f} s"


def in_seconds(value: float) -> str:
    """`30 s`, `2.5 s`."""
    return f"{value:g} s"


def duration(elapsed: int) -> str:
    """Seconds as kubectl prints them: the largest unit, and the next one if it is still significant."""
    largest = next((place for place, (_, unit) in enumerate(_AGE) if elapsed >= unit), len(_AGE) - 1)
    (suffix, unit), *rest = _AGE[largest : largest + 2]
    count, left = divmod(elapsed, unit)
    more = f"{left // rest[0][1]}{rest[0][0]}" if rest and count < 10 and left // rest[0][1] else ""
    return f"{count}{suffix}{more}"
