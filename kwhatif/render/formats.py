"""The formats of answers that are files for other tools: GitHub, GitLab, SARIF and `--baseline`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from kwhatif._version import __version__
from kwhatif.policy.schema import about
from kwhatif.render.answer import edit_lines
from kwhatif.render.gate import MANIFEST, Issue, as_uri, issues
from kwhatif.render.junit import to_junit
from kwhatif.render.markdown import comparison_to_markdown, to_markdown
from kwhatif.render.safe import is_safe, safe, safe_json, safe_yaml
from kwhatif.report import Report
from kwhatif.report.comparison import Comparison
from kwhatif.report.risks import AuditFindingRow
from kwhatif.report.row import API_VERSION, Document

if TYPE_CHECKING:
    import yaml


def to_json(report: Document) -> str:
    """Indented JSON, in the order of the schema."""
    return safe_json(report.to_json(indent=2)) + "\n"


def to_yaml(report: Document) -> str:
    """YAML with the same content."""
    import yaml

    content = report.to_dict()
    try:
        written = _dumped(content, getattr(yaml, "CSafeDumper", yaml.SafeDumper))  # in a third of the time
    except UnicodeEncodeError:  # libyaml does not take what was not UTF-8 on the command line
        written = _dumped(content, yaml.SafeDumper)
    return safe_yaml(written)


def _dumped(content: object, dumper: type[yaml.SafeDumper]) -> str:
    import yaml

    class Dumper(dumper):  # type: ignore[misc, valid-type]
        """Quotes texts with active characters, so that they can be escaped."""

        def represent_str(self, data: str) -> yaml.ScalarNode:
            style = None if is_safe(data.replace("\n", "")) else '"'
            node: yaml.ScalarNode = self.represent_scalar("tag:yaml.org,2002:str", data, style=style)
            return node

    Dumper.add_representer(str, Dumper.represent_str)
    text: str = yaml.dump(content, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text


def to_baseline(report: Report) -> str:
    """The findings of an audit as a YAML file for `--baseline`, to fill in, each with its line above it.

    Findings that are already accepted keep their owner, reason and last day.
    """
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


def to_github(report: Report) -> str:
    """Workflow commands of GitHub Actions: a notice per edit, and an annotation per finding that counts."""
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


_SEVERITY = {"error": "critical", "warning": "minor"}

#: GitHub shows only findings with a place.
_NOWHERE = "kwhatif.yaml"


def to_gitlab(report: Report) -> str:
    """GitLab's Code Quality report: the findings that count, as a JSON list."""
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


_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def to_sarif(report: Report) -> str:
    """SARIF 2.1.0, the format of code scanning: all findings, those that are suppressed too, with the reasons."""
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


def _html(report: Report) -> str:
    from kwhatif.render.html.page import to_html  # Jinja takes as long to import as a small answer takes

    return to_html(report)


def _comparison_html(comparison: Comparison) -> str:
    from kwhatif.render.html.page import comparison_to_html

    return comparison_to_html(comparison)


FORMATS: Mapping[str, Callable[[Report], str]] = {
    "json": to_json,
    "yaml": to_yaml,
    "junit": to_junit,
    "sarif": to_sarif,
    "github": to_github,
    "gitlab": to_gitlab,
    "markdown": to_markdown,
    "html": _html,
    "baseline": to_baseline,
}
#: for two answers side by side
COMPARISONS: Mapping[str, Callable[[Comparison], str]] = {
    "json": to_json,
    "yaml": to_yaml,
    "markdown": comparison_to_markdown,
    "html": _comparison_html,
}
