"""A report becomes complete: the sentences that only depend on the rest of it."""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.render.caveats import sentence, sentences
from kwhatif.render.deschedule import worded_cycle
from kwhatif.render.stand_ins import with_own_names
from kwhatif.render.story_words import worded_story, worded_verdict
from kwhatif.report import Report
from kwhatif.report.audit import AuditRow
from kwhatif.report.policy import FindingRow
from kwhatif.report.story import ScenarioRow
from kwhatif.words.audit import finding_message
from kwhatif.words.workload import decisions_by_workload, workload_message


def worded(report: Report) -> Report:
    """The report with every caveat, workload, replacement, story and scenario in words, and custom resources named."""
    details = tuple(replace(caveat, message=sentence(caveat)) for caveat in report.caveat_details)
    policy = report.policy
    complete = replace(
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
    return with_own_names(complete)


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
