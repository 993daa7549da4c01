"""`kwhatif resize`: does this pod get more, or less, where it runs?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kwhatif.api.options import Times
from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.names import complete_object
from kwhatif.cli.option_groups import reads_cluster
from kwhatif.cli.options import Namespace, Output, OutputOption, Printing, fail_on
from kwhatif.cli.run import Style, answer, now, parse_conditions

if TYPE_CHECKING:
    from kwhatif.questions.session.session import Session
    from kwhatif.report import Report

PodName = Annotated[
    str,
    typer.Argument(metavar="POD", help="pod/NAMESPACE/NAME.", autocompletion=complete_object, show_default=False),
]


@reads_cluster
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
    output: OutputOption = Output.TABLE,
    fail_on: Annotated[str, fail_on("not-resized")] = "not-resized",
    printing: Printing,
) -> None:
    """Is this pod resized in place, deferred, or refused? Does it restart, and who stands in the way?

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
        raise typer.BadParameter("say what the pod is to get: --requests cpu=2", param_hint="--requests")

    def ask(session: Session, _: Sequence[str]) -> Report:
        return kwhatif.resize(
            session, pod, requests=asked, limits=limited, container=container, namespace=namespace, now=now(), **options
        )

    # What other commands mean by `--requests` is an edit; here the option has words of its own.
    cluster = replace(cluster, requests=None)
    answer(cluster.ask(ask, namespace=namespace), Style(output.value, printing), conditions)


def _amounts(given: Sequence[str] | None, option: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in (part for text in given or () for part in text.split(",") if part):
        name, equals, amount = word.partition("=")
        if not equals or not name or not amount:
            raise typer.BadParameter(f"{word!r} is not a resource and its amount: write cpu=2", param_hint=option)
        found[name] = amount
    return found
