"""`kwhatif upgrade`: what would the scheduler of another release decide differently?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.cluster_options import complete_version
from kwhatif.cli.option_groups import reads_cluster
from kwhatif.cli.options import Output, OutputOption, Printing, fail_on
from kwhatif.cli.progress import counting_progress
from kwhatif.cli.run import Style, answer, parse_conditions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwhatif.questions.session.session import Session
    from kwhatif.report import Report

To = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="VERSION",
        help="The release to upgrade to, such as 1.37.",
        autocompletion=complete_version,
        show_default=False,
    ),
]


FailOn = Annotated[
    str, fail_on("worse", "changed", "unschedulable", "denied", "gated", "preemption", "budget-violation")
]


@reads_cluster
def upgrade(
    *,
    cluster: SchedulerSource,
    to: To,
    output: OutputOption = Output.TABLE,
    fail_on: FailOn = "worse",
    printing: Printing,
) -> None:
    """What would the scheduler of another release decide differently?

    Compares pending pods, and where each workload's pods would land if they were restarted.

    \b
    Examples:
      kwhatif upgrade --to 1.37 --from cluster.yaml
      kwhatif upgrade --to 1.36 --kubernetes-version 1.34 --from cluster.yaml
      kwhatif upgrade --to 1.37 --fail-on changed
    """
    import kwhatif
    from kwhatif.sources.scheduler.release import known_version

    try:
        known_version(to)
    except ValueError as wrong:
        raise typer.BadParameter(str(wrong), param_hint="--to") from wrong
    conditions = parse_conditions(fail_on, strict=cluster.strict)
    if cluster.compare:
        raise typer.BadParameter(
            "it compares two releases already: run this without and with the edits", param_hint="--compare"
        )

    def ask(session: Session, names: Sequence[str]) -> Report:
        del names
        with counting_progress("workloads") as advance:
            return kwhatif.upgrade(session, to=to, progress=advance)

    answer(cluster.ask(ask), Style(output.value, printing), conditions)
