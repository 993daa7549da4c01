"""`kwhatif threats` and `kwhatif who-fits`: who could evict my pod, and which pods does a node take?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.api.options import ThreatsArguments
from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.names import complete_node, complete_object
from kwhatif.cli.option_groups import reads_cluster
from kwhatif.cli.options import Namespace, Output, OutputOption, Printing, fail_on, joined
from kwhatif.cli.progress import counting_progress
from kwhatif.cli.run import Style, answer, now, parse_conditions

if TYPE_CHECKING:
    from kwhatif.questions.session.session import Session
    from kwhatif.report import Report

Subject = Annotated[
    list[str],
    typer.Argument(
        metavar="OBJECT",
        help="pod/NAMESPACE/NAME, a workload, node/NAME or priorityclass/NAME.",
        autocompletion=complete_object,
        show_default=False,
    ),
]
NodeName = Annotated[
    str, typer.Argument(metavar="NODE", help="node/NAME.", autocompletion=complete_node, show_default=False)
]
PolicyFile = Annotated[
    str | None,
    typer.Option("--policy", metavar="FILE", help="A DeschedulerPolicy that runs in the cluster: whom does it evict?"),
]


@reads_cluster
def threats(
    *,
    cluster: SchedulerSource,
    subject: Subject,
    namespace: Namespace = None,
    policy: PolicyFile = None,
    options: ThreatsArguments,
    output: OutputOption = Output.TABLE,
    fail_on: Annotated[str, fail_on("evicting", "threatened")] = "evicting",
    printing: Printing,
) -> None:
    """Who could evict my pod? What protects it, and what would?

    Pending pods, one more pod of each workload, new pods of each PriorityClass; taints, lost and drained nodes.

    \b
    Examples:
      kwhatif threats pod/shop/web-0 --from cluster.yaml
      kwhatif threats deploy/shop/web --from cluster.yaml --only pending,template,class
      kwhatif threats node/a1 --policy descheduler.yaml --from cluster.yaml
    """
    import kwhatif

    conditions = parse_conditions(fail_on, strict=cluster.strict)
    names = joined(subject)
    if len(names) != 1:
        raise typer.BadParameter("name one object, such as pod/shop/web-0", param_hint="OBJECT")

    def ask(session: Session, _: Sequence[str]) -> Report:
        with counting_progress("nodes") as advance:
            return kwhatif.threats(
                session, names[0], namespace=namespace, policy=policy, progress=advance, now=now(), **options
            )

    answer(cluster.ask(ask, namespace=namespace), Style(output.value, printing), conditions)


@reads_cluster
def who_fits(
    *,
    cluster: SchedulerSource,
    node: NodeName,
    output: OutputOption = Output.TABLE,
    fail_on: Annotated[str, fail_on("takes-none")] = "takes-none",
    printing: Printing,
) -> None:
    """Which pending pods, and which workloads' next pods, does this node take?

    Each is asked about as if it were the next pod, and no other came.

    \b
    Examples:
      kwhatif who-fits node/a1 --from cluster.yaml
      kwhatif who-fits a1 --if 'uncordon a1' --from cluster.yaml
    """
    import kwhatif

    conditions = parse_conditions(fail_on, strict=cluster.strict)
    answer(cluster.ask(lambda session, _: kwhatif.who_fits(session, node)), Style(output.value, printing), conditions)
