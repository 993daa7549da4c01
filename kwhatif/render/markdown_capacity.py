"""`kwhatif capacity` as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.render.capacity_words import (
    amounts,
    closest,
    evictions,
    fit_number,
    headline,
    lacking,
    nodes,
    shape_stop,
    stop_sentence,
    stranded,
    zones,
)
from kwhatif.render.markdown_text import QUALITIES, cell, prose, rows_of
from kwhatif.render.qualifiers import qualifier
from kwhatif.report import Report
from kwhatif.report.capacity import CapacityRow, FitRow, ShapeRow, StopRow
from kwhatif.words.amounts import some


def capacity_parts(report: Report, row: CapacityRow) -> Iterator[str]:
    """The verdict, where the pods go, and what stops the next one."""
    quality, said = headline(row, qualifier(report))
    yield f"### {QUALITIES[quality]} {prose(said)}"
    notes = row.added_nodes.notes if row.added_nodes else (evictions(row, report),)
    for line in filter(None, (*notes, lacking(row))):
        yield from ("", prose(line))
    if row.shapes:
        yield from _shapes(row.shapes)
    best = row.best
    if best is None:
        return
    if best.stop is None and row.target is None:
        yield from ("", f"Counted up to {row.limit:,}: more may fit.")
    yield from _places(best)
    if best.stop is not None:
        yield from _stop(best.stop, best, report, last=row.preempting is not None)


def _places(fit: FitRow) -> Iterator[str]:
    counted = (
        (cell(each.workload), f"{each.times:,}", f"{each.pods:,}", prose(amounts(each.requests) or "nothing"))
        for each in fit.counted
    )
    yield from ("", *rows_of(("Workload", "In a set", "Pods", "Each requests"), counted))
    columns = ["Pods"] if len(fit.counted) == 1 else [prose(each.workload) for each in fit.counted]
    if len(zones(fit)) > 1:
        rows = ((cell(zone or "none"), *map(str, numbers)) for zone, numbers in zones(fit))
        yield from ("", *rows_of(("Zone", *columns), rows))
    if nodes(fit):
        rows = ((cell(node), *map(str, numbers)) for node, numbers in nodes(fit))
        yield from ("", "<details><summary>Nodes</summary>", "", *rows_of(("Node", *columns), rows), "", "</details>")


def _stop(stop: StopRow, fit: FitRow, report: Report, *, last: bool) -> Iterator[str]:
    yield from ("", f"**Stopped**: {prose(stop_sentence(stop, fit, report, last=last))}")
    if stop.reasons:
        reasons = ((f"{row.nodes:,}", prose(row.reason), prose(closest(row))) for row in stop.reasons)
        yield from ("", *rows_of(("Nodes", "Reason", "Closest"), reasons))
    if stop.tightest:
        tightest = ((f"{row.nodes:,}", prose(row.resource), prose(stranded(row))) for row in stop.tightest)
        yield from ("", *rows_of(("Nodes", "Tightest", "Stranded there"), tightest))


def _shapes(shapes: Sequence[ShapeRow]) -> Iterator[str]:
    rows = (
        (
            fit_number(shape.fit),
            f"{shape.running:,}",
            prose(some(shape.workloads, 1)),
            prose(amounts(shape.fit.counted[0].requests) or "nothing"),
            prose(shape_stop(shape.fit.stop)),
        )
        for shape in shapes
    )
    yield from ("", *rows_of(("More fit", "Running", "Like", "Each requests", "Stopped by"), rows))
