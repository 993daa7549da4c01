"""The gate for people: the verdict, a line per workload, the findings, and with `-o wide` what backs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kwhatif.render.amounts import plural
from kwhatif.render.issues import MANIFEST, Issue, issues
from kwhatif.render.text import BAD, FAINT, GOOD, WARN, table, text
from kwhatif.report import PolicyVerdict, Report, WorkloadRow

_VERDICTS: dict[PolicyVerdict, tuple[str, str, str]] = {
    "pass": ("✔", "passes", GOOD),
    "warn": ("!", "passes with warnings", WARN),
    "fail": ("✘", "fails", BAD),
}


def gate(report: Report, *, quiet: bool) -> Iterator[RenderableType]:
    """Verdict, workloads, findings."""
    # What is wrong with manifests is told on stderr, as every command does.
    found = [issue for issue in issues(report) if issue.rule != MANIFEST]
    yield _verdict(report, found)
    if quiet:
        return
    if report.workloads:
        yield _workloads(report.workloads)
    if found:
        yield _findings(found)


def _verdict(report: Report, found: Sequence[Issue]) -> Text:
    verdict = "fail" if report.problems or report.policy is None else report.policy.verdict
    sign, word, style = _VERDICTS[verdict]
    counts = Counter(issue.level for issue in found if issue.suppressed is None)
    said = [f"{plural(len(report.problems), 'problem')} in manifests"] if report.problems else []
    said += [plural(counts["error"], "failure")] if counts["error"] else []
    said += [plural(counts["warning"], "warning")] if counts["warning"] else []
    suppressed = sum(issue.suppressed is not None for issue in found)
    said += [f"{suppressed} suppressed"] if suppressed else []
    pods = sum(row.replicas for row in report.workloads)
    judged = f"{plural(len(report.workloads), 'workload')}, {plural(pods, 'pod')}"
    return Text.assemble((sign, style), " ", (f"The gate {word}", style), f": {'; '.join([judged, *said])}")


def _workloads(rows: Sequence[WorkloadRow]) -> Table:
    made = table("", "WORKLOAD", "MANIFEST", "PLACED", "RESULT", right=("PLACED",))
    for row in rows:
        sign, style = sign_of(row)
        made.add_row(
            text(sign, style),
            text(row.name),
            text(f"{row.source.file}:{row.source.line}" if row.source.line else row.source.file, FAINT),
            text(f"{row.placed}/{row.replicas}" if row.replicas else "-"),
            text(row.message, style if style != GOOD else ""),
        )
    return made


def sign_of(row: WorkloadRow) -> tuple[str, str]:
    """Sign and style of what becomes of the workload."""
    if row.unschedulable or row.denied:
        return "✘", BAD
    return ("!", WARN) if row.placed < row.replicas else ("✔", GOOD)


def queued_before(report: Report) -> Iterator[Text]:
    """That pods which were pending already have taken room first."""
    count = sum(row.node is not None for row in report.queued_before)
    if count:
        were = "pod that was" if count == 1 else "pods that were"
        yield text(f"{count:,} {were} pending already {'is' if count == 1 else 'are'} placed first", FAINT)


def _findings(found: Sequence[Issue]) -> Table:
    made = table("", "RULE", "WORKLOAD", "FINDING")
    for issue in sorted(found, key=lambda issue: issue.suppressed is not None):
        if issue.suppressed is not None:
            where = "annotation" if issue.in_source else "exception"
            why = f"{issue.message} (suppressed by {where}: {issue.suppressed})"
            made.add_row(text("-", FAINT), text(issue.rule, FAINT), text(issue.subject, FAINT), text(why, FAINT))
            continue
        sign, style = ("✘", BAD) if issue.level == "error" else ("!", WARN)
        made.add_row(text(sign, style), text(issue.rule, style), text(issue.subject), text(issue.message))
    return made
