"""`kwhatif capacity`: how many more of these pods fit, where, and what stops the next one?"""

from __future__ import annotations

from typing import Annotated

import typer

import kwhatif
from kwhatif.api.options import Option, OptionError, ReadingOptions
from kwhatif.api.refusals import check_capacity
from kwhatif.cli.cluster_options import Growth
from kwhatif.cli.options import Filenames, Namespace, complete_node, complete_object, fail_on, joined
from kwhatif.cli.question import Ask, question


def _named(manifests: list[str] | None, filenames: list[str] | None) -> list[str]:
    """The inputs to count; the word `like` before a name has no effect."""
    given = list(manifests or ())
    words = [
        word for place, word in enumerate(given) if word != "like" or "/" not in "".join(given[place + 1 : place + 2])
    ]
    return [*joined(words), *(filenames or ())]


@question(
    fail_on("target", "peak", "preemption", "budget-violation", besides=" Without --target, target is one pod."),
    "target,peak",
    grows=True,
)
def capacity(
    *,
    growth: Growth,
    manifests: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MANIFEST]...",
            help="What to count: files, or workloads of the cluster as in like deploy/NAMESPACE/NAME."
            " With several, a set has one pod of each; 2*FILE: two. Default: the most common kinds of pods.",
            autocompletion=complete_object,
        ),
    ] = None,
    filename: Filenames = None,
    namespace: Namespace = None,
    target: Annotated[
        int | None, Option("Check whether N more fit. The exit code is the answer.", metavar="N", min=1, max=100_000)
    ] = None,
    with_preemption: Annotated[bool, Option("Also count pods that fit by evicting others, and say which.")] = False,
    add_nodes_like: Annotated[
        str | None,
        Option(
            "Find how many nodes like this one it takes to reach the target (10,000 at most).",
            metavar="NODE",
            complete=complete_node,
        ),
    ] = None,
    max_: Annotated[
        int | None,
        Option(
            "Count at most N. Default: 10000; with --autoscaler 1000; without MANIFEST, 1000 of each kind.",
            metavar="N",
            min=1,
            max=100_000,
        ),
    ] = None,
    peak: Annotated[
        bool, Option("Count at the peak: first scale each workload to the maximum of its HorizontalPodAutoscaler.")
    ] = False,
    reading: ReadingOptions,
) -> Ask:
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
    given = _named(manifests, filename)
    check_capacity(
        limit=max_,
        target=target,
        with_preemption=with_preemption,
        add_nodes_like=add_nodes_like,
        peak=peak,
        grows=growth.is_asked,
    )
    if target is not None and max_ is not None:
        raise OptionError("--max", "nothing beyond the target is counted: leave one of them out")
    if not given and (target is not None or with_preemption or growth.is_asked):
        raise OptionError("MANIFEST", "name what to count: a file, or a workload as deploy/NAMESPACE/NAME")
    return Ask(
        lambda session, names, _: kwhatif.capacity(
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
    )
