"""`kwhatif queue`: who waits, in which order, for what."""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.api.options import PodSelection
from kwhatif.cli.autoscaling import Growth
from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.option_groups import reads_cluster
from kwhatif.cli.options import AllNamespaces, Output, OutputOption, PodsIn, Printing, fail_on, joined
from kwhatif.cli.run import Style, answer, parse_conditions

FailOn = Annotated[str, fail_on("unschedulable", "gated", "preemption", "budget-violation", "not-requeued")]


@reads_cluster
def queue(
    *,
    cluster: SchedulerSource,
    growth: Growth,
    pods: Annotated[
        list[str] | None,
        typer.Argument(metavar="[POD]...", help="NAMESPACE/NAME, or NAME. Without one: all pending pods."),
    ] = None,
    namespace: PodsIn = None,
    all_namespaces: AllNamespaces = False,
    selection: PodSelection,
    output: OutputOption = Output.TABLE,
    explain: Annotated[bool, typer.Option("--explain", help="Show for every pod what would wake it.")] = False,
    fail_on: FailOn = "none",
    printing: Printing,
) -> None:
    """Which pods are pending, in the order in which the scheduler takes them?

    What rejected each, and what becomes of it if it is tried now. Of pods that are named, what would wake them.

    \b
    Examples:
      kwhatif queue --from cluster.yaml
      kwhatif queue shop/checkout --from cluster.yaml
      kwhatif queue -n shop -l app=web --from cluster.yaml
      kwhatif queue --if "add 1 node like general-a1" --from cluster.yaml
    """
    import kwhatif

    namespace = None if all_namespaces else namespace
    conditions = parse_conditions(fail_on, strict=cluster.strict)
    answers = cluster.ask(
        lambda session, names: kwhatif.pending(session, *names, namespace=namespace, explain=explain, **selection),
        joined(pods),
        namespace=namespace,
        growth=growth,
    )
    answer(answers, Style(output.value, printing, explain), conditions)
