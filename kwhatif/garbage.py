"""Python's garbage collector, which finds nothing among a cluster's millions of objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

#: The number of new objects before a search for garbage is worthwhile: an answer is also made of many that stay.
MANY = 500_000


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """For reading: a million new objects, none of them garbage; looking for it would cost more than the decoding."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def rare_garbage_collection() -> Iterator[None]:
    """For answering: there is garbage, but little."""
    first, *others = gc.get_threshold()
    gc.set_threshold(max(first, MANY) if first else first, *others)
    try:
        yield
    finally:
        gc.set_threshold(first, *others)


class _Process:
    """Whether this process ends as soon as the answer is there."""

    ends_with_the_answer = False


def end_with_the_answer() -> None:
    """This process is for one answer only: there is little garbage, and what was read is kept (`keep`)."""
    _Process.ends_with_the_answer = True
    gc.set_threshold(MANY)


def keep(read: object) -> None:
    """In a process for one answer, do not look for garbage among a cluster's objects, nor free them in the end.

    There are millions, of which it needs each until it exits: a cycle that the collector never sees again holds them.
    """
    if not _Process.ends_with_the_answer:
        return
    kept: list[object] = [read]
    kept.append(kept)
    gc.freeze()
