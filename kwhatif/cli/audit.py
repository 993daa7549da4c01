"""`kwhatif audit`: what in this cluster will hurt?"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.api.options import AuditArguments
from kwhatif.cli.autoscaling import Growth
from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.option_groups import reads_cluster
from kwhatif.cli.options import AllNamespaces, FindingsIn, Printing, fail_on, one_of, seconds
from kwhatif.cli.progress import counting_progress
from kwhatif.cli.run import Style, answer, now, parse_conditions
from kwhatif.errors import ExitCode

if TYPE_CHECKING:
    from kwhatif.questions.session.session import Session
    from kwhatif.report import Report


class AuditOutput(Enum):
    """Formats of an audit's answer."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    JUNIT = "junit"
    SARIF = "sarif"
    GITHUB = "github"
    GITLAB = "gitlab"
    MARKDOWN = "markdown"
    HTML = "html"
    BASELINE = "baseline"


FailOn = Annotated[
    str,
    fail_on("high", "medium", "low", "unjudged", besides=" A level means that one and all that are worse."),
]


@reads_cluster
def audit(
    *,
    cluster: SchedulerSource,
    growth: Growth,
    namespace: FindingsIn = None,
    all_namespaces: AllNamespaces = False,
    options: AuditArguments,
    output: Annotated[
        AuditOutput,
        typer.Option("--output", "-o", metavar="FORMAT", help=f"How to print the answer: {one_of(AuditOutput)}."),
    ] = AuditOutput.TABLE,
    fail_on: FailOn = "high",
    printing: Printing,
) -> None:
    """What in this cluster will hurt, the worst first, each proven by playing it?

    Every node and zone is lost, every node is drained, every workload restarted, scaled to its maximum and by one more.

    \b
    Examples:
      kwhatif audit --from cluster.yaml
      kwhatif audit --from cluster.yaml --only outage,drain --budget 60s
      kwhatif audit --from cluster.yaml --baseline accepted.yaml --fail-on medium
    """
    import kwhatif

    namespace = None if all_namespaces else namespace
    conditions = parse_conditions(fail_on, strict=cluster.strict)
    seconds(options.get("budget", "0"), "--budget")  # refuse what is none before anything is read

    def ask(session: Session, _: Sequence[str]) -> Report:
        with counting_progress("what-ifs") as advance:
            return kwhatif.audit(
                session,
                namespace=namespace,
                today=now().date(),
                progress=advance,
                **options,
            )

    answers = cluster.ask(ask, namespace=namespace, growth=growth)
    is_interrupted = answers.report.audit is not None and answers.report.audit.stopped == "interrupted"
    with suppress(typer.Exit) if is_interrupted else nullcontext():
        answer(answers, Style(output.value, printing), conditions)
    if is_interrupted:
        raise typer.Exit(ExitCode.INTERRUPTED)
