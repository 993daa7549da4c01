"""Many drains or outages, each alone, as test cases in JUnit's XML."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from kwhatif.render.edits import edit_lines
from kwhatif.render.safe import safe
from kwhatif.render.xml import clean, count, document, suite
from kwhatif.report import Report
from kwhatif.report.story import ScenarioRow
from kwhatif.words.amounts import took


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
