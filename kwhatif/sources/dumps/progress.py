"""The progress of reading a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple


class ReadingStep(NamedTuple):
    """How far a list of a live cluster is, a file of a dump, or what is made of them."""

    name: str
    objects: int
    #: Since the reading began.
    seconds: float
    #: The number of objects in total; None: not known.
    total: int | None
    done: bool
    #: Bytes of a file, inflated: those that were read, and all.
    read: int = 0
    size: int = 0


Progress = Callable[[ReadingStep], None]


class ProgressReporter:
    """Reports progress to a watcher, if there is one."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._started = time.monotonic()

    def report(
        self, name: str, objects: int, total: int | None = None, *, done: bool = False, read: int = 0, size: int = 0
    ) -> None:
        """How far something is."""
        if self._progress is not None:
            seconds = time.monotonic() - self._started
            self._progress(ReadingStep(name, objects, seconds, total, done, read, size))
