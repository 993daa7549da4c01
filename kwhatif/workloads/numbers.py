"""Numbers in names, annotations and bounds, which are user input."""

from __future__ import annotations

import re
from functools import lru_cache

from kwhatif.kube.model.meta import ObjectMeta

_PERCENT = re.compile(r"(\d{1,18})%")
#: Ten digits hold every number of 32 bits.
_DIGITS = re.compile(r"(?=[0-9])0*+([0-9]{0,10})")


@lru_cache(16_384)
def natural_number(text: str) -> int | None:
    """The number in decimal digits; None for other texts, and for numbers that are not an int32."""
    match = _DIGITS.fullmatch(text)
    number = -1 if match is None else int(match[1] or 0)
    return number if 0 <= number < 2**31 else None


def ordinal_of(meta: ObjectMeta, owner: str) -> int | None:
    """The number at the end of a pod's name, as StatefulSets give it (`getParentNameAndOrdinal`).

    Args:
        meta: of the pod.
        owner: the name of the StatefulSet.

    Returns:
        None where the pod is not named as one of this set.
    """
    name, _, number = meta.name.rpartition("-")
    return natural_number(number) if name == owner else None


def resolved(bound: int | str | None, total: int, *, default: int | str, round_up: bool) -> int:
    """A number as it is, a percentage of the total (`GetScaledValueFromIntOrPercent`).

    Anything else is refused by the API server, and counts as 0 here.
    """
    value = default if bound is None else bound
    if isinstance(value, int):
        return value
    percent = _PERCENT.fullmatch(value)
    if percent is None:
        return 0
    parts = int(percent[1]) * total
    return -(-parts // 100) if round_up else parts // 100
