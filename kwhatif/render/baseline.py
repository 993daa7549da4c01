"""`-o baseline`: the findings of an audit as a file for `--baseline`, to fill in."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kwhatif.render.safe import safe
from kwhatif.report import Report
from kwhatif.report.audit import AuditFindingRow
from kwhatif.report.row import API_VERSION


def to_baseline(report: Report) -> str:
    """YAML: each finding with its line above it; those that are accepted keep their owner, reason and last day."""
    found = () if report.audit is None else report.audit.findings
    head = f"apiVersion: {API_VERSION}\nkind: AuditBaseline\naccepted:{'' if found else ' []'}\n"
    return head + "".join(f"{line}\n" for finding in found for line in _lines(finding))


def _lines(finding: AuditFindingRow) -> Iterator[str]:
    accepted = finding.accepted
    yield f"# {safe(finding.message)}"
    yield f"- id: {finding.id}"
    yield f"  owner: {_quoted(accepted.owner if accepted else finding.owner)}"
    yield f"  reason: {_quoted(accepted.reason if accepted else '')}"
    if accepted is not None and accepted.until is not None:
        yield f"  until: {accepted.until}"


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()
