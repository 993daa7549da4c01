"""Questions about what follows: `kwhatif simulate`, `drain`, `outage` and `upgrade`."""

from __future__ import annotations

from typing import Annotated

import typer

import kwhatif
from kwhatif.api.options import (
    DrainArguments,
    Option,
    OptionError,
    OutageArguments,
    SimulationOptions,
    ValidationOption,
)
from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.cluster_options import complete_version
from kwhatif.cli.options import Explain, Filenames, Manifests, Namespace, SweepOutput, complete_node, fail_on
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


Nodes = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NODE]...", help="A name, a glob, or labels as in -l.", autocompletion=complete_node),
]
_JUNIT_NEEDS_EACH = "; junit needs --each"


@question(
    fail_on("harm", "pending", "stalled", "cycling", "failed"),
    "harm",
    outputs=SweepOutput,
    besides=_JUNIT_NEEDS_EACH,
    grows=True,
)
def drain(
    *,
    nodes: Nodes = None,
    each: Annotated[bool, Option("Drain each of the nodes alone: which can be drained?")] = False,
    options: DrainArguments,
    explain: Explain = False,
    output: SweepOutput,
) -> Ask:
    """Can these nodes be drained? In which waves, what blocks the drain, and where do the pods land?

    The answer is what `kubectl drain` would do, with its flags and its errors. Nothing is drained.

    \b
    Examples:
      kwhatif drain general-a1 --ignore-daemonsets --from cluster.yaml
      kwhatif drain --each pool=general --ignore-daemonsets --from cluster.yaml
      kwhatif drain -l pool=general --ignore-daemonsets --delete-emptydir-data --timeout 10m
    """
    _check_output(output, each=each)
    if nodes and options["selector"]:
        raise OptionError("NODE", "cannot specify both a node name and a --selector option")
    if not nodes and not options["selector"]:
        raise OptionError("NODE", "name a node, or its labels with -l")
    return Ask(
        lambda session, _, advance: kwhatif.drain(session, *(nodes or ()), each=each, progress=advance, **options),
        counts="scenarios",
        explain=explain,
    )


@question(fail_on("harm", "pending", "cycling"), "harm", outputs=SweepOutput, besides=_JUNIT_NEEDS_EACH, grows=True)
def outage(
    *,
    nodes: Nodes = None,
    each: Annotated[
        str, Option("For each value of this label, let all nodes with this value fail.", metavar="KEY")
    ] = "",
    options: OutageArguments,
    explain: Explain = False,
    output: SweepOutput,
) -> Ask:
    """What is lost if these nodes fail at once? What comes back, where and when, and what does not?

    \b
    Examples:
      kwhatif outage general-a1 --from cluster.yaml
      kwhatif outage --each topology.kubernetes.io/zone --from cluster.yaml
      kwhatif outage topology.kubernetes.io/zone=eu-west-1a --from cluster.yaml
    """
    _check_output(output, each=bool(each))
    if [bool(nodes), bool(options["selector"]), bool(each)].count(True) != 1:
        raise OptionError("NODE", "name nodes, or their labels with -l, or a label with --each")
    return Ask(
        lambda session, _, advance: kwhatif.outage(session, *(nodes or ()), each=each, progress=advance, **options),
        counts="scenarios",
        explain=explain,
    )


def _check_output(output: SweepOutput, *, each: bool) -> None:
    """Check that `-o junit` has scenarios: JUnit has a test for each.

    Raises:
        OptionError: there are no scenarios.
    """
    if output == "junit" and not each:
        raise OptionError("--output", "a test case is a scenario: give --each, too")


@question(
    fail_on("worse", "changed", "unschedulable", "denied", "gated", "preemption", "budget-violation"),
    "worse",
)
def upgrade(
    *,
    cluster: SchedulerSource,
    to: Annotated[
        str,
        Option(
            "The release to upgrade to, such as 1.37.",
            metavar="VERSION",
            check="kwhatif.sources.scheduler.release:known_version",
            complete=complete_version,
        ),
    ],
) -> Ask:
    """What would the scheduler of another release decide differently?

    Compares pending pods, and where each workload's pods would land if they were restarted.

    \b
    Examples:
      kwhatif upgrade --to 1.37 --from cluster.yaml
      kwhatif upgrade --to 1.36 --kubernetes-version 1.34 --from cluster.yaml
      kwhatif upgrade --to 1.37 --fail-on changed
    """
    if cluster.compare:
        raise OptionError("--compare", "it compares two releases already: run this without and with the edits")
    return Ask(lambda session, _, advance: kwhatif.upgrade(session, to=to, progress=advance), counts="workloads")
