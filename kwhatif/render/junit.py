"""JUnit's XML: a suite per file, a test per workload or scenario, as CI systems show tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from xml.etree import ElementTree as ET

from kwhatif.render.amounts import plural, took
from kwhatif.render.answer import edit_lines
from kwhatif.render.audit import fix_words
from kwhatif.render.evidence import may_evict, rejected_groups
from kwhatif.render.gate import MANIFEST, Issue, issues, place
from kwhatif.render.safe import safe
from kwhatif.report import Report
from kwhatif.report.risks import AuditFindingRow, AuditRow, ProbeRow
from kwhatif.report.story import ScenarioRow

#: Characters that are not valid in XML.
_NONCHARACTERS = {0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"}


def clean(text: str) -> str:
    """Text that is `safe`, without what XML does not allow."""
    return text.translate(_NONCHARACTERS)


def suite(name: str, edits: Iterable[str]) -> ET.Element:
    """A test suite, with the edits on which its tests are based."""
    made = ET.Element("testsuite", name=clean(name))
    lines = list(edits)
    properties = ET.SubElement(made, "properties") if lines else made
    for line in lines:
        ET.SubElement(properties, "property", name="edit", value=clean(safe(line)))
    return made


def count(element: ET.Element, tests: int, failures: int, errors: int = 0) -> None:
    """Attributes: the number of tests of a suite, or of all suites, and how many do not pass."""
    for name, number in {"tests": tests, "failures": failures, "errors": errors}.items():
        element.set(name, str(number))


def document(root: ET.Element) -> str:
    """The whole file."""
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


#: The suite of issues without a workload.
_POLICY = "policy"


def to_junit(report: Report) -> str:
    """A test fails if a finding fails; warnings and suppressed findings are its output."""
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


# --- scenarios -------------------------------------------------------------------------------------------------------


def scenarios_junit(report: Report) -> str:
    """A test case each, which fails where the scenario does harm."""
    rows = report.scenarios
    made = suite(f"{report.command} --each", edit_lines(report))
    made.extend(_case(report.command, row) for row in rows)
    if report.caveats:
        ET.SubElement(made, "system-out").text = clean("\n".join(map(safe, report.caveats)))
    root = ET.Element("testsuites", name="kwhatif")
    root.append(made)
    for element in (root, made):
        count(element, len(rows), sum(not row.verdict.ok for row in rows))
    return document(root)


def _case(command: str, row: ScenarioRow) -> ET.Element:
    verdict = row.verdict
    case = ET.Element("testcase", name=clean(safe(row.scenario)), classname=f"kwhatif.{command}")
    if not verdict.ok:
        failure = ET.SubElement(case, "failure", type="harm", message=clean(safe(verdict.why)))
        lines = (
            *(f"stays pending: {pod}" for pod in verdict.pending),
            *(f"budget broken: {budget}" for budget in verdict.broken),
            *(f"blocked: {each.pod}: {each.why}" for each in (row.story.blocked if row.story else ())),
        )
        failure.text = clean("\n".join(map(safe, lines)))
    numbers = f"{verdict.moved} pods move, {verdict.preempted} evicted in turn, settled after {took(verdict.seconds)}"
    ET.SubElement(case, "system-out").text = numbers
    return case


def audit_junit(report: Report, row: AuditRow) -> str:
    """A suite for each kind of what-if, a test case for each finding; one without findings has a case that passes.

    Findings of level high fail, what was not judged is an error; accepted findings pass.
    """
    root = ET.Element("testsuites", name="kwhatif")
    totals = [0, 0, 0]
    for probe in row.probes:
        found = [each for each in row.findings if each.worst.probe == probe.probe]
        made = suite(f"audit {probe.probe}", edit_lines(report))
        made.extend([*map(_finding_case, found), *([_probe_case(probe)] if not found or _lacks(probe) else [])])
        failing = sum(each.level == "high" and each.accepted is None for each in found)
        numbers = len(list(made.iter("testcase"))), failing, int(_lacks(probe))
        count(made, *numbers)
        totals = [total + number for total, number in zip(totals, numbers, strict=True)]
        root.append(made)
    count(root, *totals)
    return document(root)


def _lacks(probe: ProbeRow) -> bool:
    return probe.judged < probe.scenarios


def _probe_case(probe: ProbeRow) -> ET.Element:
    case = ET.Element("testcase", name=probe.probe, classname="kwhatif.audit")
    if _lacks(probe):
        said = f"{probe.judged} of {plural(probe.scenarios, 'what-if')} judged"
        ET.SubElement(case, "error", type="unjudged", message=said)
    elif probe.skipped and not probe.scenarios:
        ET.SubElement(case, "skipped", message=clean(safe(probe.skipped)))
    else:
        ET.SubElement(case, "system-out").text = f"{plural(probe.judged, 'what-if')}, and nothing was found"
    return case


def _finding_case(finding: AuditFindingRow) -> ET.Element:
    case = ET.Element("testcase", name=clean(finding.id), classname="kwhatif.audit")
    helps = fix_words(finding)
    what = "what helps" if finding.fix is not None else "what may help"
    lines = [finding.message, f"shown by: {finding.command}", *([f"{what}: {helps}"] if helps else [])]
    if finding.level == "high" and finding.accepted is None:
        failure = ET.SubElement(case, "failure", type=finding.harm, message=clean(safe(finding.message)))
        failure.text = clean("\n".join(map(safe, lines[1:])))
    else:
        accepted = "" if finding.accepted is None else f"accepted: {finding.accepted.reason}"
        said = [f"level {finding.level}", *([accepted] if accepted else []), *lines]
        ET.SubElement(case, "system-out").text = clean("\n".join(map(safe, said)))
    return case
