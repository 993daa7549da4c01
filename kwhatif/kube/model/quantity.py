"""Quantities and durations in Kubernetes' notation (`apimachinery/pkg/api/resource`; Go's `time.Duration`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Self

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
    """A float64 converted to int64 by truncation; a number out of range becomes the smallest int64, as on amd64."""
    return int(number) if -(2.0**63) <= number < 2.0**63 else MIN_INT64


#: A quantity in JSON or YAML: `"500m"`, `"1Gi"`, `2`, `0.5`.
QuantityText = str | int | float

NANO = 1_000_000_000
MICRO_PER_MILLI = 1_000_000
#: Integers up to this number are also exact as floats: 8 PiB, or the same number of milli-CPU or devices.
LARGEST_EXACT = 2**53
#: The largest amount: 64 PiB, or the same number of milli-CPU or devices.
MOST_UNITS = 2**56

_SYNTAX = re.compile(r"([+-]?)([0-9]*+)(?:\.([0-9]*+))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]{1,9})")
_MAX_EXPONENT = 100  #: so that a hostile "1e999999999" cannot use all memory
_FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}

_parsed: dict[QuantityText, int] = {}


def parse_quantity(text: QuantityText) -> int:
    """Nano-units of `text`, a Kubernetes quantity.

    Raises:
        ValueError: the text is not a quantity; with the API server's message.
    """
    # Cached, because a cluster has a few dozen different texts, a million times.
    nanos = _parsed.get(text)
    if nanos is None:
        nanos = _parsed[text] = _parse(str(text).strip())
    return nanos


def _parse(text: str) -> int:
    match = _SYNTAX.fullmatch(text)
    if match is None or not text:
        raise ValueError(_FORMAT_WRONG)
    sign, whole, fraction, suffix = match.groups(default="")
    # QUIRK: (quantity.go, parseQuantityString) a quantity without digits, such as "Mi", is zero.
    magnitude = Fraction(int(whole + fraction or "0"), 10 ** len(fraction))
    if suffix in _BINARY:
        magnitude = min(magnitude * 2 ** _BINARY[suffix], Fraction(MAX_INT64))
    else:
        magnitude *= Fraction(10) ** _exponent(suffix)
    scaled = magnitude * NANO
    nanos = -(-scaled.numerator // scaled.denominator)
    return -nanos if sign == "-" else nanos


def _exponent(suffix: str) -> int:
    """The power of ten of a decimal suffix or an exponent."""
    if suffix in _DECIMAL:
        return _DECIMAL[suffix]
    match = _EXPONENT.fullmatch(suffix)
    if match is None or abs(int(match[1])) > _MAX_EXPONENT:
        raise ValueError("unable to parse quantity's suffix")
    return int(match[1])


def value(nanos: int) -> int:
    """Whole units, rounded away from zero (`Quantity.Value()`)."""
    return _rounded_up(nanos, NANO)


def milli_value(nanos: int) -> int:
    """Thousandths, rounded away from zero (`Quantity.MilliValue()`)."""
    return _rounded_up(nanos, MICRO_PER_MILLI)


def _rounded_up(nanos: int, unit: int) -> int:
    magnitude = min(-(-abs(nanos) // unit), MOST_UNITS)
    return magnitude if nanos >= 0 else -magnitude


def ceil_to_milli(nanos: int) -> int:
    """Nano-units rounded to whole milli-units, as API defaulting stores resource lists."""
    # No maximum, unlike `milli_value`: upstream rounds the quantity itself, at any scale.
    rounded = -(-abs(nanos) // MICRO_PER_MILLI) * MICRO_PER_MILLI
    return rounded if nanos >= 0 else -rounded


def to_text(nanos: int) -> QuantityText:
    """A quantity that parses to these nano-units."""
    return nanos // NANO if nanos % NANO == 0 else f"{nanos}n"


# --- quantities as the API server prints them ----------------------------------------------------------

#: The three notations of a quantity.
_PLAIN, _BINARY_SI, _EXPONENTIAL = "decimal", "binary", "exponent"
_DECIMAL_SUFFIXES = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY_SUFFIXES = ("", *_BINARY)
_MILLI = _DECIMAL["m"]
#: Sign, digits, decimals, suffix or exponent.
_PARTS = re.compile(r"[+-]?0*([0-9]*)(?:\.([0-9]*))?(.*)")


class Quantity(int):
    """Nano-units with a notation, and with the original text unless the quantity is a sum.

    `1000m` prints as `1`, `1536Mi` is unchanged, and a sum keeps the notation of its first operand. Sums and
    comparisons work as for plain nano-units.
    """

    notation: str
    _text: str

    def __new__(cls, nanos: int, notation: str = _PLAIN, text: str = "") -> Self:
        """Nano-units in one of the three notations."""
        self = super().__new__(cls, nanos)
        self.notation = notation
        self._text = text
        return self

    def __add__(self, other: int) -> Quantity:
        """The sum, in this quantity's notation unless it is zero."""
        notation = other.notation if not self and isinstance(other, Quantity) else self.notation
        return Quantity(int(self) + int(other), notation)

    def __radd__(self, other: int) -> Quantity:
        """The sum with a plain number, which has no notation."""
        return Quantity(int(other) + int(self), self.notation)

    def __str__(self) -> str:
        """The quantity as the API server prints it."""
        if self._text:
            return self._text
        if self == 0:
            return "0"
        if self.notation == _BINARY_SI and abs(self) >= 1024 * NANO and self % NANO == 0:
            return _binary_text(int(self) // NANO)
        return _decimal_text(int(self), exponent=self.notation == _EXPONENTIAL)


@lru_cache(maxsize=65536)
def parse_amount(quantity: QuantityText) -> Quantity:
    """The quantity as the API server stores it in a resource list: rounded up to milli-units.

    Raises:
        ValueError: the text is not a quantity.
    """
    nanos = ceil_to_milli(parse_quantity(quantity))
    text = str(quantity).strip()
    match = _PARTS.fullmatch(text)
    assert match is not None
    digits, decimals, suffix = match.groups(default="")
    if suffix.endswith("i"):
        return Quantity(nanos, _BINARY_SI)
    # "E" alone means exa; "E" followed by digits is an exponent.
    notation = _EXPONENTIAL if suffix[:1] in ("e", "E") and len(suffix) > 1 else _PLAIN
    power = int(suffix[1:]) if notation == _EXPONENTIAL else _DECIMAL[suffix]
    return Quantity(nanos, notation, text if _is_kept(digits, decimals, power) else "")


def amounts(resources: Mapping[str, QuantityText] | None) -> dict[str, Quantity]:
    """A resource list as quantities, sorted by name."""
    return {name: parse_amount(resources[name]) for name in sorted(resources)} if resources else {}


def _is_kept(digits: str, decimals: str, power: int) -> bool:
    """Whether a decimal quantity prints with its original text.

    QUIRK: (`ParseQuantity`) upstream treats `1.500` and `1E3` as canonical; the canonical forms are `1500m` and `1e3`.
    """
    shifted, scale = (digits or "0") + decimals, power - len(decimals)
    return scale >= _MILLI and scale % 3 == 0 and shifted[0] != "0" and not shifted.endswith("000")


def _binary_text(units: int) -> str:
    power = 0
    while units % 1024 == 0 and power < len(_BINARY_SUFFIXES) - 1:
        units //= 1024
        power += 1
    return f"{units}{_BINARY_SUFFIXES[power]}"


def _decimal_text(nanos: int, *, exponent: bool) -> str:
    power = -9
    while nanos % 1000 == 0:
        nanos //= 1000
        power += 3
    if exponent:
        return f"{nanos}e{power}" if power else str(nanos)
    # QUIRK: (suffix.go) there is no suffix above exa, so the suffix is omitted: 1000E becomes 1.
    return f"{nanos}{_DECIMAL_SUFFIXES.get(power, '')}"


_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
#: The maximum number of characters: more digits would not change the value, but cost time.
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


#: Seconds. One answer never takes more than a day, and the clocks of sockets overflow.
LONGEST = 86_400.0
_SECONDS = re.compile(r"[0-9]+")


def parse_timeout(text: str) -> float | None:
    """Seconds of a `--request-timeout`: a duration, or a number of seconds; 0 means no limit. At most `LONGEST`.

    Raises:
        ValueError: the text is neither.
    """
    if _SECONDS.fullmatch(text):
        seconds = float(text)
    else:
        try:
            seconds = parse_duration(text) / 10**9
        except ValueError:
            raise ValueError(f"{text!r} is neither a number of seconds nor a duration such as 30s or 2m") from None
    if seconds < 0:
        raise ValueError(f"{text!r} is negative")
    return min(seconds, LONGEST) or None


def go_duration(nanos: int) -> str:
    """A duration in Go's notation: `1h0m0s`, `1.5s`, `20ms` (`time.Duration.String`)."""
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
