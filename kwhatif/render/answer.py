"""A report in blocks, whatever the command: the edits, the answer, the evidence, and the caveats."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kwhatif.admission.outcome import ChangeRow
from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.render.amounts import plural, seconds, some
from kwhatif.render.blocks import Item, Listing, Sentence, Verdict, exact, folded, lines
from kwhatif.render.caveats import besides_findings
from kwhatif.render.caveats.input import NOTHING_JUDGED
from kwhatif.render.certainty import of_report
from kwhatif.render.detail import NodeNames, nodes_in
from kwhatif.report import Report
from kwhatif.report.inputs import EditRow, SchedulerInfo, TouchedRow, VersionSource

if TYPE_CHECKING:
    from kwhatif.render.blocks import Block
    from kwhatif.render.detail import Detail
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
    """All blocks, top to bottom; the verdict comes first, except for the edits."""
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
    """The edits, one summary line, then the differences."""
    from kwhatif.render.comparison import comparison_blocks  # a single report does not need this

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


def _answer(report: Report, detail: Detail) -> Iterator[Block]:  # noqa: C901, PLR0911, PLR0912 - one arm for each answer, nothing else
    """The verdict and its evidence. Modules are imported when they are needed: a report usually needs only one."""
    if report.scenarios:
        from kwhatif.render.maintenance import scenarios

        return scenarios(report, report.scenarios, detail)
    match report.command:
        case "advise" if report.advise is not None:
            from kwhatif.render.advise import advise

            return advise(report, report.advise, detail)
        case "audit" if report.audit is not None:
            from kwhatif.render.audit import audit

            return audit(report, report.audit, detail)
        case "autoscale" if report.autoscaler is not None:
            from kwhatif.render.autoscale import autoscale

            return autoscale(report, report.autoscaler, detail)
        case "capacity" if report.capacity is not None:
            from kwhatif.render.capacity import capacity

            return capacity(report, report.capacity, detail)
        case "compare" if report.compare is not None:
            from kwhatif.render.comparison import compare

            return compare(report, report.compare, detail)
        case "consolidate" if report.consolidate is not None:
            from kwhatif.render.autoscale import consolidate

            return consolidate(report, report.consolidate, detail)
        case "deschedule" if report.deschedule is not None:
            from kwhatif.render.deschedule import deschedule

            return deschedule(report, report.deschedule, detail)
        case "drain" | "outage" | "simulate" if report.story is not None:
            from kwhatif.render.story import story_blocks

            return story_blocks(report, report.story, detail)
        case "queue" if report.queue is not None:
            from kwhatif.render.queue import queue

            return queue(report, report.queue, detail)
        case "resize" if report.resize is not None:
            from kwhatif.render.maintenance import resize

            return resize(report, report.resize, detail)
        case "threats" if report.threats is not None:
            from kwhatif.render.threats import threats

            return threats(report, report.threats, detail)
        case "upgrade" if report.upgrade is not None:
            from kwhatif.render.maintenance import upgrade

            return upgrade(report, report.upgrade, detail)
        case "who-fits" if report.who_fits is not None:
            from kwhatif.render.threats import who_fits

            return who_fits(report, report.who_fits, detail)
    return _with_aftermath(report, _judged(report, detail))


def _judged(report: Report, detail: Detail) -> Iterator[Block]:
    if report.command == "gate":
        from kwhatif.render.gate import gate

        return gate(report, detail)
    from kwhatif.render.decisions import decisions

    return decisions(report, detail)


def _with_aftermath(report: Report, parts: Iterable[Block]) -> Iterator[Block]:
    """The blocks, with the aftermath below the verdict and above the evidence."""
    first, *others = parts
    yield first
    if report.story is not None:
        from kwhatif.render.story import aftermath

        yield aftermath(report.story)
    yield from others


def _growth(report: Report) -> Iterator[Block]:
    """The nodes that an autoscaler has added; nothing without an autoscaler."""
    if report.autoscaler is not None and report.command != "autoscale":
        from kwhatif.render.autoscale import growth

        yield from growth(report.autoscaler)


# --- the edits before the question: a line each, above the verdict ---------------------------------------------------


_INDEX = re.compile(r"\[\d+\]")
#: How many fields of one object are shown.
_MOST_FIELDS = 2


def edit_lines(report: Report) -> Iterator[str]:
    """`If cordon a1: Node a1 spec.unschedulable = true`."""
    for row in report.changes:
        yield f"If {row.edit}: {'; '.join([*_touched(row), *row.notes])}"


def _touched(row: EditRow) -> Iterator[str]:
    """The objects that the edit has changed; then those that it has created and deleted, by kind."""
    for change in ("changed", "created", "deleted"):
        by_kind: dict[str, list[TouchedRow]] = {}
        for touched in row.touched:
            if touched.change == change:
                by_kind.setdefault(ObjectRef.parse(touched.object).kind, []).append(touched)
        for kind, objects in by_kind.items():
            yield _changed(objects) if change == "changed" else f"{_named(kind, objects)} {change}"


def _named(kind: str, objects: Sequence[TouchedRow]) -> str:
    names = [ObjectRef.parse(touched.object).key for touched in objects]
    return f"{kind} {names[0]}" if len(names) == 1 else f"{plural(len(names), kind)} {some(names)}"


def _changed(objects: Sequence[TouchedRow]) -> str:
    """All fields of one object; for many objects, only the names."""
    kind = ObjectRef.parse(objects[0].object).kind
    counts = Counter(
        tuple((_INDEX.sub("[…]", field.field), field.after) for field in touched.fields) for touched in objects
    )
    if len(counts) > 1:
        return f"{_named(kind, objects)} changed"
    fields = [_field(field, alone=len(objects) == 1) for field in objects[0].fields]
    more = f" and {plural(len(fields) - _MOST_FIELDS, 'more field')}" if len(fields) > _MOST_FIELDS else ""
    return f"{_named(kind, objects)} {', '.join(fields[:_MOST_FIELDS])}{more}"


def _field(change: ChangeRow, *, alone: bool) -> str:
    """For many objects, list indexes are those of the first object; they do not matter then."""
    name = change.field if alone else _INDEX.sub("[…]", change.field)
    if change.after is None:
        return f"{name} removed"
    return f"{name} = {change.after}" + (f" (was {change.before})" if alone and change.before is not None else "")
