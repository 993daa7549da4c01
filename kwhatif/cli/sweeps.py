"""What the commands with `--each` have in common: who plays the scenarios, and how far they are."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.cli.options import one_of
from kwhatif.cli.progress import PATIENCE

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from kwhatif.api.maintenance import MaintenanceOptions
    from kwhatif.cli.cluster import Answers, SchedulerSource
    from kwhatif.cli.simulate import TimesOptions
    from kwhatif.report import Report
    from kwhatif.whatif.loaded.session import Session


class SweepOutput(Enum):
    """Formats of an answer about nodes; `junit` only of many scenarios."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    JUNIT = "junit"
    MARKDOWN = "markdown"


_PANEL = "Many scenarios (with --each)"
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", metavar="N", min=0, help="So many processes; 0: as is best here.", rich_help_panel=_PANEL
    ),
]
Dask = Annotated[
    str,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="On the Dask cluster of this scheduler (needs kwhatif[dask]).",
        rich_help_panel=_PANEL,
    ),
]
Resume = Annotated[
    str,
    typer.Option(
        "--resume",
        metavar="FILE",
        help="Keep what is found in this file, and go on where it ends.",
        rich_help_panel=_PANEL,
    ),
]


@dataclass(frozen=True)
class Sweep:
    """Who plays the scenarios."""

    jobs: Jobs = 0
    dask: Dask = ""
    resume: Resume = ""

    def ask(
        self, cluster: SchedulerSource, times: TimesOptions, question: Callable[[Session, MaintenanceOptions], Report]
    ) -> Answers:
        """Read the cluster, and ask the library's question with these arguments; a bar shows how far it is."""

        def ask(session: Session, _: Sequence[str]) -> Report:
            with sweep_progress() as advance:
                who: MaintenanceOptions = {
                    "jobs": self.jobs,
                    "dask": self.dask,
                    "resume": self.resume,
                    "progress": advance,
                }
                return question(session, {**times.arguments, **who})

        return cluster.ask(ask)


SweepOutputOption = Annotated[
    SweepOutput,
    typer.Option(
        "--output", "-o", metavar="FORMAT", help=f"How to print the answer: {one_of(SweepOutput)} (with --each)."
    ),
]


def check_output(output: SweepOutput, *, each: bool) -> None:
    """A test for each scenario: so there have to be some.

    Raises:
        BadParameter: there are none.
    """
    if output is SweepOutput.JUNIT and not each:
        raise typer.BadParameter("a test case is a scenario: give --each, too", param_hint="--output")


@contextmanager
def sweep_progress(what: str = "scenarios") -> Iterator[Callable[[int, int], None] | None]:
    """Whom to show how many of them are done: a bar with an estimate on a terminal; None where nobody watches."""
    if not sys.stderr.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        yield None
        return
    bar = _Bar(what)
    try:
        yield bar.advance
    finally:
        bar.remove()


class _Bar:
    """Shown when it is clear that there is something to wait for."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._started = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def advance(self, done: int, total: int) -> None:
        """So many are done."""
        if self._bar is None or self._task is None:
            if time.monotonic() - self._started < PATIENCE:
                return
            self._bar = _make_bar()
            self._task = self._bar.add_task(self._what, total=total, completed=done)
            self._bar.start()
        self._bar.update(self._task, completed=done)

    def remove(self) -> None:
        """Leave nothing behind."""
        if self._bar is not None:
            self._bar.stop()


def _make_bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("left"),
        console=Console(stderr=True),
        transient=True,
        refresh_per_second=4,
    )
