"""SARIF 2.1.0, the format of code scanning."""

from __future__ import annotations

from typing import Any

import msgspec

from kwhatif._version import __version__
from kwhatif.policy.names import about
from kwhatif.render.edits import edit_lines
from kwhatif.render.issues import MANIFEST, Issue, as_uri, issues
from kwhatif.render.safe import safe
from kwhatif.report import Report

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def to_sarif(report: Report) -> str:
    """All findings, those that are suppressed too, with the reasons."""
    found = issues(report)
    rules = list(dict.fromkeys(issue.rule for issue in found))
    run = {
        "tool": {"driver": {"name": "kwhatif", "version": __version__, "rules": [_rule(name) for name in rules]}},
        "invocations": [_invocation(report)],
        "columnKind": "unicodeCodePoints",
        "results": [_result(issue, rules.index(issue.rule)) for issue in found],
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(log), indent=2).decode() + "\n"


def _rule(name: str) -> dict[str, Any]:
    text = "A manifest cannot be read" if name == MANIFEST else about(name)
    return {"id": name, "shortDescription": {"text": text}}


def _invocation(report: Report) -> dict[str, Any]:
    made: dict[str, Any] = {"executionSuccessful": not report.problems}
    notes = [*edit_lines(report), *report.caveats]
    if notes:
        made["toolExecutionNotifications"] = [
            {"level": "note", "message": {"text": _text(safe(note))}} for note in notes
        ]
    return made


def _result(issue: Issue, rule: int) -> dict[str, Any]:
    made: dict[str, Any] = {
        "ruleId": issue.rule,
        "ruleIndex": rule,
        "level": issue.level,
        "message": {"text": _text(issue.text)},
        "partialFingerprints": {"kwhatif/v1": issue.fingerprint},
    }
    location = _location(issue)
    if location:
        made["locations"] = [location]
    if issue.suppressed is not None:
        kind = "inSource" if issue.in_source else "external"
        made["suppressions"] = [{"kind": kind, "justification": issue.suppressed}]
    return made


def _location(issue: Issue) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if issue.file:
        made["physicalLocation"] = {"artifactLocation": {"uri": as_uri(issue.file)}}
        if issue.line:
            made["physicalLocation"]["region"] = {"startLine": issue.line}
    if issue.subject:
        made["logicalLocations"] = [{"fullyQualifiedName": issue.subject, "kind": "object"}]
    return made


def _text(text: str) -> str:
    """A message in which nothing is a placeholder or a link (3.11.5 and 3.11.6 of the specification)."""
    return text.replace("{", "{{").replace("}", "}}").replace("](", "] (")
