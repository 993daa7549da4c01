"""`kwhatif outage`: what if this node, or this zone, fails?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.api.options import OutageArguments
from kwhatif.cli.autoscaling import Growth
from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.drain import Nodes
from kwhatif.cli.option_groups import reads_cluster
from kwhatif.cli.options import Explain, Printing, SweepOutput, SweepOutputOption, check_output, fail_on
from kwhatif.cli.progress import counting_progress
from kwhatif.cli.run import Style, answer, parse_conditions

if TYPE_CHECKING:
    from kwhatif.questions.session.session import Session
    from kwhatif.report import Report

FailOn = Annotated[str, fail_on("harm", "pending", "cycling")]


@reads_cluster
def outage(
    *,
    cluster: SchedulerSource,
    growth: Growth,
    nodes: Nodes = None,
    each: Annotated[
        str, typer.Option("--each", metavar="KEY", help="For each value of this label, the nodes that have it, alone.")
    ] = "",
    options: OutageArguments,
    output: SweepOutputOption = SweepOutput.TABLE,
    explain: Explain = False,
    fail_on: FailOn = "harm",
    printing: Printing,
) -> None:
    """What is lost if these nodes fail at once? What comes back, where and when, and what does not?

    \b
    Examples:
      kwhatif outage general-a1 --from cluster.yaml
      kwhatif outage --each topology.kubernetes.io/zone --from cluster.yaml
      kwhatif outage topology.kubernetes.io/zone=eu-west-1a --from cluster.yaml
    """
    import kwhatif

    check_output(output, each=bool(each))
    if [bool(nodes), bool(options["selector"]), bool(each)].count(True) != 1:
        raise typer.BadParameter("name nodes, or their labels with -l, or a label with --each", param_hint="NODE")
    conditions = parse_conditions(fail_on, strict=cluster.strict)

    def ask(session: Session, _: Sequence[str]) -> Report:
        with counting_progress("scenarios") as advance:
            names = nodes or ()
            return kwhatif.outage(session, *names, each=each, progress=advance, **options)

    answer(cluster.ask(ask, growth=growth), Style(output.value, printing, explain), conditions)
