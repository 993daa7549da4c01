"""One switch for all fast paths: with `KWHATIF_REFERENCE=1` in the environment, every answer is computed the plain way.

Then every filter and scorer runs on every node, every victim is tried, nothing is kept from one question to the
next, and every replica has a full attempt of its own. The answers are the same. For use when in doubt, and in
`make fuzz`.
"""

from __future__ import annotations

import os

_is_on = os.environ.get("KWHATIF_REFERENCE") == "1"


def is_reference() -> bool:
    """Whether fast paths are off."""
    return _is_on


def use_reference(*, on: bool) -> None:
    """Turn fast paths off, or on again; for tests."""
    global _is_on  # noqa: PLW0603 - one switch for the whole process
    _is_on = on
