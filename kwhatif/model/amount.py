"""Quantities that remember how they were written, for the API server's messages.

Follows `CanonicalizeBytes` in `staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go`: `1000m` prints as `1`,
`1536Mi` stays, a sum keeps the notation of its first part. Sums and comparisons are those of plain nano-units.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Self

from kwhatif.model.int64 import MAX_INT64
from kwhatif.model.quantity import MICRO_PER_MILLI, NANO, QuantityText, ceil_to_milli, parse_quantity
from kwhatif.model.scaled import NANO_SCALE, Scaled

_DECIMAL, _BINARY, _EXPONENT = "decimal", "binary", "exponent"
_DECIMAL_SUFFIXES = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_POWERS = {suffix: power for power, suffix in _DECIMAL_SUFFIXES.items()}
_MILLI = -3
#: As many decimal digits as an int64 holds for sure (`maxInt64Factors`).
_INT64_DIGITS = 18
#: Nano-units that fit into an int64 even as thousandths.
LARGEST_PLAIN = MAX_INT64 * MICRO_PER_MILLI
_BINARY_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


#: Sign, digits, decimals, suffix or exponent.
_PARTS = re.compile(r"[+-]?0*([0-9]*)(?:\.([0-9]*))?(.*)")


class Amount(int):
    """Nano-units with a notation, and as long as nothing is added to them, the text that they were written as."""

    notation: str
    _text: str

    def __new__(cls, nanos: int, notation: str = _DECIMAL, text: str = "") -> Self:
        """Nano-units in one of the three notations."""
        self = super().__new__(cls, nanos)
        self.notation = notation
        self._text = text
        return self

    def __add__(self, other: int) -> Amount:
        """The sum, in this one's notation unless it is zero."""
        notation = other.notation if not self and isinstance(other, Amount) else self.notation
        return Amount(int(self) + int(other), notation)

    def __radd__(self, other: int) -> Amount:
        """The sum with a plain number: it has no notation of its own."""
        return Amount(int(other) + int(self), self.notation)

    def __str__(self) -> str:
        """The quantity as the API server prints it."""
        if self._text:
            return self._text
        if self == 0:
            return "0"
        if self.notation == _BINARY and abs(self) >= 1024 * NANO and self % NANO == 0:
            return _binary_text(int(self) // NANO)
        return _decimal_text(int(self), exponent=self.notation == _EXPONENT)


@lru_cache(maxsize=65536)
def parse_amount(quantity: QuantityText) -> Amount:
    """The quantity as the API server stores it in a resource list: rounded up to milli-units.

    Raises:
        ValueError: the text is no quantity.
    """
    nanos = ceil_to_milli(parse_quantity(quantity))
    text = str(quantity).strip()
    match = _PARTS.fullmatch(text)
    assert match is not None
    digits, decimals, suffix = match.groups(default="")
    if suffix.endswith("i"):
        return Amount(nanos, _BINARY)
    # A lone "E" is exa; with digits behind it, it is an exponent.
    notation = _EXPONENT if suffix[:1] in ("e", "E") and len(suffix) > 1 else _DECIMAL
    power = int(suffix[1:]) if notation == _EXPONENT else _POWERS[suffix]
    return Amount(nanos, notation, text if _is_kept(digits, decimals, power) else "")


def amounts(resources: Mapping[str, QuantityText] | None) -> dict[str, Amount]:
    """A resource list by name, in the order of the names."""
    return {name: parse_amount(resources[name]) for name in sorted(resources)} if resources else {}


def _is_kept(digits: str, decimals: str, power: int) -> bool:
    """Whether a decimal quantity prints as it was written.

    QUIRK: (`ParseQuantity`) it takes `1.500` and `1E3` to be in canonical form, which would be `1500m` and `1e3`.
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
    # QUIRK: (suffix.go) there is no suffix beyond exa, and none is written: 1000E becomes 1.
    return f"{nanos}{_DECIMAL_SUFFIXES.get(power, '')}"


def stored(quantity: QuantityText) -> int:
    """The quantity as the scheduler reads it from the API server: plain nano-units, or `Scaled` if it may not fit.

    Raises:
        ValueError: the text is no quantity.
    """
    nanos = parse_quantity(quantity)
    return nanos if abs(nanos) <= LARGEST_PLAIN else as_scaled(quantity)


def stored_nanos(quantity: QuantityText) -> int:
    """The same as plain nano-units, of whatever size."""
    return int(stored(quantity))


@lru_cache(maxsize=4096)
def as_scaled(quantity: QuantityText) -> Scaled:
    """The quantity in the form that the scheduler holds it in, once it was written and read by the API server.

    Follows `ParseQuantity`: up to 18 digits are an int64, unless a binary suffix makes it (nearly) too large.
    """
    amount = parse_amount(quantity)
    match = _PARTS.fullmatch(str(amount))
    assert match is not None
    digits, decimals, suffix = match.groups(default="")
    sign = -1 if amount < 0 else 1
    length = len(digits or "0") + len(decimals)
    if suffix in _BINARY_SUFFIXES[1:]:
        power = 10 * _BINARY_SUFFIXES.index(suffix)
        if 15 - length - power * 3 // 10 - 1 >= 0:
            return Scaled(sign * int(digits) << power, 0)
    elif length <= _INT64_DIGITS:
        power = _POWERS[suffix] if suffix in _POWERS else int(suffix[1:])
        return Scaled(sign * int(digits + decimals or "0"), power - len(decimals))
    return Scaled(parse_quantity(str(amount)), NANO_SCALE, unbounded=True)
