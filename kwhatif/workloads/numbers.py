"""Numbers in names and annotations, which anybody may have written."""

from __future__ import annotations

import re
from functools import lru_cache

from kwhatif.kube.model.meta import ObjectMeta

#: Ten digits hold every number of 32 bits.
_DIGITS = re.compile(r"(?=[0-9])0*+([0-9]{0,10})")


@lru_cache(16_384)
def natural_number(text: str) -> int | None:
    """The number that digits stand for; None for other texts, and for what Go has no int32 for."""
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
