"""`kwhatif gate`: the verdict over whole manifests, for a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import kwhatif
from kwhatif.api.options import Option, ReadingOptions
from kwhatif.api.refusals import Rollout, check_rollout
from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.cluster_options import Growth
from kwhatif.cli.options import Filenames, FindingsOutput, Manifests, Namespace, Printing, named, output_option
from kwhatif.cli.run import Style, deliver, now
from kwhatif.errors import ExitCode

if TYPE_CHECKING:
    from kwhatif.report import Report


def gate(
    *,
    cluster: SchedulerSource,
    growth: Growth,
    manifests: Manifests = None,
    filename: Filenames = None,
    policy: Annotated[
        str | None,
        Option(
            "The policy: what is allowed. Default: kwhatif.yaml or .kwhatif.yaml, here or in the root of the"
            " repository; without these, the built-in policy.",
            metavar="FILE",
        ),
    ] = None,
    rollout: Annotated[
        Rollout,
        Option(
            "How to judge updates: step by step until they complete (end), by their end state only (final), or while"
            " old pods are still there (surge).",
            metavar="HOW",
        ),
    ] = "end",
    namespace: Namespace = None,
    reading: ReadingOptions,
    output: Annotated[FindingsOutput, output_option(FindingsOutput)] = "table",
    fixes: Annotated[
        int,
        Option(
            "In Markdown and HTML, show the smallest fix for up to this many workloads that do not fit; 0: none.",
            metavar="N",
            min=0,
        ),
    ] = 3,
    printing: Printing,
) -> None:
    """If this is applied, do all pods get a node, which pods are evicted, which budgets break, and is that allowed?

    \b
    Examples:
      kwhatif gate manifests/ --from cluster.yaml
      helm template shop ./chart | kwhatif gate - --from cluster.yaml
      kwhatif gate manifests/ --from cluster.yaml --report junit=junit.xml
    """
    from kwhatif.api.arguments import require_no_problems

    check_rollout(rollout, grows=growth.is_asked)
    pods = named(manifests, filename)
    is_page = any(name in ("markdown", "html") for name in (output, *(name for name, _ in printing.files)))

    answers = cluster.ask(
        lambda session, names: kwhatif.gate(
            session,
            *names,
            policy=policy,
            rollout=rollout,
            strict=cluster.strict,
            today=now().date(),
            fixes=fixes if is_page else 0,
            namespace=namespace,
            **reading,
        ),
        pods,
        lenient=True,
        namespace=namespace,
        growth=growth,
    )
    deliver(answers, Style(output, printing), _code(answers.report))
    require_no_problems(answers.report)


def _code(report: Report) -> ExitCode:
    """Broken manifests come first, as their effect is not known. Then the policy decides."""
    if report.problems or report.policy is None or report.policy.verdict != "fail":
        return ExitCode.OK
    return ExitCode.ANSWERED_NO
