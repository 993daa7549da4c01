"""Risks: `kwhatif audit`, `threats` and `who-fits`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

import kwhatif
from kwhatif.api.options import AuditArguments, Option, OptionError, PodSelection, ThreatsArguments
from kwhatif.cli.options import (
    AllNamespaces,
    FindingsIn,
    FindingsOutput,
    Namespace,
    PodsIn,
    complete_node,
    complete_object,
    fail_on,
    joined,
)
from kwhatif.cli.question import Ask, question
from kwhatif.cli.run import now
from kwhatif.errors import ExitCode

if TYPE_CHECKING:
    from kwhatif.report import Report


@question(
    fail_on("high", "medium", "low", "unjudged", besides=" A level includes all that are worse."),
    "high",
    outputs=Literal[FindingsOutput, "baseline"],
    grows=True,
)
def audit(*, namespace: FindingsIn = None, all_namespaces: AllNamespaces = False, options: AuditArguments) -> Ask:
    """What in this cluster will hurt, the worst first, each proven by playing it?

    Tries the loss of every node and zone, the drain of every node, and for every workload a restart, one more pod, and
    its maximum.

    \b
    Examples:
      kwhatif audit --from cluster.yaml
      kwhatif audit --from cluster.yaml --only outage,drain --budget 60s
      kwhatif audit --from cluster.yaml --baseline accepted.yaml --fail-on medium
    """
    where = None if all_namespaces else namespace
    return Ask(
        lambda session, _, advance: kwhatif.audit(
            session, namespace=where, today=now().date(), progress=advance, **options
        ),
        namespace=where,
        counts="what-ifs",
        code=_interrupted,
    )


def _interrupted(report: Report) -> ExitCode | None:
    is_interrupted = report.audit is not None and report.audit.stopped == "interrupted"
    return ExitCode.INTERRUPTED if is_interrupted else None


@question(fail_on("evicting", "threatened"), "evicting")
def threats(
    *,
    subject: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[OBJECT]",
            help="pod/NAMESPACE/NAME, a workload, node/NAME or priorityclass/NAME. Without it, the pods of -l.",
            autocompletion=complete_object,
            show_default=False,
        ),
    ] = None,
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    policy: Annotated[
        str | None,
        Option("A DeschedulerPolicy that runs in the cluster: which pods does it evict?", metavar="FILE"),
    ] = None,
    options: ThreatsArguments,
) -> Ask:
    """What could evict my pod? What protects it, and what would protect it?

    It tries pending pods, one more pod of each workload and of each PriorityClass, taints, lost and drained nodes.

    \b
    Examples:
      kwhatif threats pod/shop/web-0 --from cluster.yaml
      kwhatif threats deploy/shop/web --from cluster.yaml --only pending,template,class
      kwhatif threats -l app=web -n shop --from cluster.yaml
      kwhatif threats node/a1 --policy descheduler.yaml --from cluster.yaml
    """
    names = joined(subject)
    selected = bool(options["selector"] or options["field_selector"])
    if len(names) + selected != 1:
        raise OptionError("OBJECT", "name one object, such as pod/shop/web-0, or choose pods with -l")
    where = "" if all_namespaces else namespace
    return Ask(
        lambda session, _, advance: kwhatif.threats(
            session, "".join(names), namespace=where, policy=policy, progress=advance, now=now(), **options
        ),
        namespace=namespace,
        counts="nodes",
    )


@question(fail_on("takes-none"), "takes-none")
def who_fits(
    *,
    node: Annotated[
        str, typer.Argument(metavar="NODE", help="node/NAME.", autocompletion=complete_node, show_default=False)
    ],
    namespace: PodsIn = None,
    all_namespaces: AllNamespaces = False,
    selection: PodSelection,
) -> Ask:
    """Which pending pods, and which workloads' next pods, does this node take?

    Each pod is judged as if it were the next one, without the others.

    \b
    Examples:
      kwhatif who-fits node/a1 --from cluster.yaml
      kwhatif who-fits a1 --if 'uncordon a1' --from cluster.yaml
    """
    where = None if all_namespaces else namespace
    return Ask(lambda session, *_: kwhatif.who_fits(session, node, namespace=where, **selection), namespace=where)
