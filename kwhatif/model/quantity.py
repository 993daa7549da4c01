"""Kubernetes quantities, exactly: whole numbers of nano-units.

Follows `staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go`: anything finer than one nano-unit is rounded
away from zero, and a value with a binary suffix is capped at ±(2^63-1) units. Sums and comparisons are then plain
integer arithmetic; conversion to units or milli-units happens last, as upstream does it.

What 64 bits cannot hold a hundred times counts as `MOST_UNITS`: upstream's products and sums wrap around there, which
is not modelled (the report has a caveat from `LARGEST_EXACT` on).
"""

from __future__ import annotations

import re
from fractions import Fraction

from kwhatif.model.int64 import MAX_INT64

#: A quantity as it stands in JSON or YAML: `"500m"`, `"1Gi"`, `2`, `0.5`.
QuantityText = str | int | float

NANO = 1_000_000_000
MICRO_PER_MILLI = 1_000_000
#: Whole numbers up to here are exact as floats, too: 8 PiB, or as many milli-CPU or devices.
LARGEST_EXACT = 2**53
#: 64 PiB, or as many milli-CPU or devices: no larger amount is reckoned with.
MOST_UNITS = 2**56

_SYNTAX = re.compile(r"([+-]?)([0-9]*+)(?:\.([0-9]*+))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]{1,9})")
_MAX_EXPONENT = 100  #: keeps a hostile "1e999999999" from eating all memory
_FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}

_parsed: dict[QuantityText, int] = {}


def parse_quantity(text: QuantityText) -> int:
    """Nano-units of `text`, a Kubernetes quantity.

    Raises:
        ValueError: in the API server's words, when the text is not a quantity.
    """
    # Clusters use a few dozen distinct texts a million times over.
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
    """The power of ten that a decimal suffix, or an exponent, stands for."""
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
    # Not bound as `milli_value` is: upstream rounds within the quantity, whatever its scale.
    rounded = -(-abs(nanos) // MICRO_PER_MILLI) * MICRO_PER_MILLI
    return rounded if nanos >= 0 else -rounded


def to_text(nanos: int) -> QuantityText:
    """A quantity that parses to these nano-units."""
    return nanos // NANO if nanos % NANO == 0 else f"{nanos}n"
