"""JUnit's XML: a suite per file, a test per workload or scenario, as CI systems show tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from xml.etree import ElementTree as ET

from kwhatif.render.edits import edit_lines
from kwhatif.render.issues import MANIFEST, Issue, issues, place
from kwhatif.render.rejections import may_evict, rejected_groups
from kwhatif.render.safe import safe
from kwhatif.render.scenario_files import audit_junit, scenarios_junit
from kwhatif.render.xml import clean, count, document, suite
from kwhatif.report import Report
from kwhatif.words.amounts import plural

#: The suite of what does not belong to any workload.
_POLICY = "policy"


def to_junit(report: Report) -> str:
    """A test fails by the findings that fail; warnings and suppressed findings are its output."""
    if report.scenarios:
        return scenarios_junit(report)
    if report.audit is not None:
        return audit_junit(report, report.audit)
    suites: dict[str, dict[str, list[Issue]]] = {}
    for row in report.workloads:
        suites.setdefault(place(row.source)[0], {})[safe(row.name)] = []
    for issue in issues(report):
        suites.setdefault(issue.file or _POLICY, {}).setdefault(issue.subject or issue.rule, []).append(issue)
    messages = {safe(row.name): safe(row.message) for row in report.workloads}
    root = ET.Element("testsuites", name="kwhatif")
    for file, cases in suites.items():
        root.append(_suite(file, cases, messages, list(edit_lines(report))))
    _count(root, [issue for cases in suites.values() for issue in cases.values()])
    return document(root)


def _suite(
    file: str, cases: Mapping[str, Sequence[Issue]], messages: Mapping[str, str], edits: Sequence[str]
) -> ET.Element:
    made = suite(file, edits)
    _count(made, cases.values())
    if file != _POLICY:
        made.set("file", clean(file))
    for name, found in cases.items():
        case = ET.SubElement(made, "testcase", name=clean(name), classname="kwhatif.gate")
        for issue in found:
            if _fails(issue):
                tag = "error" if _is_broken(issue) else "failure"
                failure = ET.SubElement(case, tag, type=clean(issue.rule), message=clean(issue.message))
                failure.text = clean("\n".join([_where(issue) + issue.text, *_evidence(issue)]))
        said = [messages.get(name, ""), *(_remark(issue) for issue in found if not _fails(issue))]
        if any(said):
            ET.SubElement(case, "system-out").text = clean("\n".join(filter(None, said)))
    return made


def _count(element: ET.Element, cases: Iterable[Sequence[Issue]]) -> None:
    failing = [[issue for issue in found if _fails(issue)] for found in cases]
    broken = sum(any(map(_is_broken, found)) for found in failing)
    count(element, len(failing), sum(map(bool, failing)) - broken, broken)


def _fails(issue: Issue) -> bool:
    return issue.level == "error" and issue.suppressed is None


def _is_broken(issue: Issue) -> bool:
    return issue.rule == MANIFEST


def _where(issue: Issue) -> str:
    return f"{issue.file}:{issue.line}: " if issue.file and issue.line else ""


def _evidence(issue: Issue) -> Iterator[str]:
    """A line per group of nodes, and the scheduler's own words."""
    decision = issue.decision
    if decision is None:
        return
    for group in rejected_groups(decision.rejected, may_evict=may_evict(decision)):
        yield safe(f"{plural(group.size, 'node')}: {'; '.join([*group.reasons, *group.evidence, group.where])}")
    if decision.message:
        yield safe(f"kube-scheduler's words: {decision.message}")


def _remark(issue: Issue) -> str:
    suppressed = "" if issue.suppressed is None else f" (suppressed: {issue.suppressed})"
    return f"{issue.level}: {issue.rule}: {issue.message}{suppressed}"
