"""`kwhatif simulate`: what happens until the cluster has settled?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.api.options import SimulationOptions, ValidationOption
from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.cluster_options import Growth
from kwhatif.cli.options import (
    Explain,
    Filenames,
    Manifests,
    Namespace,
    OutputOption,
    Printing,
    fail_on,
)
from kwhatif.cli.progress import counting_progress
from kwhatif.cli.run import Style, answer, parse_conditions

if TYPE_CHECKING:
    from kwhatif.questions.session.session import Session
    from kwhatif.report import Report

Then = Annotated[
    list[str] | None,
    typer.Option(
        "--then",
        metavar="EDIT",
        help="What to do once the cluster has settled: scale deploy/shop/web=5, drain NODE, ... Repeatable, in order.",
    ),
]
ScenarioOption = Annotated[
    str | None, typer.Option("--scenario", metavar="FILE", help="Steps and parameters from a file, before --then.")
]
FailOn = Annotated[str, fail_on("pending", "stalled", "cycling", "failed")]


def simulate(
    *,
    cluster: SchedulerSource,
    growth: Growth,
    manifests: Manifests = None,
    filename: Filenames = None,
    namespace: Namespace = None,
    then: Then = None,
    scenario: ScenarioOption = None,
    options: SimulationOptions,
    validation: ValidationOption,
    output: OutputOption = "table",
    explain: Explain = False,
    fail_on: FailOn = "pending,stalled,cycling,failed",
    printing: Printing,
) -> None:
    """What follows if this is applied: which pods are evicted, where do they come back, which stay pending?

    \b
    Examples:
      kwhatif simulate deployment.yaml --from cluster.yaml
      kwhatif simulate --from cluster.yaml --then "drain a1" --then "scale deploy/shop/web=5"
      kwhatif simulate --from cluster.yaml --scenario steps.yaml -o json
    """
    import kwhatif

    conditions = parse_conditions(fail_on, strict=cluster.strict)

    def ask(session: Session, names: Sequence[str]) -> Report:
        with counting_progress("runs") as advance:
            return kwhatif.simulate(
                session,
                *names,
                then=then or (),
                scenario=scenario,
                namespace=namespace,
                progress=advance,
                **validation,
                **options,
            )

    answers = cluster.ask(ask, [*(manifests or ()), *(filename or ())], namespace=namespace, growth=growth)
    answer(answers, Style(output, printing, explain), conditions)
