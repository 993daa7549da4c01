"""`kwhatif outage`: what if this node, or this zone, fails?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.drain import Nodes
from kwhatif.cli.option_groups import reads_cluster
from kwhatif.cli.options import Printing, fail_on
from kwhatif.cli.run import Style, answer, parse_conditions
from kwhatif.cli.simulate import Explain, TimesOptions
from kwhatif.cli.sweeps import Sweep, SweepOutput, SweepOutputOption, check_output

FailOn = Annotated[str, fail_on("harm", "pending", "cycling")]


@reads_cluster
def outage(
    *,
    cluster: SchedulerSource,
    nodes: Nodes = None,
    selector: Annotated[
        str | None, typer.Option("--selector", "-l", metavar="LABELS", help="The nodes with these labels.")
    ] = None,
    each: Annotated[
        str, typer.Option("--each", metavar="KEY", help="For each value of this label, the nodes that have it, alone.")
    ] = "",
    deleted: Annotated[
        bool, typer.Option("--deleted", help="The Node objects go, too. Without it, kubelets fall silent.")
    ] = False,
    node_monitor_grace_period: Annotated[
        str,
        typer.Option(
            "--node-monitor-grace-period", metavar="DURATION", help="After how long a silent node is taken for lost."
        ),
    ] = "50s",
    times: TimesOptions,
    sweep: Sweep,
    output: SweepOutputOption = SweepOutput.TABLE,
    explain: Explain = False,
    fail_on: FailOn = "harm",
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
    if [bool(nodes), bool(selector), bool(each)].count(True) != 1:
        raise typer.BadParameter("name nodes, or their labels with -l, or a label with --each", param_hint="NODE")
    conditions = parse_conditions(fail_on, strict=cluster.strict)
    answers = sweep.ask(
        cluster,
        times,
        lambda session, how: kwhatif.outage(
            session,
            *(nodes or ()),
            selector=selector or "",
            each=each,
            deleted=deleted,
            node_monitor_grace_period=node_monitor_grace_period,
            **how,
        ),
    )
    answer(answers, Style(output.value, printing, explain), conditions)
