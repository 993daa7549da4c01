"""Workflow commands of GitHub Actions: annotations at the manifests' lines."""

from __future__ import annotations

from kwhatif.render.edits import edit_lines
from kwhatif.render.issues import Issue, issues
from kwhatif.render.safe import safe
from kwhatif.report import Report


def to_github(report: Report) -> str:
    """A notice per edit, and one command per finding that counts."""
    notices = (f"::notice title=kwhatif%3A edit::{_data(safe(line))}" for line in edit_lines(report))
    findings = (_command(issue) for issue in issues(report) if issue.suppressed is None)
    return "".join(f"{line}\n" for line in (*notices, *findings))


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
