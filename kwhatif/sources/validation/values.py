"""Checks of single values. What was found to be good once is remembered: a cluster repeats itself a million times."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from kwhatif.kube.model.quantity import QuantityText, parse_quantity
from kwhatif.sources.text.origin import FieldPath

#: Takes what is wrong, and the path to it.
AddProblem = Callable[[str, FieldPath], None]
#: Looks at a value, which stands at the path.
Check = Callable[[Any, FieldPath, AddProblem], None]

good_quantities: set[QuantityText] = set()
good_hours: set[str] = set()
_DATE_LENGTH, _HOUR_LENGTH = len("2026-01-31"), len("2026-01-31T12")
_HOUR = re.compile(r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3])", re.ASCII)
_A_CLOCK = r":[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"
_CLOCKS = re.compile(rf"{_A_CLOCK}(?:\n{_A_CLOCK})*", re.ASCII)
#: A clock as the API server writes it, every digit a zero.
_PLAIN = ":00:00Z\n"
_TO_ZERO = str.maketrans("123456789", "0" * 9)
_PERCENT = re.compile(r"[0-9]+%")


def quantities(amounts: Mapping[str, QuantityText], path: FieldPath, add: AddProblem) -> None:
    """A list of resources."""
    if not good_quantities.issuperset(amounts.values()):
        for name, amount in amounts.items():
            quantity(amount, (*path, name), add)


def quantity(amount: QuantityText, path: FieldPath, add: AddProblem) -> None:
    """One quantity (`resource.ParseQuantity`)."""
    if amount in good_quantities:
        return
    try:
        parse_quantity(amount)
    except ValueError:
        add(f"{_shown(amount)} is not a quantity such as 2, 0.5, 500m or 1.5Gi", path)
    else:
        good_quantities.add(amount)


def time(text: str, path: FieldPath, add: AddProblem) -> None:
    """A time as the API server writes it (RFC 3339)."""
    if not are_times([text]):
        add(f"{_shown(text)} is not a time such as 2026-01-31T12:00:00Z", path)


def are_times(texts: Sequence[str]) -> bool:
    """Whether all of them are; few clocks are the same, so all are looked at in one go."""
    if not texts:
        return True
    hours = {text[:_HOUR_LENGTH] for text in texts}
    if not (hours <= good_hours or all(map(_is_hour, hours))):
        return False
    good_hours.update(hours)
    clocks = "\n".join([text[_HOUR_LENGTH:] for text in texts])
    if clocks.translate(_TO_ZERO) == (_PLAIN * len(texts))[:-1]:
        return max(clocks[1 :: len(_PLAIN)]) < "6" and max(clocks[4 :: len(_PLAIN)]) < "6"
    return clocks.count("\n") < len(texts) and _CLOCKS.fullmatch(clocks) is not None


def _is_hour(text: str) -> bool:
    if not _HOUR.fullmatch(text):
        return False
    try:
        date.fromisoformat(text[:_DATE_LENGTH])
    except ValueError:
        return False
    return True


def int_or_percent(value: int | str, path: FieldPath, add: AddProblem) -> None:
    """A number of pods or a share of them (`ValidatePositiveIntOrPercent`, `IsNotMoreThan100Percent`)."""
    if isinstance(value, str):
        if not _PERCENT.fullmatch(value):
            add(f"{_shown(value)} is neither a number nor a percentage such as 50%", path)
        elif len(value.lstrip("0")) > len("100%") or int(value[:-1]) > 100:
            add(f"{_shown(value)} is more than 100%", path)
    elif value < 0:
        add(f"{value} is negative", path)


def _shown(value: object) -> str:
    """A value in a message, cut where it would fill the screen."""
    try:
        text = str(value)
    except ValueError:  # an integer of more digits than Python prints
        return "a number of thousands of digits"
    return repr(text if len(text) <= 64 else text[:61] + "...")
