"""`kwhatif drain`: can this node go?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.api.options import DrainArguments
from kwhatif.cli.autoscaling import Growth
from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.names import complete_node
from kwhatif.cli.option_groups import reads_cluster
from kwhatif.cli.options import Explain, Printing, SweepOutput, SweepOutputOption, check_output, fail_on
from kwhatif.cli.progress import counting_progress
from kwhatif.cli.run import Style, answer, parse_conditions

if TYPE_CHECKING:
    from kwhatif.questions.session.session import Session
    from kwhatif.report import Report

Nodes = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NODE]...", help="A name, a glob, or labels as in -l.", autocompletion=complete_node),
]
FailOn = Annotated[str, fail_on("harm", "pending", "stalled", "cycling", "failed")]


@reads_cluster
def drain(
    *,
    cluster: SchedulerSource,
    growth: Growth,
    nodes: Nodes = None,
    each: Annotated[bool, typer.Option("--each", help="Each of the nodes alone: which can be drained?")] = False,
    options: DrainArguments,
    output: SweepOutputOption = SweepOutput.TABLE,
    explain: Explain = False,
    fail_on: FailOn = "harm",
    printing: Printing,
) -> None:
    """Can these nodes be drained? In which waves, what blocks, and where do the pods land?

    What `kubectl drain` would do, with its flags and its refusals. Nothing is drained.

    \b
    Examples:
      kwhatif drain general-a1 --ignore-daemonsets --from cluster.yaml
      kwhatif drain --each pool=general --ignore-daemonsets --from cluster.yaml
      kwhatif drain -l pool=general --ignore-daemonsets --delete-emptydir-data --timeout 10m
    """
    import kwhatif

    check_output(output, each=bool(each))
    if nodes and options["selector"]:
        raise typer.BadParameter("cannot specify both a node name and a --selector option", param_hint="NODE")
    if not nodes and not options["selector"]:
        raise typer.BadParameter("name a node, or its labels with -l", param_hint="NODE")
    conditions = parse_conditions(fail_on, strict=cluster.strict)

    def ask(session: Session, _: Sequence[str]) -> Report:
        with counting_progress("scenarios") as advance:
            names = nodes or ()
            return kwhatif.drain(session, *names, each=each, progress=advance, **options)

    answer(cluster.ask(ask, growth=growth), Style(output.value, printing, explain), conditions)
