"""Quantities beyond 64 bits: there the way in which Go holds a quantity shows.

Follows `int64Amount` and `infDecAmount` in `staging/src/k8s.io/apimachinery/pkg/api/resource/amount.go`, and
`scaledValue` in `scale_int.go`. Of an amount that fits into 64 bits in the unit asked for, nano-units say the same.
"""

from __future__ import annotations

from typing import Self

from kwhatif.model.int64 import MIN_INT64, fits, wrap

NANO_SCALE = -9
#: Powers of ten that `positiveScaleInt64` multiplies by in one step.
_AT_ONCE = (1, 2, 3, 6, 9)


class Scaled(int):
    """Nano-units that know the number and the power of ten that they are held as: `number` · 10^`scale`."""

    number: int
    scale: int
    #: Held as a number without bounds (`inf.Dec`), not as an int64.
    unbounded: bool

    def __new__(cls, number: int, scale: int, *, unbounded: bool = False) -> Self:
        """Made of a number and a scale, which is -9 or more."""
        self = super().__new__(cls, number * 10 ** (scale - NANO_SCALE))
        self.number, self.scale, self.unbounded = number, scale, unbounded
        return self

    def __add__(self, other: int) -> int:
        """The sum (`Quantity.Add`): at the finer of both scales, and without bounds once an int64 is too small."""
        if not isinstance(other, Scaled):
            return int(self) + other
        bounded = not (self.unbounded or other.unbounded)
        if bounded and not (self.number and other.number):
            return self if self.number else other
        scale = min(self.scale, other.scale)
        parts = [part.number * 10 ** (part.scale - scale) for part in (self, other)]
        return Scaled(sum(parts), scale, unbounded=not (bounded and all(map(fits, (*parts, sum(parts))))))

    def compared_with(self, other: int) -> Scaled:
        """What becomes of it by that. QUIRK: (`Quantity.Cmp`) beside one without bounds it loses its own."""
        if self.unbounded or not (isinstance(other, Scaled) and other.unbounded):
            return self
        return Scaled(self.number, self.scale, unbounded=True)

    def to_int64(self, scale: int) -> int:
        """As whole multiples of 10^`scale`, rounded away from zero (`Quantity.ScaledValue`).

        QUIRK: (amount.go, math.go, scale_int.go) what is too large for 64 bits wraps around, or is 0 if it was held as
        an int64 that is multiplied digit by digit. A factor of 10^19 or more is out of range (on amd64: -2^63).
        """
        shift = self.scale - scale
        if shift <= 0:
            rounded = -(-abs(self.number) // 10**-shift)
            return wrap(rounded if self.number >= 0 else -rounded)
        if self.unbounded:
            return wrap(self.number * (10**shift if fits(10**shift) else MIN_INT64))
        product = self.number * 10**shift
        return wrap(product) if fits(product) or shift in _AT_ONCE else 0
