"""One deadline for a whole exchange: no timeout of a socket ends headers, or an answer, that trickle in without end."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float | None, do: Callable[[], T]) -> T:
    """What `do` returns; None as seconds: however long it takes.

    It runs on a thread of its own, which is left alone when the time is up: it must not hold what others need.

    Raises:
        TimeoutError: it takes longer.
    """
    if seconds is None:
        return do()
    outcome: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            outcome.put((do(), None))
        except BaseException as failure:  # noqa: BLE001 - it is raised again on the thread that waits
            outcome.put((None, failure))

    threading.Thread(target=run, daemon=True).start()
    try:
        found, failure = outcome.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError from None
    if failure is not None:
        raise failure
    return found  # type: ignore[return-value] # there is a value where there is no failure
