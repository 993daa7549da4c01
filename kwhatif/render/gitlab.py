"""GitLab's Code Quality report."""

from __future__ import annotations

import msgspec

from kwhatif.render.issues import Issue, issues
from kwhatif.report import Report

_SEVERITY = {"error": "critical", "warning": "minor"}

#: A finding without a place of its own still needs one to be shown.
_NOWHERE = "kwhatif.yaml"


def to_gitlab(report: Report) -> str:
    """The findings that count, as a JSON list."""
    rows = [_row(issue) for issue in issues(report) if issue.suppressed is None]
    return msgspec.json.format(msgspec.json.encode(rows), indent=2).decode() + "\n"


def _row(issue: Issue) -> dict[str, object]:
    return {
        "description": issue.text,
        "check_name": issue.rule,
        "fingerprint": issue.fingerprint,
        "severity": _SEVERITY[issue.level],
        "location": {"path": issue.file or _NOWHERE, "lines": {"begin": issue.line or 1}},
    }
