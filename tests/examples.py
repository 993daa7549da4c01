"""How many examples a law is tried with."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import settings

#: What hypothesis tries where nothing is said; `make deep` leaves it so.
USUAL = 100


def examples(count: int, deep: int = 0) -> int:
    """So many in `make deep`, or `deep`; in `make test` the same part of `count` as of the usual number (`conftest`)."""
    most = settings().max_examples
    return deep if deep and most >= USUAL else max(1, count * most // USUAL)


def slow_but_each(cases: Sequence[Any], every: int) -> list[Any]:
    """All cases as parameters: one of `every` for each run, the others for the slow one."""
    return [
        case if number % every == 0 else pytest.param(case, marks=pytest.mark.slow) for number, case in enumerate(cases)
    ]
