"""How many examples a law is tried with."""

from __future__ import annotations

from hypothesis import settings

#: What hypothesis tries where nothing is said; `make deep` leaves it so.
USUAL = 100


def examples(count: int) -> int:
    """So many in `make deep`; in `make test` the same part of them as of the usual number (`conftest`)."""
    return max(1, count * settings().max_examples // USUAL)
