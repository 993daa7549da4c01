"""A report becomes complete: the sentences that only depend on the rest of it."""

from __future__ import annotations

import html

from msgspec.structs import replace

from kwhatif.render.caveats import sentence, sentences
from kwhatif.render.deschedule import worded_cycle
from kwhatif.render.story_words import worded_story, worded_verdict
from kwhatif.report import Report
from kwhatif.report.audit import AuditRow
from kwhatif.report.comparison import Comparison
from kwhatif.report.policy import FindingRow
from kwhatif.report.row import Document, draw_in_notebooks
from kwhatif.report.story import ScenarioRow
from kwhatif.words.audit import finding_message
from kwhatif.words.workload import decisions_by_workload, workload_message


def _framed(document: Document) -> str | None:
    """Its page as a part of a notebook: in a frame, so that neither changes how the other looks."""
    from kwhatif.render.html.page import comparison_to_html, to_html

    match document:
        case Report():
            made = to_html(document)
        case Comparison():
            made = comparison_to_html(document)
        case _:
            return None
    page = html.escape(made, quote=True)
    return f'<iframe srcdoc="{page}" style="width: 100%; height: 40em; border: 0" title="kwhatif"></iframe>'


draw_in_notebooks(_framed)


def worded(report: Report) -> Report:
    """The report with every caveat, workload, replacement, story and scenario in words."""
    details = tuple(replace(caveat, message=sentence(caveat)) for caveat in report.caveat_details)
    policy = report.policy
    return replace(
        report,
        caveats=sentences(details),
        caveat_details=details,
        workloads=tuple(
            replace(row, message=workload_message(row, decisions))
            for row, decisions in decisions_by_workload(report)[0]
        ),
        policy=None if policy is None else replace(policy, findings=tuple(map(_finding, policy.findings))),
        deschedule=None if report.deschedule is None else worded_cycle(report.deschedule),
        story=None if report.story is None else worded_story(report.story),
        scenarios=tuple(map(_scenario, report.scenarios)),
        audit=None if report.audit is None else _audit(report.audit),
    )


def _finding(finding: FindingRow) -> FindingRow:
    caveat = finding.caveat
    if caveat is None:
        return finding
    text = sentence(caveat)
    return replace(finding, message=text, caveat=replace(caveat, message=text))


def _audit(row: AuditRow) -> AuditRow:
    return replace(row, findings=tuple(replace(each, message=finding_message(each)) for each in row.findings))


def _scenario(row: ScenarioRow) -> ScenarioRow:
    story = None if row.story is None else worded_story(row.story)
    return replace(row, verdict=worded_verdict(row.verdict), story=story)
