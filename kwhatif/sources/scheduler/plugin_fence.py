"""What plugins of your own must not do to the process: print into the answer, close it, end it, run for ever."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from threading import RLock, current_thread, main_thread
from typing import Any, NoReturn, TextIO, TypeVar

from kwhatif.errors import ExitCode

T = TypeVar("T")

#: Seconds for one call: of one filter for one node, say. PostFilter has none: preemption runs within.
LIMIT = 10.0
#: A plugin that swallows the first exception gets another one so many seconds later.
_AGAIN = 1.0
#: One that swallows so many is ended together with the process, if that is kwhatif's own.
_PATIENCE = 5
_STDOUT, _STDERR = 1, 2
_STREAMS = {_STDOUT: "output", _STDERR: "error"}
#: What would end the process, or put another program in its place, without a word; the other `exec*` call these.
_ENDINGS = ("_exit", "execv", "execve")


class TookTooLong(BaseException):
    """A call takes longer than it may; no `except Exception` in a plugin stops it."""

    def __str__(self) -> str:
        """What the limit is."""
        return f"it took longer than {LIMIT:g} seconds"


class StreamClosed(Exception):
    """Nothing more could be printed there."""

    def __str__(self) -> str:
        """What happened."""
        return f"it closed standard {self.args[0]}"


class EndsProcess(BaseException):
    """A call would have ended the process, with whatever exit code."""

    def __str__(self) -> str:
        """What was called."""
        return f"it called os.{self.args[0]}"


def fenced(function: Callable[..., T], *arguments: object, timed: bool = True) -> T:
    """Call code that is not kwhatif's own: what it prints goes to standard error, and it must end in time.

    That holds for file descriptor 1, too. `os._exit` and `os.exec*` raise. The time is limited in the main thread only,
    and where the system has interval timers: not on Windows.

    Raises:
        TookTooLong: it did not end.
        StreamClosed: it closed standard output or standard error. They are open again.
        EndsProcess: it called `os._exit` or one of `os.exec*`.
        BaseException: whatever the function raises.
    """
    with _FENCE.around(), _limited(function) if timed else ExitStack():
        return function(*arguments)


def fence_for_good() -> None:
    """From now on file descriptor 1 is standard error, and nothing but `sys.exit` ends the process.

    For a program that prints by `sys.stdout`: a plugin's threads, its child processes and what it registers with
    `atexit` do not end with the call. Without effect where `sys.stdout` is not the process's own.
    """
    old = sys.stdout
    is_own = isinstance(old, io.TextIOWrapper) and old is sys.__stdout__ and _number(old) == _STDOUT
    if _FENCE.is_for_good or not isinstance(old, io.TextIOWrapper) or not is_own or not _is_open(_STDERR):
        return
    old.flush()
    new = io.TextIOWrapper(
        open(os.dup(_STDOUT), "wb"),  # noqa: PTH123, SIM115 - as long as the process lives
        encoding=old.encoding,
        errors=old.errors,
        line_buffering=old.line_buffering,
    )
    sys.stdout = sys.__stdout__ = new  # type: ignore[misc] # the same stream, by another number
    os.dup2(_STDERR, _STDOUT)
    _FENCE.stay(old)


class _Fence:
    """The process while plugins run; calls may be nested, and in several threads."""

    def __init__(self) -> None:
        self.is_for_good = False
        self._kept: object = None
        self._lock = RLock()
        self._depth = 0
        self._undo = ExitStack()
        #: Descriptors that were open when the outermost call began -> copies of them.
        self._copies: dict[int, int] = {}

    def stay(self, stream: object) -> None:
        """Never come down again; the stream must not be collected, which would close its descriptor."""
        self._kept = stream
        self._copies = {number: os.dup(_STDERR) for number in _STREAMS}
        for name in _ENDINGS:
            setattr(os, name, _refusing(name))
        self.is_for_good = True

    @contextmanager
    def around(self) -> Iterator[None]:
        """While a plugin runs."""
        pid, stdout = os.getpid(), sys.stdout
        with self._lock:
            self._depth += 1
            if self._depth == 1:
                self._put_up()
        try:
            yield
        finally:
            if os.getpid() != pid:  # a child that the plugin has forked: one kwhatif is enough
                _REAL["_exit"](1)
            with self._lock:
                closed = [number for number in self._copies if not _is_open(number)]
                for number in closed:
                    with suppress(OSError):  # the copies are closed, too
                        os.dup2(self._copies.get(_STDERR, self._copies[number]), number)
                self._depth -= 1
                if not self._depth:
                    self._undo.close()
            if closed or (stdout is not None and stdout.closed):
                raise StreamClosed(_STREAMS[closed[0] if closed else _STDOUT])

    def _put_up(self) -> None:
        stand_in = _ToStderr(sys.stderr)
        for name in ("stdout", "__stdout__", "stderr", "__stderr__"):
            self._replace(sys, name, stand_in)
        if self.is_for_good:
            return
        for name in _ENDINGS:
            self._replace(os, name, _refusing(name))
        self._copies = {number: os.dup(number) for number in _STREAMS if _is_open(number)}
        for number, copy in self._copies.items():
            self._undo.callback(_put_back, copy, number)
        if len(self._copies) == len(_STREAMS):
            os.dup2(_STDERR, _STDOUT)

    def _replace(self, module: object, name: str, value: object) -> None:
        self._undo.callback(setattr, module, name, getattr(module, name))
        setattr(module, name, value)


def _put_back(kept: int, number: int) -> None:
    with suppress(OSError):  # it has closed all that there is
        os.dup2(kept, number)
        os.close(kept)


def _number(stream: io.TextIOWrapper) -> int | None:
    try:
        return stream.fileno()
    except (OSError, ValueError):
        return None


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


_REAL: dict[str, Callable[..., Any]] = {name: getattr(os, name) for name in _ENDINGS}
_FENCE = _Fence()


def _refusing(name: str) -> Callable[..., object]:
    pid = os.getpid()

    def refuse(*arguments: object, **named: object) -> object:
        if os.getpid() != pid:  # in a child process that is how it is done
            return _REAL[name](*arguments, **named)
        raise EndsProcess(name)

    return refuse


class _ToStderr(io.TextIOBase):
    """Stands in for standard output and standard error."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        return self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def close(self) -> None:
        """Others print there, too."""


@contextmanager
def _limited(function: Callable[..., object]) -> Iterator[None]:
    can_be_timed = hasattr(signal, "setitimer") and current_thread() is main_thread()
    if not can_be_timed or signal.getitimer(signal.ITIMER_REAL)[0]:  # the timer is somebody else's, or an outer call's
        yield
        return
    alarms = count(1)

    def stop(_number: int, _frame: object) -> NoReturn:
        if next(alarms) > _PATIENCE and _FENCE.is_for_good:
            name = f"{getattr(function, '__qualname__', 'a call')} of {getattr(function, '__module__', 'a plugin')}"
            said = f"error: {name}: {TookTooLong()}, and it swallows the exception that would end it\n"
            os.write(_STDERR, said.encode("utf-8", "backslashreplace"))
            _REAL["_exit"](ExitCode.BAD_INPUT)
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, LIMIT, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
