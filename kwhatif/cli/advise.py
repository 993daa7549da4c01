"""`kwhatif advise`: the smallest changes that make a pod schedulable."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from kwhatif.api.options import ReadingOptions
from kwhatif.cli.autoscaling import Growth
from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.option_groups import reads_cluster
from kwhatif.cli.options import FailOn, Filenames, Manifests, Namespace, Output, OutputOption, Printing, named
from kwhatif.cli.run import Style, answer, parse_conditions, print_data


class For(Enum):
    """Formats of advice for other programs."""

    GATE = "gate"


ForOption = Annotated[
    For | None,
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


@reads_cluster
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
    output: OutputOption = Output.TABLE,
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
    if for_ is not None and output is not Output.TABLE:
        raise typer.BadParameter(f"it is Markdown: leave out -o {output.value}", param_hint="--for")

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
    answer(answers, Style(output.value, printing), conditions)
