"""The stories that a page plays: that of the answer, or those of scenarios that were kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kwhatif.render.deschedule import why_evicted
from kwhatif.render.html.chart import Chart, chart_of
from kwhatif.report import Report
from kwhatif.report.story import Story
from kwhatif.simulation.history import EventRow


class Told(NamedTuple):
    """A story, and where it is told: `part` is the anchor of the part of the page; "": it is that of the answer.

    `reasons`: object -> why it is evicted, where the events do not say so.
    """

    title: str
    part: str
    story: Story
    reasons: Mapping[str, str] = {}

    @property
    def chart(self) -> Chart | None:
        """Its budgets over time."""
        return chart_of(self.story)

    def reason(self, event: EventRow) -> str:
        """Why it happened; "" if the event before says so."""
        return self.reasons.get(event.object, "") if event.because is None else ""


def told_of(report: Report, parts: Mapping[str, str]) -> list[Told]:
    """The stories of the report; `parts`: the title of each part of the page -> its anchor."""
    return [each for each in _told(report, parts) if len(each.story.events) > each.story.first_event]


def _told(report: Report, parts: Mapping[str, str]) -> Iterator[Told]:
    if report.story is not None:
        yield Told("", "", report.story)
    if report.deschedule is not None and report.deschedule.story is not None:
        reasons = {f"Pod {row.pod}": f"{row.plugin}, {why_evicted(row.why)}" for row in report.deschedule.evicted}
        yield Told("", "", report.deschedule.story, reasons)
    for found in () if report.audit is None else report.audit.findings:
        if found.story is not None:
            yield Told("", "", found.story)
    for row in report.scenarios:
        if row.story is not None and row.scenario in parts:
            yield Told(row.scenario, parts[row.scenario], row.story)
