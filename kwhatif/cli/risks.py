"""Risks: `kwhatif audit`, `threats` and `who-fits`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kwhatif.api.options import AuditArguments, PodSelection, ThreatsArguments
from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.cluster_options import Growth
from kwhatif.cli.options import (
    AllNamespaces,
    FindingsIn,
    FindingsOutput,
    Namespace,
    OutputOption,
    PodsIn,
    Printing,
    complete_node,
    complete_object,
    fail_on,
    joined,
    output_option,
    seconds,
)
from kwhatif.cli.progress import counting_progress
from kwhatif.cli.run import Style, answer, now, parse_conditions
from kwhatif.errors import ExitCode

if TYPE_CHECKING:
    from kwhatif.questions.session.session import Session
    from kwhatif.report import Report


AuditOutput = Literal[FindingsOutput, "baseline"]
AuditFailOn = Annotated[
    str,
    fail_on("high", "medium", "low", "unjudged", besides=" A level includes all that are worse."),
]


def audit(
    *,
    cluster: SchedulerSource,
    growth: Growth,
    namespace: FindingsIn = None,
    all_namespaces: AllNamespaces = False,
    options: AuditArguments,
    output: Annotated[AuditOutput, output_option(AuditOutput)] = "table",
    fail_on: AuditFailOn = "high",
    printing: Printing,
) -> None:
    """What in this cluster will hurt, the worst first, each proven by playing it?

    Tries the loss of every node and zone, the drain of every node, and for every workload a restart, one more pod, and
    its maximum.

    \b
    Examples:
      kwhatif audit --from cluster.yaml
      kwhatif audit --from cluster.yaml --only outage,drain --budget 60s
      kwhatif audit --from cluster.yaml --baseline accepted.yaml --fail-on medium
    """
    import kwhatif

    namespace = None if all_namespaces else namespace
    conditions = parse_conditions(fail_on, strict=cluster.strict)
    seconds(options.get("budget", "0"), "--budget")  # refuse unknown names before anything is read

    def ask(session: Session, _: Sequence[str]) -> Report:
        with counting_progress("what-ifs") as advance:
            return kwhatif.audit(
                session,
                namespace=namespace,
                today=now().date(),
                progress=advance,
                **options,
            )

    answers = cluster.ask(ask, namespace=namespace, growth=growth)
    is_interrupted = answers.report.audit is not None and answers.report.audit.stopped == "interrupted"
    with suppress(typer.Exit) if is_interrupted else nullcontext():
        answer(answers, Style(output, printing), conditions)
    if is_interrupted:
        raise typer.Exit(ExitCode.INTERRUPTED)


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
    typer.Option(
        "--policy", metavar="FILE", help="A DeschedulerPolicy that runs in the cluster: which pods does it evict?"
    ),
]


def threats(
    *,
    cluster: SchedulerSource,
    subject: Subject = None,
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    policy: PolicyFile = None,
    options: ThreatsArguments,
    output: OutputOption = "table",
    fail_on: Annotated[str, fail_on("evicting", "threatened")] = "evicting",
    printing: Printing,
) -> None:
    """What could evict my pod? What protects it, and what would protect it?

    It tries pending pods, one more pod of each workload and of each PriorityClass, taints, lost and drained nodes.

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

    answer(cluster.ask(ask, namespace=namespace), Style(output, printing), conditions)


def who_fits(
    *,
    cluster: SchedulerSource,
    node: NodeName,
    namespace: PodsIn = None,
    all_namespaces: AllNamespaces = False,
    selection: PodSelection,
    output: OutputOption = "table",
    fail_on: Annotated[str, fail_on("takes-none")] = "takes-none",
    printing: Printing,
) -> None:
    """Which pending pods, and which workloads' next pods, does this node take?

    Each pod is judged as if it were the next one, without the others.

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

    answer(cluster.ask(ask, namespace=where), Style(output, printing), conditions)
