"""`kwhatif threats` and `kwhatif who-fits`: who could evict my pod, and which pods does a node take?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.api.options import PodSelection, ThreatsArguments
from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.names import complete_node, complete_object
from kwhatif.cli.option_groups import reads_cluster
from kwhatif.cli.options import AllNamespaces, Namespace, Output, OutputOption, PodsIn, Printing, fail_on, joined
from kwhatif.cli.progress import counting_progress
from kwhatif.cli.run import Style, answer, now, parse_conditions

if TYPE_CHECKING:
    from kwhatif.questions.session.session import Session
    from kwhatif.report import Report

Subject = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[OBJECT]",
        help="pod/NAMESPACE/NAME, a workload, node/NAME or priorityclass/NAME. Without it, the pods of -l.",
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
    subject: Subject = None,
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
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
      kwhatif threats -l app=web -n shop --from cluster.yaml
      kwhatif threats node/a1 --policy descheduler.yaml --from cluster.yaml
    """
    import kwhatif

    conditions = parse_conditions(fail_on, strict=cluster.strict)
    names = joined(subject)
    selected = bool(options["selector"] or options["field_selector"])
    if len(names) + selected != 1:
        raise typer.BadParameter("name one object, such as pod/shop/web-0, or choose pods with -l", param_hint="OBJECT")
    subject_, where = "".join(names), "" if all_namespaces else namespace

    def ask(session: Session, _: Sequence[str]) -> Report:
        with counting_progress("nodes") as advance:
            return kwhatif.threats(
                session, subject_, namespace=where, policy=policy, progress=advance, now=now(), **options
            )

    answer(cluster.ask(ask, namespace=namespace), Style(output.value, printing), conditions)


@reads_cluster
def who_fits(
    *,
    cluster: SchedulerSource,
    node: NodeName,
    namespace: PodsIn = None,
    all_namespaces: AllNamespaces = False,
    selection: PodSelection,
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
    where = None if all_namespaces else namespace

    def ask(session: Session, _: Sequence[str]) -> Report:
        return kwhatif.who_fits(session, node, namespace=where, **selection)

    answer(cluster.ask(ask, namespace=where), Style(output.value, printing), conditions)
