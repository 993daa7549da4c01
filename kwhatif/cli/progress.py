"""Progress on standard error: on a terminal, and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwhatif.sources.live import Progress, Step


@contextmanager
def progress() -> Iterator[Progress | None]:
    """Whom to tell how far the lists are; None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    bars = Bars(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:>7,.0f} objects"),
        TextColumn("{task.fields[seconds]:5.1f} s"),
        console=Console(stderr=True),
        transient=True,
    )
    tasks = {}

    def tell(step: Step) -> None:
        if step.kind not in tasks:
            tasks[step.kind] = bars.add_task(step.kind, seconds=0.0)
        total = step.objects if step.done else step.total
        bars.update(tasks[step.kind], completed=step.objects, total=total, seconds=step.seconds)
        # Two dozen lists are short: what is done and was quick makes room.
        bars.update(tasks[step.kind], visible=not step.done or step.objects > 0)

    with bars:
        yield tell
