"""`kwhatif capacity` for people: how many more fit, where they go, and what stops the next one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

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
from kwhatif.render.detail import Detail
from kwhatif.render.outcomes import QUALITIES
from kwhatif.render.qualifiers import qualifier
from kwhatif.render.text import FAINT, STRONG, WARN, signed, table, text
from kwhatif.report import Report
from kwhatif.report.capacity import CapacityRow, FitRow, ShapeRow, StopRow
from kwhatif.words.amounts import plural, some

#: So many nodes are shown, unless it is wide.
_MOST_NODES = 20


def capacity(report: Report, row: CapacityRow, detail: Detail) -> Iterator[RenderableType]:
    """The verdict, then the tables that back it."""
    quality, said = headline(row, qualifier(report))
    yield signed(QUALITIES[quality], detail.names.cut(said))
    if detail.quiet:
        yield from _shapes(row.shapes) if row.shapes else ()
        return
    if row.shapes:
        yield from _shapes(row.shapes)
        others = f"; not shown: {plural(row.other_pods, 'pod')} of {row.other_shapes:,} other kinds"
        yield text(f"Counted up to {row.limit:,} of each (--max){others * bool(row.other_shapes)}", FAINT)
    if row.added_nodes is not None:
        yield from (text(note, FAINT) for note in row.added_nodes.notes)
    best = row.best
    if row.fit is None or best is None:
        return
    costs = evictions(row, report)
    yield from [text(detail.names.cut(costs), WARN)] if costs and row.added_nodes is None else ()
    missing = lacking(row)
    yield from [text(missing, STRONG)] if missing else ()
    if best.stop is None and row.target is None:
        yield text(f"Counted up to {row.limit:,} (--max): more may fit", FAINT)
    yield from _requests(best)
    yield from _places(best, detail)
    if best.stop is not None:
        yield from _stop(best.stop, best, report, detail, last=row.preempting is not None)


def _requests(fit: FitRow) -> Iterator[RenderableType]:
    made = table("WORKLOAD", "IN A SET", "PODS", "EACH REQUESTS", "PRIORITY", right=("IN A SET", "PODS", "PRIORITY"))
    for counted in fit.counted:
        asks = amounts(counted.requests) or "nothing"
        made.add_row(
            text(counted.workload),
            text(f"{counted.times:,}"),
            text(f"{counted.pods:,}"),
            text(asks),
            text(f"{counted.priority:,}"),
        )
    yield made


def _places(fit: FitRow, detail: Detail) -> Iterator[RenderableType]:
    """Zone by zone, then node by node."""
    names = [counted.workload for counted in fit.counted]
    columns = ["PODS"] if len(names) == 1 else names
    by_zone = zones(fit)
    if len(by_zone) > 1:
        made = table("ZONE", *columns, right=columns)
        for zone, numbers in by_zone:
            made.add_row(text(zone or "<none>"), *_cells(numbers))
        yield made
    by_node = nodes(fit)
    if not by_node:
        return
    shown = by_node if detail.wide else by_node[:_MOST_NODES]
    made = table("NODE", *columns, right=columns)
    for node, numbers in shown:
        made.add_row(text(detail.names.cut(node)), *_cells(numbers))
    yield made
    if len(shown) < len(by_node):
        hidden = sum(sum(numbers) for _, numbers in by_node[len(shown) :])
        left = plural(len(by_node) - len(shown), "more node")
        yield text(f"{left} with {plural(hidden, 'pod')} (-o wide)", FAINT)


def _cells(numbers: Sequence[int]) -> Iterator[Text]:
    return (text(f"{number:,}" if number else "") for number in numbers)


def _stop(stop: StopRow, fit: FitRow, report: Report, detail: Detail, *, last: bool) -> Iterator[RenderableType]:
    yield text(f"Stopped: {detail.names.cut(stop_sentence(stop, fit, report, last=last))}", STRONG)
    if stop.reasons:
        made = table("NODES", "REASON", "CLOSEST", right=("NODES",))
        for row in stop.reasons:
            made.add_row(text(f"{row.nodes:,}"), text(row.reason), text(detail.names.cut(closest(row))))
        yield made
    if stop.tightest:
        made = table("NODES", "TIGHTEST", "STRANDED THERE", right=("NODES",))
        for tight in stop.tightest:
            made.add_row(text(f"{tight.nodes:,}"), text(tight.resource), text(stranded(tight)))
        yield made


def _shapes(shapes: Sequence[ShapeRow]) -> Iterator[RenderableType]:
    made = table("MORE FIT", "RUNNING", "LIKE", "EACH REQUESTS", "STOPPED BY", right=("MORE FIT", "RUNNING"))
    for shape in shapes:
        (counted,) = shape.fit.counted
        made.add_row(
            text(fit_number(shape.fit), STRONG),
            text(f"{shape.running:,}"),
            text(some(shape.workloads, 1)),
            text(amounts(counted.requests) or "nothing"),
            text(shape_stop(shape.fit.stop), FAINT),
        )
    yield made
