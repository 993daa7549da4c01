"""Generations: equal generations mean equal content (`nextGeneration` in `pkg/scheduler/framework/types.go`).

There is one counter for everything, and no number is given twice. So a cache that stores the generation of its source
can check by this number alone whether it is still valid, on any fork.
"""

from __future__ import annotations

from itertools import count

_numbers = count(1)


def next_generation() -> int:
    """A number that was never given before."""
    return next(_numbers)


def resume_after(generation: int) -> None:
    """Give only larger numbers from now on: objects pickled by another process keep their generations."""
    global _numbers  # noqa: PLW0603 - the counter is one for the whole process, as upstream's
    _numbers = count(max(next(_numbers), generation + 1))
