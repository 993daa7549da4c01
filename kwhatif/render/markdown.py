"""Markdown for pull request comments and step summaries, as GitHub and GitLab render it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from kwhatif.render.amounts import plural
from kwhatif.render.issues import Issue, issues, place
from kwhatif.render.qualifiers import qualifier
from kwhatif.render.safe import safe
from kwhatif.render.verdict import sentence_about
from kwhatif.report import Decision, Outcome, Report, WorkloadRow

#: A comment may hold 65,536 characters; what is left out is counted.
MAX_ROWS = 100
_MAX_TEXT = 300

_SIGNS: dict[Outcome, str] = {
    "Placed": "✅",
    "Preempts": "⚠️",
    "Unschedulable": "❌",
    "Gated": "⏸️",
    "Denied": "❌",
    "Ignored": "⏭️",
    "Waits": "⏳",
}
_VERDICTS = {"pass": "✅ The gate passes", "warn": "⚠️ The gate passes, with warnings", "fail": "❌ The gate fails"}

#: What means something within a line; text never begins one here.
_PUNCTUATION = re.compile(r"([\\`*_\[\]<>|~&$^])")
#: What becomes a mention, a reference, an emoji or a link by itself, however it is escaped.
_REFERENCES = re.compile(r"@(?=\w)|[#!&$](?=\d)|[~%](?=[\w\"])|:(?=//)|:(?=\w+:)|www(?=\.)", re.IGNORECASE)
_ZERO_WIDTH_SPACE = "\u200b"


def to_markdown(report: Report) -> str:
    """A heading with the verdict, a table, the findings; everything from manifests and cluster is inert."""
    parts = _gate(report) if report.command == "gate" else _decisions(report)
    return "\n".join([*parts, *_caveats(report)]) + "\n"


def prose(text: str) -> str:
    """The text as nothing but text: no markup, no mention, no link."""
    text = safe(text)
    shown = text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"
    return _PUNCTUATION.sub(r"\\\1", _REFERENCES.sub(lambda found: found[0] + _ZERO_WIDTH_SPACE, shown))


def code(text: str) -> str:
    """The text as a code span."""
    text = safe(text)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{text}{space}{fence}"


def _gate(report: Report) -> Iterator[str]:
    verdict = report.policy.verdict if report.policy else "pass"
    doubt = qualifier(report) if verdict == "warn" and not report.problems else ""
    yield f"### {_VERDICTS['fail' if report.problems else verdict]}{f', but {prose(doubt)}' if doubt else ''}"
    yield ""
    yield from _table(("", "Workload", "Manifest", "Placed", "Result"), map(_workload, report.workloads))
    found = issues(report)
    counting = [issue for issue in found if issue.suppressed is None]
    if counting:
        yield from ("", "#### Findings", "", *_limited(map(_finding, counting), len(counting)))
    suppressed = [issue for issue in found if issue.suppressed is not None]
    if suppressed:
        yield from ("", "<details><summary>Suppressed findings</summary>", "")
        yield from (*_limited(map(_finding, suppressed), len(suppressed)), "", "</details>")


def _workload(row: WorkloadRow) -> tuple[str, ...]:
    stuck = row.unschedulable + row.denied
    sign = "❌" if stuck else "⚠️" if row.placed < row.replicas else "✅"
    where = _cell(_location(*place(row.source)))
    return sign, _cell(row.name), where, f"{row.placed}/{row.replicas}", prose(row.message)


def _finding(issue: Issue) -> str:
    sign = "❌" if issue.level == "error" else "⚠️"
    subject = f" {code(issue.subject)}" if issue.subject else ""
    where = f" ({code(_location(issue.file, issue.line))})" if issue.file else ""
    reason = "" if issue.suppressed is None else f" — {prose(issue.suppressed)}"
    return f"- {sign} **{prose(issue.rule)}**{subject}{where}: {prose(issue.message)}{reason}"


def _decisions(report: Report) -> Iterator[str]:
    rows = (_decision(decision, report) for decision in report.decisions)
    yield from _table(("", "Pod", "Node", "Result"), rows)


def _decision(decision: Decision, report: Report) -> tuple[str, ...]:
    node = _cell(decision.node) if decision.node else ""
    return _SIGNS[decision.outcome], _cell(decision.pod), node, prose(sentence_about(decision, report))


def _table(header: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in islice(rows, MAX_ROWS):
        yield f"| {' | '.join(row)} |"
    hidden = sum(1 for _ in rows)
    if hidden:
        yield f"\n… and {hidden:,} more"


def _limited(lines: Iterator[str], count: int) -> Iterator[str]:
    yield from islice(lines, MAX_ROWS)
    if count > MAX_ROWS:
        yield f"- … and {count - MAX_ROWS:,} more"


def _cell(text: str) -> str:
    """A code span within a table, where a bar ends the cell whatever it stands in."""
    return code(text).replace("|", "\\|")


def _location(file: str, line: int) -> str:
    return f"{file}:{line}" if line else file


def _caveats(report: Report) -> Iterator[str]:
    if report.caveats:
        yield from ("", f"<details><summary>{plural(len(report.caveats), 'caveat')}</summary>", "")
        yield from _limited((f"- {prose(caveat)}" for caveat in report.caveats), len(report.caveats))
        yield from ("", "</details>")
