"""Progress on standard error, only if it is a terminal; and the messages of `-v` about each step."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from kwhatif.render.safe import safe

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import ProgressColumn, TaskID

    from kwhatif.sources.dumps.collected import Progress, ReadingStep


class Stages:
    """Prints, after every stage, its duration and the peak memory of the process; or prints nothing."""

    def __init__(self, *, verbose: bool) -> None:
        self.verbose = verbose
        self._started = self._last = time.perf_counter()

    def advance(self, step: ReadingStep) -> None:
        """Follow the reading."""
        if step.done and step.objects:
            size = f" in {mebibytes(step.size)}" if step.size else ""
            self.end(step.name, f"{step.objects:,} objects{size}")

    def end(self, name: str, what: str = "") -> None:
        """End a stage."""
        now = time.perf_counter()
        self._say(name, now - self._last, what)
        self._last = now

    def _say(self, name: str, seconds: float, what: str = "") -> None:
        if self.verbose:
            print(f"{safe(name):24} {seconds:7.2f} s {_peak():>10}  {what}".rstrip(), file=sys.stderr)  # noqa: T201

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end("answer")
        self._say("all", time.perf_counter() - self._started)


def _peak() -> str:
    """The peak memory of the process; "" if the system does not provide it (Windows)."""
    try:
        import resource
    except ImportError:
        return ""
    unit = 1 if sys.platform == "darwin" else 1024
    return mebibytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


def mebibytes(count: int) -> str:
    """Bytes in words, as files are measured."""
    return f"{count / 2**20:,.0f} MiB" if count >= 10 * 2**20 else f"{count / 2**20:.1f} MiB"


#: Seconds: a shorter task needs no bar.
PATIENCE = 0.5


@contextmanager
def reading_progress() -> Iterator[Progress | None]:
    """Shows the progress of reading, with a bar per list or file; None if output is not a terminal."""
    with _bars(_columns_of_reading) as bars:
        yield None if bars is None else lambda step: bars.show(step.name, **_fields(step))


#: A function that gets the progress instead of the terminal: what is counted, the number done, and the total.
LISTENER: ContextVar[Callable[[str, int, int], None] | None] = ContextVar("listener", default=None)


@contextmanager
def counting_progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Shows a bar with the number done and an estimate; None if output is not a terminal."""
    listener = LISTENER.get()
    if listener is not None:
        yield partial(listener, what)
        return
    with _bars(_columns_of_counting) as bars:
        yield None if bars is None else lambda done, total: bars.show(what, completed=done, total=total)


@contextmanager
def _bars(columns: Callable[[], Sequence[ProgressColumn]]) -> Iterator[_Bars | None]:
    if not sys.stderr.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        yield None
        return
    bars = _Bars(columns)
    try:
        yield bars
    finally:
        bars.remove()


class _Bars:
    """A bar for each name, shown only if it takes a while."""

    def __init__(self, columns: Callable[[], Sequence[ProgressColumn]]) -> None:
        self._columns = columns
        self._started = time.monotonic()
        self._latest: dict[str, dict[str, Any]] = {}
        self._bars: RichProgress | None = None
        self._tasks: dict[str, TaskID] = {}

    def show(self, name: str, **fields: Any) -> None:
        """Show the progress, if it takes a while."""
        self._latest[name] = fields
        if self._bars is not None:
            self._update(self._bars, name, fields)
        elif time.monotonic() - self._started >= PATIENCE:
            self._bars = _make_bars(self._columns())
            self._bars.start()
            for each, latest in self._latest.items():
                self._update(self._bars, each, latest)

    def remove(self) -> None:
        """Remove all bars."""
        if self._bars is not None:
            self._bars.stop()

    def _update(self, bars: RichProgress, name: str, fields: dict[str, Any]) -> None:
        if name in self._tasks:
            bars.update(self._tasks[name], **fields)
        else:
            self._tasks[name] = bars.add_task(safe(Path(name).name), **fields)


def _fields(step: ReadingStep) -> dict[str, Any]:
    completed, total = (step.read, step.size) if step.size else (step.objects, step.total)
    return {
        "completed": step.objects if step.done else completed,
        "total": step.objects if step.done else total,
        "objects": f"{step.objects:,} objects",
        "bytes": f"{mebibytes(step.read)} of {mebibytes(step.size)}" if step.size else "",
        "seconds": f"{step.seconds:.1f} s",
        # There are two dozen lists: the bars of short ones are removed once they are read.
        "visible": not step.done or step.objects > 0,
    }


def _make_bars(columns: Sequence[ProgressColumn]) -> RichProgress:
    from rich.console import Console
    from rich.progress import Progress as RichProgress

    return RichProgress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=4)


def _columns_of_reading() -> Sequence[ProgressColumn]:
    from rich.progress import BarColumn, TextColumn
    from rich.table import Column

    return (
        TextColumn("{task.description}", markup=False, table_column=Column(overflow="ellipsis", no_wrap=True)),
        BarColumn(bar_width=24),
        *(
            TextColumn(f"{{task.fields[{name}]}}", markup=False, justify="right")
            for name in ("objects", "bytes", "seconds")
        ),
    )


def _columns_of_counting() -> Sequence[ProgressColumn]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

    return (
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("left"),
    )
