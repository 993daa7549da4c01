"""The edits that an answer rests on: a line each, above the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kwhatif.render.amounts import plural, some
from kwhatif.report import ChangeRow, EditRow, Report, TouchedRow

#: So many fields of one object are shown.
_MOST_FIELDS = 2


def edit_lines(report: Report) -> Iterator[str]:
    """`If cordon a1: Node a1 spec.unschedulable = true`."""
    for row in report.changes:
        yield f"If {row.edit}: {'; '.join([*_touched(row), *row.notes])}"


def _touched(row: EditRow) -> Iterator[str]:
    """What it has changed, then what it has created and deleted, by kind."""
    for change in ("changed", "created", "deleted"):
        by_kind: dict[str, list[TouchedRow]] = {}
        for touched in row.touched:
            if touched.change == change:
                by_kind.setdefault(touched.object.partition(" ")[0], []).append(touched)
        for kind, objects in by_kind.items():
            yield _changed(objects) if change == "changed" else f"{_named(kind, objects)} {change}"


def _named(kind: str, objects: Sequence[TouchedRow]) -> str:
    names = [touched.object.partition(" ")[2] for touched in objects]
    return f"{kind} {names[0]}" if len(names) == 1 else f"{plural(len(names), kind)} {some(names)}"


def _changed(objects: Sequence[TouchedRow]) -> str:
    """All fields of one object; of many, the names."""
    kind = objects[0].object.partition(" ")[0]
    counts = Counter(tuple((field.field, field.after) for field in touched.fields) for touched in objects)
    if len(counts) > 1:
        return f"{_named(kind, objects)} changed"
    fields = [_field(field) for field in objects[0].fields]
    more = f" and {plural(len(fields) - _MOST_FIELDS, 'more field')}" if len(fields) > _MOST_FIELDS else ""
    return f"{_named(kind, objects)} {', '.join(fields[:_MOST_FIELDS])}{more}"


def _field(change: ChangeRow) -> str:
    if change.after is None:
        return f"{change.field} removed"
    return f"{change.field} = {change.after}" + (f" (was {change.before})" if change.before is not None else "")
