"""`kwhatif capacity`: how many more of these pods fit, where, and what stops the next one?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.api.options import ReadingOptions
from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.cluster_options import Growth
from kwhatif.cli.options import (
    Filenames,
    Namespace,
    OutputOption,
    Printing,
    complete_node,
    complete_object,
    fail_on,
    joined,
)
from kwhatif.cli.run import Style, answer, parse_conditions

Counted = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[MANIFEST]...",
        help="What to count: files, or workloads of the cluster as in like deploy/NAMESPACE/NAME."
        " With several, a set has one pod of each; 2*FILE: two. Default: the most common kinds of pods.",
        autocompletion=complete_object,
    ),
]
Max = Annotated[
    int | None,
    typer.Option(
        "--max",
        metavar="N",
        min=1,
        max=100_000,
        help="Count at most N. Default: 10000; with --autoscaler 1000; without MANIFEST, 1000 of each kind.",
    ),
]
Target = Annotated[
    int | None,
    typer.Option(
        "--target", metavar="N", min=1, max=100_000, help="Check whether N more fit. The exit code is the answer."
    ),
]
WithPreemption = Annotated[
    bool, typer.Option("--with-preemption", help="Also count pods that fit by evicting others, and say which.")
]
AddNodesLike = Annotated[
    str | None,
    typer.Option(
        "--add-nodes-like",
        metavar="NODE",
        help="Find how many nodes like this one it takes to reach the target (10,000 at most).",
        autocompletion=complete_node,
    ),
]
Peak = Annotated[
    bool,
    typer.Option(
        "--peak",
        help="Count at the peak: first scale each workload to the maximum of its HorizontalPodAutoscaler.",
    ),
]
FailOn = Annotated[
    str,
    fail_on("target", "peak", "preemption", "budget-violation", besides=" Without --target, target is one pod."),
]


def _named(manifests: list[str] | None, filenames: list[str] | None) -> list[str]:
    """The inputs to count; the word `like` before a name has no effect."""
    given = list(manifests or ())
    words = [
        word for place, word in enumerate(given) if word != "like" or "/" not in "".join(given[place + 1 : place + 2])
    ]
    return [*joined(words), *(filenames or ())]


def capacity(
    *,
    cluster: SchedulerSource,
    manifests: Counted = None,
    filename: Filenames = None,
    namespace: Namespace = None,
    target: Target = None,
    with_preemption: WithPreemption = False,
    add_nodes_like: AddNodesLike = None,
    max_: Max = None,
    peak: Peak = False,
    reading: ReadingOptions,
    growth: Growth,
    output: OutputOption = "table",
    fail_on: FailOn = "target,peak",
    printing: Printing,
) -> None:
    """How many more of these pods fit, where do they go, and what stops the next one?

    \b
    Examples:
      kwhatif capacity pod.yaml --from cluster.yaml
      kwhatif capacity like deploy/shop/web --target 50 --from cluster.yaml
      kwhatif capacity '2*web.yaml' cache.yaml --with-preemption --from cluster.yaml
      kwhatif capacity web.yaml --autoscaler auto --node-groups groups.yaml --from cluster.yaml
      kwhatif capacity web.yaml --target 500 --add-nodes-like general-a1 --from cluster.yaml
      kwhatif capacity --from cluster.yaml
      kwhatif capacity --peak --requests usage.txt --from cluster.yaml
    """
    import kwhatif
    from kwhatif.api.capacity import MOST_WITH_NODES

    conditions = parse_conditions(fail_on, strict=cluster.strict)
    given = _named(manifests, filename)
    if add_nodes_like is not None and target is None:
        raise typer.BadParameter("say with --target how many pods are to fit", param_hint="--add-nodes-like")
    if add_nodes_like is not None and (target or 0) > MOST_WITH_NODES:
        raise typer.BadParameter(
            f"with --add-nodes-like at most {MOST_WITH_NODES:,}; --if 'add N nodes like NODE' asks about N nodes",
            param_hint="--target",
        )
    if target is not None and max_ is not None:
        raise typer.BadParameter("nothing beyond the target is counted: leave one of them out", param_hint="--max")
    growth.refuse("--with-preemption", with_preemption)
    growth.refuse("--add-nodes-like", add_nodes_like)
    growth.refuse("--peak", peak)
    if not given and (target is not None or with_preemption or growth.is_asked):
        raise typer.BadParameter(
            "name what to count: a file, or a workload as deploy/NAMESPACE/NAME", param_hint="MANIFEST"
        )

    answer(
        cluster.ask(
            lambda session, names: kwhatif.capacity(
                session,
                *names,
                limit=max_,
                target=target,
                with_preemption=with_preemption,
                add_nodes_like=add_nodes_like,
                peak=peak,
                namespace=namespace,
                **reading,
            ),
            given,
            namespace=namespace,
            growth=growth,
        ),
        Style(output, printing),
        conditions,
    )
