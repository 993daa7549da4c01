"""`kwhatif resize` in blocks."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.render.blocks import Block, Item, Listing, Sentence, titled, verdict
from kwhatif.render.detail import Detail
from kwhatif.render.outcomes import Quality
from kwhatif.render.qualifiers import qualifier
from kwhatif.render.story import aftermath
from kwhatif.report import Report
from kwhatif.report.resize import ResizeRow
from kwhatif.words.amounts import listed


def resize(report: Report, row: ResizeRow, detail: Detail) -> Iterator[Block]:
    """The decision, who says so, what is in the way, and what follows."""
    yield verdict(_decision(row), qualifier(report))
    if detail.quiet:
        return
    if row.message:
        who = "The API server" if row.decision == "Refused" else f"The kubelet of {row.node}"
        yield Sentence(f"{who}: {row.message}")
    if row.decision == "Deferred":
        yield Sentence("The pod keeps what it has, though the scheduler counts what it asks for", "faint")
        gone = Listing([Item(f"Pod {key}") for key in row.in_the_way])
        yield from titled("It fits without", gone)
    if report.story is not None and row.decision == "Fits":
        yield aftermath(report.story)


def _decision(row: ResizeRow) -> tuple[Quality, str]:
    change = f" ({row.change})" if row.change else ""
    match row.decision:
        case "Fits":
            restarts = f", and restarts {listed(row.restarts)}" if row.restarts else ", without a restart"
            return "good", f"Pod {row.pod} is resized in place on {row.node}{change}{restarts}"
        case "Deferred":
            return "bad", f"The resize of Pod {row.pod}{change} is deferred: {row.node} has no room for it now"
        case "Infeasible":
            return "bad", f"The resize of Pod {row.pod}{change} is infeasible: {row.node} never has the room"
        case "Refused":
            return "bad", f"The resize of Pod {row.pod} is refused"
