"""What plugins of your own may do to the process: neither print into the answer, nor close it, nor take for ever."""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import NoReturn, TypeVar

T = TypeVar("T")

#: Seconds for one call: of one filter for one node, say. PostFilter has none: preemption runs within.
LIMIT = 10.0
#: A plugin that swallows the first exception gets another one so many seconds later.
_AGAIN = 1.0


class TookTooLong(BaseException):
    """A call takes longer than it may; no `except Exception` in a plugin stops it."""

    def __str__(self) -> str:
        """What the limit is."""
        return f"it took longer than {LIMIT:g} seconds"


class StdoutClosed(Exception):
    """Nothing more can be printed."""

    def __str__(self) -> str:
        """What happened."""
        return "it closed standard output"


def fenced(function: Callable[..., T], *arguments: object, timed: bool = True) -> T:
    """Call code that is not kwhatif's own: what it prints goes to standard error, and it must end in time.

    The time is limited in the main thread only, and where the system has interval timers: not on Windows.

    Raises:
        TookTooLong: it did not end.
        StdoutClosed: it closed standard output.
        BaseException: whatever the function raises.
    """
    before = sys.stdout
    sys.stdout = _ToStderr()
    try:
        if timed:
            with _limited():
                return function(*arguments)
        return function(*arguments)
    finally:
        sys.stdout = before
        if before is not None and before.closed:
            raise StdoutClosed


class _ToStderr(io.TextIOBase):
    """Stands in for standard output."""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()

    def close(self) -> None:
        """Others print there, too."""


@contextmanager
def _limited() -> Iterator[None]:
    can_be_timed = hasattr(signal, "setitimer") and current_thread() is main_thread()
    if not can_be_timed or signal.getitimer(signal.ITIMER_REAL)[0]:  # the timer is somebody else's, or an outer call's
        yield
        return
    before = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, LIMIT, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _stop(_number: int, _frame: object) -> NoReturn:
    raise TookTooLong
