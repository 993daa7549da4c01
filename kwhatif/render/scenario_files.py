"""Many what-ifs, each alone, as test cases in JUnit's XML: drains, outages, and those of an audit."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from kwhatif.render.edits import edit_lines
from kwhatif.render.safe import safe
from kwhatif.render.xml import clean, count, document, suite
from kwhatif.report import Report
from kwhatif.report.audit import AuditFindingRow, AuditRow, ProbeRow
from kwhatif.report.story import ScenarioRow
from kwhatif.words.amounts import plural, took


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
    helps = " and ".join(finding.fix.edits) if finding.fix is not None else ""
    lines = [finding.message, f"shown by: {finding.command}", *([f"what helps: {helps}"] if helps else [])]
    if finding.level == "high" and finding.accepted is None:
        failure = ET.SubElement(case, "failure", type=finding.harm, message=clean(safe(finding.message)))
        failure.text = clean("\n".join(map(safe, lines[1:])))
    else:
        accepted = "" if finding.accepted is None else f"accepted: {finding.accepted.reason}"
        said = [f"level {finding.level}", *([accepted] if accepted else []), *lines]
        ET.SubElement(case, "system-out").text = clean("\n".join(map(safe, said)))
    return case
