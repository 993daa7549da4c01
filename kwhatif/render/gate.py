"""The gate for people: the verdict, a line per workload, the findings, and with `-o wide` what backs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kwhatif.render.detail import MANY, Detail
from kwhatif.render.issues import MANIFEST, Issue, grouped, issues
from kwhatif.render.outcomes import SIGNS, sign_of, workload_groups
from kwhatif.render.qualifiers import qualifier
from kwhatif.render.text import BAD, FAINT, GOOD, WARN, table, text
from kwhatif.report import Report
from kwhatif.report.policy import PolicyVerdict
from kwhatif.report.workload import WorkloadRow
from kwhatif.words.amounts import plural, some

#: A path of more characters leaves no room for the result beside it.
_LONGEST_PATH = 32
_VERDICTS: dict[PolicyVerdict, tuple[str, str, str]] = {
    "pass": ("✔", "passes", GOOD),
    "warn": ("!", "passes with warnings", WARN),
    "fail": ("✘", "fails", BAD),
}


def gate(report: Report, detail: Detail) -> Iterator[RenderableType]:
    """Verdict, workloads, findings."""
    # What is wrong with manifests is reported on stderr, as every command does.
    found = [issue for issue in issues(report) if issue.rule != MANIFEST]
    yield _verdict(report, found)
    if detail.quiet:
        return
    yield _policy(report)
    if report.workloads:
        yield _workloads(report.workloads, {issue.subject for issue in found if issue.suppressed is None}, detail)
    if found:
        yield _findings(found, detail)


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
    doubt = qualifier(report) if verdict == "warn" else ""
    said_so = f"passes, but {doubt}" if doubt else word
    return Text.assemble((sign, style), " ", (f"The gate {said_so}", style), f": {'; '.join([judged, *said])}")


def _policy(report: Report) -> Text:
    source = report.policy.source if report.policy else ""
    return text(f"By the policy in {source}" if source else "By the default policy", FAINT)


def _workloads(rows: Sequence[WorkloadRow], found: Collection[str], detail: Detail) -> Table:
    """The worst first; of many workloads those with equal results are one row, unless wide."""
    made = table("", "WORKLOAD", "MANIFEST", "PLACED", "RESULT", right=("PLACED",))
    paths = {row.source.file: row.source.file for row in rows} if detail.wide else short_paths(rows)
    for alike in workload_groups(rows, len(rows) if detail.wide else MANY):
        first = alike[0]
        path = paths[first.source.file]
        sign, style = sign_of(first)
        if style == GOOD and any(row.name in found for row in alike):
            sign, style = SIGNS["Preempts"]
        more = f" and {len(alike) - 1:,} more" if len(alike) > 1 else ""
        placed, replicas = sum(row.placed for row in alike), sum(row.replicas for row in alike)
        fits = more and first.placed == first.replicas and replicas
        said = "all pods fit" if fits else detail.names.cut(first.message)
        made.add_row(
            text(sign, style),
            text(f"{first.name}{more}"),
            text(f"{path}:{first.source.line}" if first.source.line else path, FAINT),
            text(f"{placed:,}/{replicas:,}" if replicas else "-"),
            text(said, style if style != GOOD else ""),
        )
    return made


def short_paths(rows: Sequence[WorkloadRow]) -> dict[str, str]:
    """Paths as the table shows them: where one is long, without the folders that all share, then each by itself."""
    paths = {row.source.file: row.source.file.split("/") for row in rows}
    if max(map(len, paths)) <= _LONGEST_PATH:
        return {path: path for path in paths}
    folders = zip(*(parts[:-1] for parts in paths.values()), strict=False)
    shared = sum(1 for _ in takewhile(lambda names: len(set(names)) == 1, folders))
    return {path: _shortened("/".join(["…", *parts[shared:]]) if shared else path) for path, parts in paths.items()}


def _shortened(path: str) -> str:
    while len(path) > _LONGEST_PATH and "/" in path.removeprefix("…/"):
        path = f"…/{path.removeprefix('…/').partition('/')[2]}"
    return path


def queued_before(report: Report) -> Iterator[Text]:
    """That pods which were pending already have taken room first."""
    count = sum(row.node is not None for row in report.queued_before)
    if count:
        were = "pod that was" if count == 1 else "pods that were"
        yield text(f"{count:,} {were} pending already {'is' if count == 1 else 'are'} placed first", FAINT)


def _findings(found: Sequence[Issue], detail: Detail) -> Table:
    """Equal findings about several workloads are one row."""
    made = table("", "RULE", "WORKLOAD", "FINDING")
    for alike in sorted(grouped(found), key=lambda alike: alike[0].suppressed is not None):
        issue = alike[0]
        message = detail.names.cut(issue.message)
        subject = issue.subject if len(alike) == 1 else some([each.subject for each in alike], 1)
        if issue.suppressed is not None:
            where = "annotation" if issue.in_source else "exception"
            why = f"{message} (suppressed by {where}: {issue.suppressed})"
            made.add_row(text("-", FAINT), text(issue.rule, FAINT), text(subject, FAINT), text(why, FAINT))
            continue
        sign, style = ("✘", BAD) if issue.level == "error" else ("!", WARN)
        made.add_row(text(sign, style), text(issue.rule, style), text(subject), text(message))
    return made
