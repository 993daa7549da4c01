"""`kwhatif simulate`: what happens until the cluster has settled?"""

from __future__ import annotations

from typing import Annotated

import kwhatif
from kwhatif.api.options import Option, SimulationOptions, ValidationOption
from kwhatif.cli.options import Explain, Filenames, Manifests, Namespace, fail_on
from kwhatif.cli.question import Ask, question


@question(fail_on("pending", "stalled", "cycling", "failed"), "pending,stalled,cycling,failed", grows=True)
def simulate(
    *,
    manifests: Manifests = None,
    filename: Filenames = None,
    namespace: Namespace = None,
    then: Annotated[
        list[str] | None,
        Option(
            "What to do once the cluster has settled: scale deploy/shop/web=5, drain NODE, ... Repeatable, in order.",
            metavar="EDIT",
        ),
    ] = None,
    scenario: Annotated[str | None, Option("Steps and parameters from a file, before --then.", metavar="FILE")] = None,
    options: SimulationOptions,
    validation: ValidationOption,
    explain: Explain = False,
) -> Ask:
    """What follows if this is applied: which pods are evicted, where do they come back, which stay pending?

    \b
    Examples:
      kwhatif simulate deployment.yaml --from cluster.yaml
      kwhatif simulate --from cluster.yaml --then "drain a1" --then "scale deploy/shop/web=5"
      kwhatif simulate --from cluster.yaml --scenario steps.yaml -o json
    """
    return Ask(
        lambda session, names, advance: kwhatif.simulate(
            session,
            *names,
            then=then or (),
            scenario=scenario,
            namespace=namespace,
            progress=advance,
            **validation,
            **options,
        ),
        [*(manifests or ()), *(filename or ())],
        namespace=namespace,
        counts="runs",
        explain=explain,
    )
