"""The changes by admission: every field that a step set or changed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import zip_longest
from typing import Any

import msgspec

from kwhatif.kube.model.meta import Model, Row
from kwhatif.kube.model.pod import PodTemplateSpec


class ChangeRow(Row):
    """A change of an object by admission, or by an edit: which field, from what, to what, and who did it."""

    by: str
    field: str
    before: str | None = None
    after: str | None = None


def changes_between(by: str, before: Model, after: Model) -> Iterator[ChangeRow]:
    """The fields in which two objects of one type differ."""
    return _differences(by, "", before, after)


def _differences(by: str, path: str, before: Any, after: Any) -> Iterator[ChangeRow]:
    if before is after or before == after:
        return
    if isinstance(before, Model) and type(before) is type(after):
        for name, json_name in _fields(type(before)):
            here = f"{path}.{json_name}" if path else json_name
            yield from _differences(by, here, getattr(before, name), getattr(after, name))
    elif isinstance(before, dict | None) and isinstance(after, dict):
        was = before or {}
        for key in dict.fromkeys([*was, *after]):
            yield from _differences(by, f"{path}[{key}]", was.get(key), after.get(key))
    elif isinstance(before, tuple) and isinstance(after, tuple):
        for index, (old, new) in enumerate(zip_longest(before, after)):
            yield from _differences(by, f"{path}[{index}]", old, new)
    else:
        yield ChangeRow(by, path, _text(before), _text(after))


#: Fields of a pod template that the API does not have.
_OURS = frozenset({"digest", "mark", "text"})


@cache
def _fields(kind: type[Model]) -> tuple[tuple[str, str], ...]:
    fields = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    return tuple(field for field in fields if not (kind is PodTemplateSpec and field[0] in _OURS))


def _text(value: Any) -> str | None:
    """The value as a manifest has it; an empty value counts as absent."""
    if value in (None, "", (), {}):
        return None
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
