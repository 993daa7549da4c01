"""`kwhatif deschedule`: whom does a descheduler policy evict, and where do the replacements land?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.option_groups import reads_cluster
from kwhatif.cli.options import Output, OutputOption, Printing, fail_on
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
At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="TIME",
        help="The moment that ages count to, and of a recording the one that is read, such as 2026-01-31T12:00:00Z."
        " Without it, when the dump was taken.",
    ),
]
Rounds = Annotated[
    int,
    typer.Option("--rounds", metavar="N", min=1, max=100, help="How many times to run it, unless it settles before."),
]
FailOn = Annotated[str, fail_on("evictions", "pending", "useless", "endless")]


@reads_cluster
def deschedule(
    *,
    cluster: SchedulerSource,
    policy: PolicyFile = None,
    strategy: Strategy = None,
    at: At = None,
    rounds: Rounds = 5,
    output: OutputOption = Output.TABLE,
    fail_on: FailOn = "pending,endless",
    printing: Printing,
) -> None:
    """Whom does a descheduler with this policy evict, why, and where do the replacements land?

    \b
    Examples:
      kwhatif deschedule --policy policy.yaml --from cluster.yaml
      kwhatif deschedule --strategy RemoveDuplicates --from cluster.yaml
    """
    import kwhatif
    from kwhatif.sources.text.files import STDIN, standard_input

    conditions = parse_conditions(fail_on, strict=cluster.strict)
    if (policy is None) == (strategy is None):
        raise typer.BadParameter("give either --policy FILE or --strategy NAME", param_hint="--policy")
    _check(strategy, at)
    moment = now()
    # Two answers may need it.
    source = kwhatif.text(standard_input().read(), STDIN) if policy == "-" else policy
    answers = cluster.ask(
        lambda session, _: kwhatif.deschedule(session, source, strategy=strategy, at=at, rounds=rounds, now=moment),
        dates=True,
    )
    answer(answers, Style(output.value, printing), conditions)


def _check(strategy: str | None, at: str | None) -> None:
    """Check what can be checked before the cluster is read.

    Raises:
        BadParameter: there is no such strategy, or no such time.
    """
    from kwhatif.descheduler.build import strategy_policy
    from kwhatif.kube.model.meta import parse_time

    if strategy is not None:
        try:
            strategy_policy(strategy)
        except ValueError as wrong:
            raise typer.BadParameter(str(wrong), param_hint="--strategy") from wrong
    if at is not None:
        try:
            parse_time(at)
        except ValueError as wrong:
            said = f"{at!r} is not an RFC 3339 time, such as 2026-01-31T12:00:00Z"
            raise typer.BadParameter(said, param_hint="--at") from wrong
