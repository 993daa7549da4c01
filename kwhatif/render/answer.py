"""A report in blocks, whatever the command: the edits, the answer, the evidence, and the caveats."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kwhatif.render.blocks import Item, Listing, Sentence, Verdict, exact, folded, lines
from kwhatif.render.caveats import besides_findings
from kwhatif.render.caveats.manifests import NOTHING_JUDGED
from kwhatif.render.certainty import of_report
from kwhatif.render.detail import NodeNames, nodes_in
from kwhatif.render.edits import edit_lines
from kwhatif.report.inputs import SchedulerInfo, VersionSource
from kwhatif.words.amounts import plural, seconds

if TYPE_CHECKING:
    from kwhatif.render.blocks import Block
    from kwhatif.render.detail import Detail
    from kwhatif.report import Report
    from kwhatif.report.comparison import Comparison


_SOURCES: Mapping[VersionSource, str] = {
    "asked": "as asked",
    "server": "as the API server",
    "snapshot": "as the API server was",
    "kubelets": "as the newest kubelet",
    "assumed": "assumed: nothing says the cluster's version",
}


def release_line(scheduler: SchedulerInfo) -> str:
    """`kube-scheduler 1.36 (as the newest kubelet)`, with the feature gates that were set by hand."""
    gates = "".join(f", {name}={str(on).lower()}" for name, on in scheduler.feature_gates.items())
    return f"kube-scheduler {scheduler.version} ({_SOURCES[scheduler.version_source]}{gates})"


def suited(detail: Detail, *reports: Report) -> Detail:
    """The detail with the names of nodes as a terminal shows them, and the time of the cluster."""
    taken_at = reports[-1].snapshot.taken_at
    is_whole = detail.quiet or detail.page
    names = detail.names if is_whole else NodeNames(name for report in reports for name in nodes_in(report))
    return replace(detail, now=seconds(taken_at) if taken_at else detail.now, names=names)


def answer(report: Report, detail: Detail) -> Iterator[Block]:
    """Everything that is said, top to bottom; the verdict is the first, but for edits that it rests on."""
    if not detail.quiet:
        yield from lines(list(edit_lines(report)), "faint")
    first, *others = _answer(report, detail)
    if detail.page and isinstance(first, Verdict) and not first.sure:
        first = dataclasses.replace(first, sure=of_report(report))
    yield first
    if not detail.quiet:
        yield Sentence(release_line(report.scheduler), "faint")
        yield from _note(detail)
    yield from others
    if not detail.quiet:
        yield from _growth(report)
        yield from _caveats(report, detail)


def difference(comparison: Comparison, detail: Detail) -> Iterator[Block]:
    """The edits, one line that says it all, then what is different."""
    from kwhatif.render.comparison import comparison_blocks  # not for one report

    if not detail.quiet:
        yield from lines(list(edit_lines(comparison.after)), "faint")
    first, *others = comparison_blocks(comparison, detail)
    yield first
    if others:
        yield from _note(detail)
    yield from others


def _note(detail: Detail) -> Iterator[Block]:
    if detail.names.note:
        yield Sentence((exact(detail.names.note),), "faint")


def _caveats(report: Report, detail: Detail) -> Iterator[Block]:
    others = [caveat for caveat in besides_findings(report) if report.decisions or caveat != NOTHING_JUDGED]
    title = plural(len(others), "caveat") if detail.page else "Caveats"
    if others:
        yield from folded(title, Listing([Item(caveat, tone="warn") for caveat in others]))


# --- the answer ------------------------------------------------------------------------------------------------------


#: Command -> the field of the report that answers it, and the function that makes blocks of it.
_MAKERS: Mapping[str, tuple[str, str]] = {
    "advise": ("advise", "advise.advise"),
    "audit": ("audit", "audit.audit"),
    "autoscale": ("autoscaler", "autoscale.autoscale"),
    "capacity": ("capacity", "capacity.capacity"),
    "compare": ("compare", "clusters.compare"),
    "consolidate": ("consolidate", "autoscale.consolidate"),
    "deschedule": ("deschedule", "deschedule.deschedule"),
    "drain": ("story", "story.story_blocks"),
    "outage": ("story", "story.story_blocks"),
    "queue": ("queue", "queue.queue"),
    "resize": ("resize", "resize.resize"),
    "simulate": ("story", "story.story_blocks"),
    "threats": ("threats", "threats.threats"),
    "upgrade": ("upgrade", "upgrade.upgrade"),
    "who-fits": ("who_fits", "threats.who_fits"),
}
_SCENARIOS = "scenarios", "scenarios.scenarios"


def _answer(report: Report, detail: Detail) -> Iterator[Block]:
    """The verdict and what backs it. A command's blocks are imported when they are drawn: most reports have none."""
    field, maker = _SCENARIOS if report.scenarios else _MAKERS.get(report.command, ("decisions", ""))
    row = getattr(report, field)
    if not maker or row is None:
        return _with_aftermath(report, _judged(report, detail))
    module, _, function = maker.partition(".")
    blocks: Iterator[Block] = getattr(import_module(f"kwhatif.render.{module}"), function)(report, row, detail)
    return blocks


def _judged(report: Report, detail: Detail) -> Iterator[Block]:
    if report.command == "gate":
        from kwhatif.render.gate import gate

        return gate(report, detail)
    from kwhatif.render.decisions import decisions

    return decisions(report, detail)


def _with_aftermath(report: Report, parts: Iterable[Block]) -> Iterator[Block]:
    """What follows stands below the verdict, and above what it rests on."""
    first, *others = parts
    yield first
    if report.story is not None:
        from kwhatif.render.story import aftermath

        yield aftermath(report.story)
    yield from others


def _growth(report: Report) -> Iterator[Block]:
    """The nodes that an autoscaler has added on the way to the answer; nothing where none is asked for."""
    if report.autoscaler is not None and report.command != "autoscale":
        from kwhatif.render.autoscale import growth

        yield from growth(report.autoscaler)
