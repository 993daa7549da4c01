"""Questions about maintenance: `kwhatif drain`, `outage` and `upgrade`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.api.options import DrainArguments, OutageArguments
from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.cluster_options import Growth, complete_version
from kwhatif.cli.options import (
    Explain,
    OutputOption,
    Printing,
    SweepOutputOption,
    check_output,
    complete_node,
    fail_on,
)
from kwhatif.cli.progress import counting_progress
from kwhatif.cli.run import Style, answer, parse_conditions

if TYPE_CHECKING:
    from kwhatif.questions.session.session import Session
    from kwhatif.report import Report

Nodes = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NODE]...", help="A name, a glob, or labels as in -l.", autocompletion=complete_node),
]
DrainFailOn = Annotated[str, fail_on("harm", "pending", "stalled", "cycling", "failed")]


def drain(
    *,
    cluster: SchedulerSource,
    growth: Growth,
    nodes: Nodes = None,
    each: Annotated[bool, typer.Option("--each", help="Drain each of the nodes alone: which can be drained?")] = False,
    options: DrainArguments,
    output: SweepOutputOption = "table",
    explain: Explain = False,
    fail_on: DrainFailOn = "harm",
    printing: Printing,
) -> None:
    """Can these nodes be drained? In which waves, what blocks the drain, and where do the pods land?

    The answer is what `kubectl drain` would do, with its flags and its errors. Nothing is drained.

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

    answer(cluster.ask(ask, growth=growth), Style(output, printing, explain), conditions)


OutageFailOn = Annotated[str, fail_on("harm", "pending", "cycling")]


def outage(
    *,
    cluster: SchedulerSource,
    growth: Growth,
    nodes: Nodes = None,
    each: Annotated[
        str,
        typer.Option("--each", metavar="KEY", help="For each value of this label, let all nodes with this value fail."),
    ] = "",
    options: OutageArguments,
    output: SweepOutputOption = "table",
    explain: Explain = False,
    fail_on: OutageFailOn = "harm",
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

    answer(cluster.ask(ask, growth=growth), Style(output, printing, explain), conditions)


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


UpgradeFailOn = Annotated[
    str, fail_on("worse", "changed", "unschedulable", "denied", "gated", "preemption", "budget-violation")
]


def upgrade(
    *,
    cluster: SchedulerSource,
    to: To,
    output: OutputOption = "table",
    fail_on: UpgradeFailOn = "worse",
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

    answer(cluster.ask(ask), Style(output, printing), conditions)
