"""`kwhatif drain`: can this node go?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.names import complete_node
from kwhatif.cli.option_groups import reads_cluster
from kwhatif.cli.options import Printing, fail_on
from kwhatif.cli.run import Style, answer, parse_conditions
from kwhatif.cli.simulate import Explain, TimesOptions
from kwhatif.cli.sweeps import Sweep, SweepOutput, SweepOutputOption, check_output
from kwhatif.cli.usage import KUBECTL

Nodes = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NODE]...", help="A name, a glob, or labels as in -l.", autocompletion=complete_node),
]
Selector = Annotated[
    str | None,
    typer.Option("--selector", "-l", metavar="LABELS", help="The nodes with these labels.", rich_help_panel=KUBECTL),
]


FailOn = Annotated[str, fail_on("harm", "pending", "stalled", "cycling", "failed")]


@reads_cluster
def drain(
    *,
    cluster: SchedulerSource,
    nodes: Nodes = None,
    selector: Selector = None,
    each: Annotated[bool, typer.Option("--each", help="Each of the nodes alone: which can be drained?")] = False,
    ignore_daemonsets: Annotated[
        bool, typer.Option("--ignore-daemonsets", help="Let pods of DaemonSets stay.", rich_help_panel=KUBECTL)
    ] = False,
    delete_emptydir_data: Annotated[
        bool,
        typer.Option("--delete-emptydir-data", help="Evict pods with local storage, too.", rich_help_panel=KUBECTL),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Evict pods without a controller, too.", rich_help_panel=KUBECTL)
    ] = False,
    disable_eviction: Annotated[
        bool,
        typer.Option("--disable-eviction", help="Delete pods, whatever budgets say.", rich_help_panel=KUBECTL),
    ] = False,
    grace_period: Annotated[
        int,
        typer.Option(
            "--grace-period",
            metavar="SECONDS",
            help="How long pods may take to end; negative: as each says.",
            rich_help_panel=KUBECTL,
        ),
    ] = -1,
    timeout: Annotated[
        str,
        typer.Option(
            "--timeout", metavar="DURATION", help="Give up a node after this; 0s: never.", rich_help_panel=KUBECTL
        ),
    ] = "0s",
    skip_wait_for_delete_timeout: Annotated[
        int,
        typer.Option(
            "--skip-wait-for-delete-timeout",
            metavar="SECONDS",
            help="Do not wait for pods whose end is overdue by more; 0: wait for all.",
            rich_help_panel=KUBECTL,
        ),
    ] = 0,
    pod_selector: Annotated[
        str,
        typer.Option("--pod-selector", metavar="LABELS", help="Evict only these pods.", rich_help_panel=KUBECTL),
    ] = "",
    parallel: Annotated[
        int, typer.Option("--parallel", metavar="N", min=1, help="Drain so many nodes at once; kubectl drains one.")
    ] = 1,
    order: Annotated[
        bool, typer.Option("--order", help="Propose the order of the nodes that does the least harm, and drain in it.")
    ] = False,
    times: TimesOptions,
    sweep: Sweep,
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
    if nodes and selector:
        raise typer.BadParameter("cannot specify both a node name and a --selector option", param_hint="NODE")
    if not nodes and not selector:
        raise typer.BadParameter("name a node, or its labels with -l", param_hint="NODE")
    conditions = parse_conditions(fail_on, strict=cluster.strict)
    answers = sweep.ask(
        cluster,
        times,
        lambda session, how: kwhatif.drain(
            session,
            *(nodes or ()),
            selector=selector or "",
            each=each,
            ignore_daemonsets=ignore_daemonsets,
            delete_emptydir_data=delete_emptydir_data,
            force=force,
            disable_eviction=disable_eviction,
            grace_period=grace_period,
            timeout=timeout,
            skip_wait_for_delete_timeout=skip_wait_for_delete_timeout,
            pod_selector=pod_selector,
            parallel=parallel,
            order=order,
            **how,
        ),
    )
    answer(answers, Style(output.value, printing, explain), conditions)
