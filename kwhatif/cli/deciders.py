"""Decisions of other components than the scheduler: `kwhatif autoscale`, `consolidate`, `deschedule` and `resize`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

import kwhatif
from kwhatif.api.options import Option, OptionError, ReadingOptions, Times
from kwhatif.api.refusals import check_descheduler
from kwhatif.cli.cluster_options import AgesAt, Scaling, check_ages_at
from kwhatif.cli.options import (
    Filenames,
    Manifests,
    Namespace,
    complete_node,
    complete_object,
    fail_on,
    joined,
    read_once,
)
from kwhatif.cli.question import Ask, question
from kwhatif.cli.run import now


@question(fail_on("refused", "added"), "refused", dates=True)
def autoscale(
    *,
    manifests: Manifests = None,
    filename: Filenames = None,
    namespace: Namespace = None,
    reading: ReadingOptions,
    scaling: Scaling,
    rounds: Annotated[
        int, Option("How many rounds to run, unless one adds nothing.", metavar="N", min=1, max=100)
    ] = 10,
) -> Ask:
    """Which nodes would the autoscaler add for pods that find no room, and which pods can it not help?

    Asks for the pending pods of the cluster, and the pods of the manifests once they are applied.

    \b
    Examples:
      kwhatif autoscale --node-groups groups.yaml --from cluster.yaml
      kwhatif autoscale deployment.yaml --instance-types types.json --from cluster.yaml
    """
    arguments = scaling.arguments()
    return Ask(
        lambda session, names, _: kwhatif.autoscale(
            session, *names, rounds=rounds, **arguments, namespace=namespace, **reading
        ),
        [*joined(manifests), *(filename or ())],
        namespace=namespace,
    )


@question(fail_on("removed"), "none", dates=True)
def consolidate(
    *,
    scaling: Scaling,
    explain: Annotated[
        str | None,
        Option(
            "Say in one line whether this node is removed, and if not, why.",
            metavar="node/NAME",
            complete=complete_node,
        ),
    ] = None,
) -> Ask:
    """Which nodes would the autoscaler remove, where do their pods land, and what keeps the other nodes?

    \b
    Examples:
      kwhatif consolidate --node-groups groups.yaml --from cluster.yaml
      kwhatif consolidate --explain node/general-a1 --from cluster.yaml
    """
    arguments = scaling.arguments()
    return Ask(
        lambda session, *_: kwhatif.consolidate(session, explain=explain, **arguments), quiet=explain is not None
    )


def _complete_strategy(incomplete: str) -> list[str]:
    from kwhatif.descheduler.build import STRATEGIES

    return [name for name in STRATEGIES if name.startswith(incomplete)]


@question(fail_on("evictions", "pending", "useless", "endless"), "pending,endless", dates=True)
def deschedule(
    *,
    policy: Annotated[str | None, Option("The DeschedulerPolicy (descheduler/v1alpha2), or -.", metavar="FILE")] = None,
    strategy: Annotated[
        str | None,
        Option(
            "Instead of a policy, one strategy with its defaults, such as RemoveDuplicates.",
            metavar="NAME",
            check="kwhatif.descheduler.build:strategy_policy",
            complete=_complete_strategy,
        ),
    ] = None,
    at: AgesAt = None,
    rounds: Annotated[
        int, Option("How many cycles to run, unless one evicts nothing.", metavar="N", min=1, max=100)
    ] = 5,
) -> Ask:
    """Which pods does a descheduler with this policy evict, why, and where do the replacements land?

    \b
    Examples:
      kwhatif deschedule --policy policy.yaml --from cluster.yaml
      kwhatif deschedule --strategy RemoveDuplicates --from cluster.yaml
    """
    check_descheduler(policy, strategy)
    check_ages_at(at)
    moment, source = now(), read_once(policy)
    return Ask(
        lambda session, *_: kwhatif.deschedule(session, source, strategy=strategy, at=at, rounds=rounds, now=moment)
    )


@question(fail_on("not-resized"), "not-resized", without=["requests"])
def resize(
    *,
    pod: Annotated[
        str,
        typer.Argument(metavar="POD", help="pod/NAMESPACE/NAME.", autocompletion=complete_object, show_default=False),
    ],
    namespace: Namespace = None,
    requests: Annotated[
        list[str] | None,
        Option(
            "New requests, such as cpu=2,memory=1Gi. Repeatable. Or vpa: what does its VerticalPodAutoscaler do?",
            metavar="LIST",
        ),
    ] = None,
    limits: Annotated[list[str] | None, Option("New limits, in the same form. Repeatable.", metavar="LIST")] = None,
    container: Annotated[str, Option("Which container, if the pod has several.", metavar="NAME", short="-c")] = "",
    options: Times,
) -> Ask:
    """Is this pod resized in place, deferred, or refused? Does it restart, and which pods are in the way?

    \b
    Examples:
      kwhatif resize pod/shop/web-0 --requests cpu=2 --from cluster.yaml
      kwhatif resize pod/shop/web-0 --requests vpa --from cluster.yaml
      kwhatif resize pod/shop/web-0 --requests cpu=2,memory=4Gi --limits cpu=2,memory=4Gi -c main
    """
    by_vpa = requests == ["vpa"]
    asked: Any = "vpa" if by_vpa else _amounts(requests, "--requests")
    limited = _amounts(limits, "--limits")
    if by_vpa and (limited or container):
        raise OptionError("--requests", "vpa is about all containers and limits: leave --limits and -c out")
    if not (asked or limited):
        raise OptionError("--requests", "say the new requests or limits: --requests cpu=2")
    return Ask(
        lambda session, *_: kwhatif.resize(
            session, pod, requests=asked, limits=limited, container=container, namespace=namespace, now=now(), **options
        ),
        namespace=namespace,
    )


def _amounts(given: Sequence[str] | None, option: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in (part for text in given or () for part in text.split(",") if part):
        name, equals, amount = word.partition("=")
        if not equals or not name or not amount:
            raise OptionError(option, f"{word!r} is not a resource and its amount: write cpu=2")
        found[name] = amount
    return found
