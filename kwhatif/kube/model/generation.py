"""Generations: what bears the same one has the same content (`nextGeneration` in `pkg/scheduler/framework/types.go`).

One counter for everything: a number is given once, and never again. So whoever keeps something beside the generation
that it was made from needs nothing else to know whether it still holds, on whichever fork it asks.
"""

from __future__ import annotations

from itertools import count

_numbers = count(1)


def next_generation() -> int:
    """A number that nothing has yet."""
    return next(_numbers)


def resume_after(generation: int) -> None:
    """Give only larger numbers from now on: what another process pickled keeps those that it has."""
    global _numbers  # noqa: PLW0603 - the counter is one for the whole process, as upstream's
    _numbers = count(max(next(_numbers), generation + 1))
