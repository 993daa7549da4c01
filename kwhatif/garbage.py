"""Python's garbage collector, which looks through a cluster's millions of objects in vain."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

#: An answer, too, is made of many objects that stay: so many new ones before it is worthwhile to look for garbage.
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
