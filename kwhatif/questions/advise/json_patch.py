"""JSON patches (RFC 6902): the operations that turn one document into another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kwhatif.report.advise import PatchRow


def json_patch(before: Any, after: Any, path: str = "") -> Iterator[PatchRow]:
    """The operations, in the order in which they are to be made."""
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _of_maps(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _of_lists(before, after, path)
    elif before != after:
        yield PatchRow(op="replace", path=path, value=after)


def _of_maps(before: dict[str, Any], after: dict[str, Any], path: str) -> Iterator[PatchRow]:
    for key in before:
        if key not in after:
            yield PatchRow(op="remove", path=f"{path}/{_escaped(key)}")
    for key, value in after.items():
        if key not in before:
            yield PatchRow(op="add", path=f"{path}/{_escaped(key)}", value=value)
        else:
            yield from json_patch(before[key], value, f"{path}/{_escaped(key)}")


def _of_lists(before: list[Any], after: list[Any], path: str) -> Iterator[PatchRow]:
    """Entries change in place, go one by one, or come at the end; any other change replaces the list."""
    if len(after) >= len(before):
        for place, (old, new) in enumerate(zip(before, after, strict=False)):
            yield from json_patch(old, new, f"{path}/{place}")
        yield from (PatchRow(op="add", path=f"{path}/-", value=new) for new in after[len(before) :])
        return
    kept = iter(after)
    wanted = next(kept, None)
    gone: list[int] = []
    for place, old in enumerate(before):
        if old == wanted:
            wanted = next(kept, None)
        else:
            gone.append(place)
    if len(before) - len(gone) == len(after):
        yield from (PatchRow(op="remove", path=f"{path}/{place}") for place in reversed(gone))
    else:
        yield PatchRow(op="replace", path=path, value=after)


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
