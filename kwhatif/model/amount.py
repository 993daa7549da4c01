"""Quantities that remember how they were written, for the API server's messages.

Follows `CanonicalizeBytes` in `staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go`: `1000m` prints as `1`,
`1536Mi` stays, a sum keeps the notation of its first part. Sums and comparisons are those of plain nano-units.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Self

from kwhatif.model.quantity import NANO, QuantityText, ceil_to_milli, parse_quantity

_DECIMAL, _BINARY, _EXPONENT = "decimal", "binary", "exponent"
_DECIMAL_SUFFIXES = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_POWERS = {suffix: power for power, suffix in _DECIMAL_SUFFIXES.items()}
_MILLI = -3
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
        ValueError: the text is not a quantity.
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
