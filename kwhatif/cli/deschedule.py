"""`kwhatif deschedule`: which pods does a descheduler policy evict, and where do the replacements land?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.cluster_options import AgesAt, check_ages_at
from kwhatif.cli.option_groups import reads_cluster
from kwhatif.cli.options import Output, OutputOption, Printing, fail_on, read_once
from kwhatif.cli.run import Style, answer, now, parse_conditions


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
Rounds = Annotated[
    int,
    typer.Option("--rounds", metavar="N", min=1, max=100, help="How many cycles to run, unless one evicts nothing."),
]
FailOn = Annotated[str, fail_on("evictions", "pending", "useless", "endless")]


@reads_cluster
def deschedule(
    *,
    cluster: SchedulerSource,
    policy: PolicyFile = None,
    strategy: Strategy = None,
    at: AgesAt = None,
    rounds: Rounds = 5,
    output: OutputOption = Output.TABLE,
    fail_on: FailOn = "pending,endless",
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
    _check(strategy)
    check_ages_at(at)
    moment, source = now(), read_once(policy)
    answers = cluster.ask(
        lambda session, _: kwhatif.deschedule(session, source, strategy=strategy, at=at, rounds=rounds, now=moment),
        dates=True,
    )
    answer(answers, Style(output.value, printing), conditions)


def _check(strategy: str | None) -> None:
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
