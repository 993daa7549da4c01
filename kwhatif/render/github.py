"""Workflow commands of GitHub Actions: annotations at the manifests' lines."""

from __future__ import annotations

from kwhatif.render.issues import Issue, issues
from kwhatif.report import Report


def to_github(report: Report) -> str:
    """One command per finding that counts."""
    return "".join(f"{_command(issue)}\n" for issue in issues(report) if issue.suppressed is None)


def _command(issue: Issue) -> str:
    properties = {
        "file": issue.file,
        "line": str(issue.line or "") if issue.file else "",
        "title": f"kwhatif: {issue.rule}",
    }
    said = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value)
    return f"::{issue.level} {said}::{_data(issue.text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
