"""Questions about pods: `kwhatif schedule`, `preempt`, `queue` and `advise`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from kwhatif.api.options import JudgingOptions, PodSelection, ReadingOptions
from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.cluster_options import Growth
from kwhatif.cli.options import (
    AllNamespaces,
    FailOn,
    Filenames,
    Manifests,
    Namespace,
    OutputOption,
    PodsIn,
    Printing,
    described,
    fail_on,
    joined,
    named,
)
from kwhatif.cli.run import Style, answer, parse_conditions, print_data


def schedule(
    *,
    cluster: SchedulerSource,
    growth: Growth,
    manifests: Manifests = None,
    filename: Filenames = None,
    namespace: Namespace = None,
    judging: JudgingOptions,
    reading: ReadingOptions,
    output: OutputOption = "table",
    fail_on: FailOn = "unschedulable",
    printing: Printing,
) -> None:
    """If this is applied, where do its pods land? If they fit nowhere: which pods do they evict?

    \b
    Examples:
      kwhatif schedule deployment.yaml --from cluster.yaml
      kwhatif schedule pod/shop/web-0 --from cluster.yaml
      kubectl get no,po,pdb,pc -A -o json | kwhatif schedule pod.yaml --from -
      kwhatif schedule pod.yaml --from cluster.yaml -o wide
    """
    import kwhatif

    growth.refuse("--alone", judging["alone"])
    growth.refuse("--no-admission", not judging["admission"])
    conditions = parse_conditions(fail_on, strict=cluster.strict, aftermath=judging["aftermath"])
    pods = named(manifests, filename)

    answers = cluster.ask(
        lambda session, names: kwhatif.schedule(
            session,
            *names,
            namespace=namespace,
            described=described(output),
            **judging,
            **reading,
        ),
        pods,
        namespace=namespace,
        growth=growth,
    )
    answer(answers, Style(output, printing), conditions)


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
    output: OutputOption = "table",
    explain: Annotated[bool, typer.Option("--explain", help="Explain the decision step by step.")] = False,
    fail_on: FailOn = "unschedulable",
    printing: Printing,
) -> None:
    """Which pods would these pods evict, where, and why there?

    Without a manifest, it asks about every pending pod of the cluster (with -n, of a namespace), in queue order.

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
            described=None if explain else described(output),
            **selection,
            **judging,
            **reading,
        ),
        pods,
        namespace=namespace,
        growth=growth,
    )
    answer(answers, Style(output, printing, explain), conditions)


QueueFailOn = Annotated[str, fail_on("unschedulable", "gated", "preemption", "budget-violation", "not-requeued")]


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
    output: OutputOption = "table",
    explain: Annotated[bool, typer.Option("--explain", help="Show for every pod what would wake it.")] = False,
    fail_on: QueueFailOn = "none",
    printing: Printing,
) -> None:
    """Which pods are pending, in the order in which the scheduler takes them?

    It shows what rejected each pod, and its outcome if it is tried now; for named pods also what would wake them.

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
    answer(answers, Style(output, printing, explain), conditions)


ForOption = Annotated[
    Literal["gate"] | None,
    typer.Option(
        "--for",
        metavar="gate",
        help="Print only the smallest fix for each failing workload, in the Markdown of the gate.",
    ),
]
Most = Annotated[int, typer.Option("--most", metavar="N", min=1, help="The most pieces of advice for each workload.")]
Workloads = Annotated[
    int, typer.Option("--workloads", metavar="N", min=1, help="The number of failing workloads that get advice.")
]


def advise(
    *,
    cluster: SchedulerSource,
    growth: Growth,
    manifests: Manifests = None,
    filename: Filenames = None,
    namespace: Namespace = None,
    most: Most = 6,
    workloads: Workloads = 10,
    for_: ForOption = None,
    reading: ReadingOptions,
    output: OutputOption = "table",
    fail_on: FailOn = "unschedulable",
    printing: Printing,
) -> None:
    """What are the smallest changes after which this fits, in the manifest, in the cluster, or by waiting?

    Each change was tried: the question was asked again with it.

    \b
    Examples:
      kwhatif advise deployment.yaml --from cluster.yaml
      kwhatif advise pod/shop/checkout --from cluster.yaml
    """
    import kwhatif

    conditions = parse_conditions(fail_on, strict=cluster.strict)
    pods = named(manifests, filename)
    if for_ is not None and output != "table":
        raise typer.BadParameter(f"it is Markdown: leave out -o {output}", param_hint="--for")

    answers = cluster.ask(
        lambda session, names: kwhatif.advise(
            session,
            *names,
            most=most,
            workloads=workloads,
            namespace=namespace,
            **reading,
        ),
        pods,
        namespace=namespace,
        growth=growth,
    )
    if for_ is not None:
        from kwhatif.render.markdown import fixes_to_markdown

        print_data(fixes_to_markdown(answers.report), "markdown")
        return
    answer(answers, Style(output, printing), conditions)
