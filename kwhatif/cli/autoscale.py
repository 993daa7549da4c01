"""`kwhatif autoscale` and `kwhatif consolidate`: which nodes would the autoscaler add, and which would it remove?"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from kwhatif.api.options import ReadingOptions
from kwhatif.cli.autoscaling import Scaling
from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.names import complete_node
from kwhatif.cli.option_groups import reads_cluster
from kwhatif.cli.options import (
    Filenames,
    Manifests,
    Namespace,
    Output,
    OutputOption,
    Printing,
    fail_on,
    joined,
)
from kwhatif.cli.run import Style, answer, parse_conditions

Explain = Annotated[
    str | None,
    typer.Option(
        "--explain",
        metavar="node/NAME",
        help="Say in one line whether this node is removed, and if not, why.",
        autocompletion=complete_node,
    ),
]
Rounds = Annotated[
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


@reads_cluster
def autoscale(
    *,
    cluster: SchedulerSource,
    manifests: Manifests = None,
    filename: Filenames = None,
    namespace: Namespace = None,
    reading: ReadingOptions,
    scaling: Scaling,
    rounds: Rounds = 10,
    output: OutputOption = Output.TABLE,
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
    answer(answers, Style(output.value, printing), conditions)


@reads_cluster
def consolidate(
    *,
    cluster: SchedulerSource,
    scaling: Scaling,
    explain: Explain = None,
    output: OutputOption = Output.TABLE,
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
    answer(answers, Style(output.value, printing), conditions)
