"""Questions about pods: `kwhatif schedule`, `preempt`, `queue`, `advise` and `capacity`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

import kwhatif
from kwhatif.api.options import JudgingOptions, Option, OptionError, PodSelection, ReadingOptions
from kwhatif.api.refusals import check_capacity, check_judging
from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.cluster_options import Growth
from kwhatif.cli.options import (
    OF_PODS,
    AllNamespaces,
    Filenames,
    Manifests,
    Namespace,
    Output,
    PodsIn,
    Printing,
    complete_node,
    complete_object,
    described,
    fail_on,
    joined,
    named,
    output_option,
)
from kwhatif.cli.question import Ask, question
from kwhatif.cli.run import Style, answer, parse_conditions, print_data


@question(OF_PODS, "unschedulable", grows=True)
def schedule(
    *,
    growth: Growth,
    manifests: Manifests = None,
    filename: Filenames = None,
    namespace: Namespace = None,
    judging: JudgingOptions,
    reading: ReadingOptions,
    output: Output,
) -> Ask:
    """If this is applied, where do its pods land? If they fit nowhere: which pods do they evict?

    \b
    Examples:
      kwhatif schedule deployment.yaml --from cluster.yaml
      kwhatif schedule pod/shop/web-0 --from cluster.yaml
      kubectl get no,po,pdb,pc -A -o json | kwhatif schedule pod.yaml --from -
      kwhatif schedule pod.yaml --from cluster.yaml -o wide
    """
    check_judging(alone=judging["alone"], admission=judging["admission"], grows=growth.is_asked)
    return Ask(
        lambda session, names, _: kwhatif.schedule(
            session, *names, namespace=namespace, described=described(output), **judging, **reading
        ),
        named(manifests, filename),
        namespace=namespace,
        aftermath=judging["aftermath"],
    )


@question(OF_PODS, "unschedulable", grows=True)
def preempt(
    *,
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
    explain: Annotated[bool, Option("Explain the decision step by step.")] = False,
    output: Output,
) -> Ask:
    """Which pods would these pods evict, where, and why there?

    Without a manifest, it asks about every pending pod of the cluster (with -n, of a namespace), in queue order.

    \b
    Examples:
      kwhatif preempt pod.yaml --from cluster.yaml
      kwhatif preempt --explain --from cluster.yaml
    """
    check_judging(alone=judging["alone"], admission=judging["admission"], grows=growth.is_asked)
    pods = [*joined(manifests), *(filename or ())]
    if pods and any(selection.values()):
        raise OptionError("--selector", "it chooses among pending pods: leave the manifests out")
    where, most = None if all_namespaces else namespace, None if explain else described(output)
    return Ask(
        lambda session, names, _: kwhatif.preempt(
            session, *names, namespace=where, described=most, **selection, **judging, **reading
        ),
        pods,
        namespace=where,
        explain=explain,
        aftermath=judging["aftermath"],
    )


@question(fail_on("unschedulable", "gated", "preemption", "budget-violation", "not-requeued"), "none", grows=True)
def queue(
    *,
    pods: Annotated[
        list[str] | None,
        typer.Argument(metavar="[POD]...", help="NAMESPACE/NAME, or NAME. Without one: all pending pods."),
    ] = None,
    namespace: PodsIn = None,
    all_namespaces: AllNamespaces = False,
    selection: PodSelection,
    explain: Annotated[bool, Option("Show for every pod what would wake it.")] = False,
) -> Ask:
    """Which pods are pending, in the order in which the scheduler takes them?

    It shows what rejected each pod, and its outcome if it is tried now; for named pods also what would wake them.

    \b
    Examples:
      kwhatif queue --from cluster.yaml
      kwhatif queue shop/checkout --from cluster.yaml
      kwhatif queue -n shop -l app=web --from cluster.yaml
      kwhatif queue --if "add 1 node like general-a1" --from cluster.yaml
    """
    where = None if all_namespaces else namespace
    return Ask(
        lambda session, names, _: kwhatif.pending(session, *names, namespace=where, explain=explain, **selection),
        joined(pods),
        namespace=where,
        explain=explain,
    )


def advise(
    *,
    cluster: SchedulerSource,
    growth: Growth,
    manifests: Manifests = None,
    filename: Filenames = None,
    namespace: Namespace = None,
    most: Annotated[int, Option("The most pieces of advice for each workload.", metavar="N", min=1)] = 6,
    workloads: Annotated[int, Option("The number of failing workloads that get advice.", metavar="N", min=1)] = 10,
    for_: Annotated[
        Literal["gate"] | None,
        Option("Print only the smallest fix for each failing workload, in the Markdown of the gate.", metavar="gate"),
    ] = None,
    reading: ReadingOptions,
    output: Annotated[Output, output_option(Output)] = "table",
    fail_on: Annotated[str, OF_PODS] = "unschedulable",
    printing: Printing,
) -> None:
    """What are the smallest changes after which this fits, in the manifest, in the cluster, or by waiting?

    Each change was tried: the question was asked again with it.

    \b
    Examples:
      kwhatif advise deployment.yaml --from cluster.yaml
      kwhatif advise pod/shop/checkout --from cluster.yaml
    """
    conditions = parse_conditions(fail_on, strict=cluster.strict)
    pods = named(manifests, filename)
    if for_ is not None and output != "table":
        raise OptionError("--for", f"it is Markdown: leave out -o {output}")

    answers = cluster.ask(
        lambda session, names: kwhatif.advise(
            session, *names, most=most, workloads=workloads, namespace=namespace, **reading
        ),
        pods,
        namespace=namespace,
        growth=growth,
    )
    if for_ is None:
        answer(answers, Style(output, printing), conditions)
        return
    from kwhatif.render.markdown import fixes_to_markdown

    print_data(fixes_to_markdown(answers.report), "markdown")


def _counted(manifests: list[str] | None, filenames: list[str] | None) -> list[str]:
    """The inputs to count; the word `like` before a name has no effect."""
    given = list(manifests or ())
    words = [
        word for index, word in enumerate(given) if word != "like" or "/" not in "".join(given[index + 1 : index + 2])
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
    given = _counted(manifests, filename)
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
