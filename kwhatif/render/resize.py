"""`kwhatif resize` in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kwhatif.autoscaler.vertical_updater import Why
from kwhatif.render.blocks import Block, Item, Listing, Sentence, titled, verdict
from kwhatif.render.detail import Detail
from kwhatif.render.outcomes import Quality
from kwhatif.render.qualifiers import qualifier
from kwhatif.render.story import aftermath
from kwhatif.report import Report
from kwhatif.report.deciders import ResizeRow, UpdaterRow
from kwhatif.words.amounts import listed, plural, took


def resize(report: Report, row: ResizeRow, detail: Detail) -> Iterator[Block]:
    """The decision, who says so, what is in the way, and what follows."""
    yield verdict(_decision(row), qualifier(report))
    if detail.quiet:
        return
    if row.updater is not None and row.updater.refused:
        yield Sentence(f"The Eviction API: {row.updater.refused}")
    if row.message and _was_asked(row):
        who = "The API server" if row.decision == "Refused" else f"The kubelet of {row.node}"
        yield Sentence(f"{who}: {row.message}")
    if row.decision == "Deferred" and _was_asked(row):
        yield Sentence("The pod keeps what it has, though the scheduler counts what it asks for", "faint")
        gone = Listing([Item(f"Pod {key}") for key in row.in_the_way])
        yield from titled("It fits without", gone)
    if report.story is not None and (row.decision == "Fits" or row.updater is not None):
        yield aftermath(report.story)


def _was_asked(row: ResizeRow) -> bool:
    """Whether the resize is asked for: an updater that does nothing, or evicts at once, does not."""
    updater = row.updater
    return updater is None or updater.acts == "resizes" or updater.why in ("refused", "deferred", "infeasible")


def _updater(row: ResizeRow, updater: UpdaterRow) -> tuple[Quality, str]:
    """What a VerticalPodAutoscaler does about the pod."""
    change, who = f" ({row.change})" if row.change else "", f"VerticalPodAutoscaler {updater.vpa}"
    match updater.acts:
        case "resizes":
            return "good", f"{who} resizes Pod {row.pod} in place on {row.node}{change}{_restarts(row)}"
        case "evicts" if updater.refused:
            return "bad", f"{who} cannot evict Pod {row.pod}{change}: {_why(updater)}"
        case "evicts":
            after = f" after {took(updater.after)}" if updater.after else ""
            return "doubtful", f"{who} evicts Pod {row.pod}{after}{change}: {_why(updater)}"
        case "waits":
            return "bad", f"{who} does nothing about Pod {row.pod} yet{change}: {_why(updater)}"
        case "leaves":
            return "bad", f"{who} leaves Pod {row.pod} alone{change}: {_why(updater)}"


def _why(updater: UpdaterRow) -> str:
    return _REASONS[updater.why].format(
        mode=updater.mode, pods=plural(updater.replicas, "pod"), needed=f"{updater.needed:,}"
    )


_REASONS: Mapping[Why, str] = {
    "": "it has what is recommended",
    "mode": "its updateMode is {mode}",
    "no-controller": "the pod has no controller",
    "within-bounds": "it is within the recommended bounds, and either younger than 12 h or near the target",
    "few-replicas": "its controller has {pods}, and {needed} are needed",
    "group": "{pods} of its controller run, and more than {needed} must",
    "pending": "it does not run yet",
    "in-progress": "a resize of it is in progress",
    "deferred": "its resize is deferred",
    "infeasible": "its resize is infeasible",
    "refused": "the API server refuses the resize",
}


def _restarts(row: ResizeRow) -> str:
    return f", and restarts {listed(row.restarts)}" if row.restarts else ", without a restart"


def _decision(row: ResizeRow) -> tuple[Quality, str]:
    if row.updater is not None:
        return _updater(row, row.updater)
    change = f" ({row.change})" if row.change else ""
    match row.decision:
        case "Fits":
            return "good", f"Pod {row.pod} is resized in place on {row.node}{change}{_restarts(row)}"
        case "Deferred":
            return "bad", f"The resize of Pod {row.pod}{change} is deferred: {row.node} has no room for it now"
        case "Infeasible":
            return "bad", f"The resize of Pod {row.pod}{change} is infeasible: {row.node} never has the room"
        case "Refused":
            return "bad", f"The resize of Pod {row.pod} is refused"
