"""The edits before the question: a line each, above the verdict."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from kwhatif.admission.outcome import ChangeRow
from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.report import Report
from kwhatif.report.inputs import EditRow, TouchedRow
from kwhatif.words.amounts import plural, some

_INDEX = re.compile(r"\[\d+\]")
#: How many fields of one object are shown.
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
    """For many objects, the list indexes are those of the first one; they do not matter then."""
    name = change.field if alone else _INDEX.sub("[…]", change.field)
    if change.after is None:
        return f"{name} removed"
    return f"{name} = {change.after}" + (f" (was {change.before})" if alone and change.before is not None else "")
