"""Progress on standard error: on a terminal, and nowhere else."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwhatif.cli.stages import mebibytes
from kwhatif.render.safe import safe

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from kwhatif.sources.dumps.progress import Progress, ReadingStep

#: What takes less, in seconds, needs no bar.
PATIENCE = 0.5


@contextmanager
def progress() -> Iterator[Progress | None]:
    """Who hears how far the reading is; None where nobody watches."""
    if not sys.stderr.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        yield None
        return
    bars = _Bars()
    try:
        yield bars.advance
    finally:
        bars.remove()


class _Bars:
    """One bar per list or file, shown when it is clear that there is something to wait for."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._latest: dict[str, ReadingStep] = {}
        self._bars: RichProgress | None = None
        self._tasks: dict[str, TaskID] = {}

    def advance(self, step: ReadingStep) -> None:
        """Show how far it is."""
        self._latest[step.name] = step
        if self._bars is not None:
            self._show(self._bars, step)
        elif time.monotonic() - self._started >= PATIENCE:
            self._bars = _make_bars()
            self._bars.start()
            for each in self._latest.values():
                self._show(self._bars, each)

    def remove(self) -> None:
        """Leave nothing behind."""
        if self._bars is not None:
            self._bars.stop()

    def _show(self, bars: RichProgress, step: ReadingStep) -> None:
        completed, total = (step.read, step.size) if step.size else (step.objects, step.total)
        fields: dict[str, Any] = {
            "completed": step.objects if step.done else completed,
            "total": step.objects if step.done else total,
            "objects": f"{step.objects:,} objects",
            "bytes": f"{mebibytes(step.read)} of {mebibytes(step.size)}" if step.size else "",
            "seconds": f"{step.seconds:.1f} s",
            # Two dozen lists are short: what is done and was quick makes room.
            "visible": not step.done or step.objects > 0,
        }
        if step.name in self._tasks:
            bars.update(self._tasks[step.name], **fields)
        else:
            self._tasks[step.name] = bars.add_task(safe(Path(step.name).name), **fields)


def _make_bars() -> RichProgress:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as RichProgress
    from rich.table import Column

    return RichProgress(
        TextColumn("{task.description}", markup=False, table_column=Column(overflow="ellipsis", no_wrap=True)),
        BarColumn(bar_width=24),
        *(
            TextColumn(f"{{task.fields[{name}]}}", markup=False, justify="right")
            for name in ("objects", "bytes", "seconds")
        ),
        console=Console(stderr=True),
        transient=True,
        refresh_per_second=4,
    )
