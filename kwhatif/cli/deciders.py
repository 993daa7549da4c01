"""Decisions of other components than the scheduler: `kwhatif autoscale`, `consolidate`, `deschedule` and `resize`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kwhatif.api.options import ReadingOptions, Times
from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.cluster_options import AgesAt, Scaling, check_ages_at
from kwhatif.cli.options import (
    Filenames,
    Manifests,
    Namespace,
    OutputOption,
    Printing,
    complete_node,
    complete_object,
    fail_on,
    joined,
    read_once,
)
from kwhatif.cli.run import Style, answer, now, parse_conditions

if TYPE_CHECKING:
    from kwhatif.questions.session.session import Session
    from kwhatif.report import Report

ExplainNode = Annotated[
    str | None,
    typer.Option(
        "--explain",
        metavar="node/NAME",
        help="Say in one line whether this node is removed, and if not, why.",
        autocompletion=complete_node,
    ),
]
LoopRounds = Annotated[
    int,
    typer.Option(
        "--rounds",
        metavar="N",
        min=1,
        max=100,
        help="How many rounds to run, unless one adds nothing.",
    ),
]
OfAutoscale = Annotated[str, fail_on("refused", "added")]
OfConsolidate = Annotated[str, fail_on("removed")]


def autoscale(
    *,
    cluster: SchedulerSource,
    manifests: Manifests = None,
    filename: Filenames = None,
    namespace: Namespace = None,
    reading: ReadingOptions,
    scaling: Scaling,
    rounds: LoopRounds = 10,
    output: OutputOption = "table",
    fail_on: OfAutoscale = "refused",
    printing: Printing,
) -> None:
    """Which nodes would the autoscaler add for pods that find no room, and which pods can it not help?

    Asks for the pending pods of the cluster, and the pods of the manifests once they are applied.

    \b
    Examples:
      kwhatif autoscale --node-groups groups.yaml --from cluster.yaml
      kwhatif autoscale deployment.yaml --instance-types types.json --from cluster.yaml
    """
    import kwhatif

    conditions = parse_conditions(fail_on, strict=cluster.strict)
    pods, arguments = [*joined(manifests), *(filename or ())], scaling.arguments()
    answers = cluster.ask(
        lambda session, names: kwhatif.autoscale(
            session, *names, rounds=rounds, **arguments, namespace=namespace, **reading
        ),
        pods,
        namespace=namespace,
        dates=True,
    )
    answer(answers, Style(output, printing), conditions)


def consolidate(
    *,
    cluster: SchedulerSource,
    scaling: Scaling,
    explain: ExplainNode = None,
    output: OutputOption = "table",
    fail_on: OfConsolidate = "none",
    printing: Printing,
) -> None:
    """Which nodes would the autoscaler remove, where do their pods land, and what keeps the other nodes?

    \b
    Examples:
      kwhatif consolidate --node-groups groups.yaml --from cluster.yaml
      kwhatif consolidate --explain node/general-a1 --from cluster.yaml
    """
    import kwhatif

    conditions = parse_conditions(fail_on, strict=cluster.strict)
    if explain is not None:  # one line
        printing = replace(printing, quiet=True)
    arguments = scaling.arguments()
    answers = cluster.ask(lambda session, _: kwhatif.consolidate(session, explain=explain, **arguments), dates=True)
    answer(answers, Style(output, printing), conditions)


def _complete_strategy(incomplete: str) -> list[str]:
    from kwhatif.descheduler.build import STRATEGIES

    return [name for name in STRATEGIES if name.startswith(incomplete)]


PolicyFile = Annotated[
    str | None,
    typer.Option("--policy", metavar="FILE", help="The DeschedulerPolicy (descheduler/v1alpha2), or -."),
]
Strategy = Annotated[
    str | None,
    typer.Option(
        "--strategy",
        metavar="NAME",
        help="Instead of a policy, one strategy with its defaults, such as RemoveDuplicates.",
        autocompletion=_complete_strategy,
    ),
]
CycleRounds = Annotated[
    int,
    typer.Option("--rounds", metavar="N", min=1, max=100, help="How many cycles to run, unless one evicts nothing."),
]
DescheduleFailOn = Annotated[str, fail_on("evictions", "pending", "useless", "endless")]


def deschedule(
    *,
    cluster: SchedulerSource,
    policy: PolicyFile = None,
    strategy: Strategy = None,
    at: AgesAt = None,
    rounds: CycleRounds = 5,
    output: OutputOption = "table",
    fail_on: DescheduleFailOn = "pending,endless",
    printing: Printing,
) -> None:
    """Which pods does a descheduler with this policy evict, why, and where do the replacements land?

    \b
    Examples:
      kwhatif deschedule --policy policy.yaml --from cluster.yaml
      kwhatif deschedule --strategy RemoveDuplicates --from cluster.yaml
    """
    import kwhatif

    conditions = parse_conditions(fail_on, strict=cluster.strict)
    if (policy is None) == (strategy is None):
        raise typer.BadParameter("give either --policy FILE or --strategy NAME", param_hint="--policy")
    _check_strategy(strategy)
    check_ages_at(at)
    moment, source = now(), read_once(policy)
    answers = cluster.ask(
        lambda session, _: kwhatif.deschedule(session, source, strategy=strategy, at=at, rounds=rounds, now=moment),
        dates=True,
    )
    answer(answers, Style(output, printing), conditions)


def _check_strategy(strategy: str | None) -> None:
    """Check it before the cluster is read.

    Raises:
        BadParameter: there is no such strategy.
    """
    from kwhatif.descheduler.build import strategy_policy

    if strategy is not None:
        try:
            strategy_policy(strategy)
        except ValueError as wrong:
            raise typer.BadParameter(str(wrong), param_hint="--strategy") from wrong


PodName = Annotated[
    str,
    typer.Argument(metavar="POD", help="pod/NAMESPACE/NAME.", autocompletion=complete_object, show_default=False),
]


def resize(
    *,
    cluster: SchedulerSource,
    pod: PodName,
    namespace: Namespace = None,
    requests: Annotated[
        list[str] | None,
        typer.Option(
            "--requests",
            metavar="LIST",
            help="New requests, such as cpu=2,memory=1Gi. Repeatable. Or vpa: what does its VerticalPodAutoscaler do?",
        ),
    ] = None,
    limits: Annotated[
        list[str] | None, typer.Option("--limits", metavar="LIST", help="New limits, in the same form. Repeatable.")
    ] = None,
    container: Annotated[
        str, typer.Option("--container", "-c", metavar="NAME", help="Which container, if the pod has several.")
    ] = "",
    options: Times,
    output: OutputOption = "table",
    fail_on: Annotated[str, fail_on("not-resized")] = "not-resized",
    printing: Printing,
) -> None:
    """Is this pod resized in place, deferred, or refused? Does it restart, and which pods are in the way?

    \b
    Examples:
      kwhatif resize pod/shop/web-0 --requests cpu=2 --from cluster.yaml
      kwhatif resize pod/shop/web-0 --requests vpa --from cluster.yaml
      kwhatif resize pod/shop/web-0 --requests cpu=2,memory=4Gi --limits cpu=2,memory=4Gi -c main
    """
    import kwhatif

    conditions = parse_conditions(fail_on, strict=cluster.strict)
    by_vpa = requests == ["vpa"]
    asked: Any = "vpa" if by_vpa else _amounts(requests, "--requests")
    limited = _amounts(limits, "--limits")
    if by_vpa and (limited or container):
        raise typer.BadParameter("vpa is about all containers and limits: leave --limits and -c out")
    if not (asked or limited):
        raise typer.BadParameter("say the new requests or limits: --requests cpu=2", param_hint="--requests")

    def ask(session: Session, _: Sequence[str]) -> Report:
        return kwhatif.resize(
            session, pod, requests=asked, limits=limited, container=container, namespace=namespace, now=now(), **options
        )

    # In other commands `--requests` is an edit; here the option has its own help.
    cluster = replace(cluster, requests=None)
    answer(cluster.ask(ask, namespace=namespace), Style(output, printing), conditions)


def _amounts(given: Sequence[str] | None, option: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in (part for text in given or () for part in text.split(",") if part):
        name, equals, amount = word.partition("=")
        if not equals or not name or not amount:
            raise typer.BadParameter(f"{word!r} is not a resource and its amount: write cpu=2", param_hint=option)
        found[name] = amount
    return found
