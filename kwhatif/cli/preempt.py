"""`kwhatif preempt`: every preemption candidate, ranked, with victims and budgets."""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.api.options import JudgingOptions, PodSelection, ReadingOptions
from kwhatif.cli.autoscaling import Growth
from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.option_groups import reads_cluster
from kwhatif.cli.options import (
    AllNamespaces,
    FailOn,
    Filenames,
    Namespace,
    Output,
    OutputOption,
    Printing,
    joined,
)
from kwhatif.cli.run import Style, answer, parse_conditions


@reads_cluster
def preempt(
    *,
    cluster: SchedulerSource,
    growth: Growth,
    manifests: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MANIFEST]...", help="Without one: all pending pods, in queue order."),
    ] = None,
    filename: Filenames = None,
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    selection: PodSelection,
    judging: JudgingOptions,
    reading: ReadingOptions,
    output: OutputOption = Output.TABLE,
    explain: Annotated[bool, typer.Option("--explain", help="Explain the decision step by step.")] = False,
    fail_on: FailOn = "unschedulable",
    printing: Printing,
) -> None:
    """Whom would these pods evict, where, and why there?

    Without a manifest, every pending pod of the cluster (with -n, of a namespace) in queue order.

    \b
    Examples:
      kwhatif preempt pod.yaml --from cluster.yaml
      kwhatif preempt --explain --from cluster.yaml
    """
    import kwhatif

    namespace = None if all_namespaces else namespace
    growth.refuse("--alone", judging["alone"])
    growth.refuse("--no-admission", not judging["admission"])
    conditions = parse_conditions(fail_on, strict=cluster.strict, aftermath=judging["aftermath"])
    pods = [*joined(manifests), *(filename or ())]
    if pods and any(selection.values()):
        raise typer.BadParameter("it chooses among pending pods: leave the manifests out", param_hint="--selector")

    answers = cluster.ask(
        lambda session, names: kwhatif.preempt(
            session,
            *names,
            namespace=namespace,
            described=None if explain else output.described,
            **selection,
            **judging,
            **reading,
        ),
        pods,
        namespace=namespace,
        growth=growth,
    )
    answer(answers, Style(output.value, printing, explain), conditions)
