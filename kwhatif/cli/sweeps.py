"""What the commands with `--each` have in common: who plays the scenarios, and how far they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.cli.options import one_of
from kwhatif.cli.progress import counting_progress

if TYPE_CHECKING:
    from kwhatif.api.maintenance import MaintenanceOptions
    from kwhatif.cli.cluster import SchedulerSource
    from kwhatif.cli.run import Answers
    from kwhatif.cli.simulate import TimesOptions
    from kwhatif.questions.session.session import Session
    from kwhatif.report import Report


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
            with counting_progress("scenarios") as advance:
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
