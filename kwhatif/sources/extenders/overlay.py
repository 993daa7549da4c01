"""Putting changes of a partial object onto the whole one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def overlay(whole: Any, before: Any, after: Any) -> Any:
    """The whole value with what differs between its partial views `before` and `after`; all are plain JSON values.

    What the partial view does not show stays as it is.
    """
    if before == after:
        return whole
    if isinstance(whole, dict) and isinstance(before, Mapping) and isinstance(after, Mapping):
        return _overlay_map(whole, before, after)
    if isinstance(whole, list) and isinstance(before, list) and isinstance(after, list):
        return _overlay_list(whole, before, after)
    return after


def _overlay_map(whole: dict[str, Any], before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in whole.items() if name in after or name not in before}
    changed = {
        # A partial view leaves out what is empty, although the whole may hold something that the view does not show.
        name: overlay(whole[name], before.get(name, {} if isinstance(value, Mapping) else None), value)
        if name in whole
        else value
        for name, value in after.items()
    }
    return kept | changed


def _overlay_list(whole: list[Any], before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    places = (_place(index, item, before, after) for index, item in enumerate(after))
    return [
        item if place is None or place >= len(whole) else overlay(whole[place], before[place], item)
        for place, item in zip(places, after, strict=True)
    ]


def _place(index: int, item: Any, before: Sequence[Any], after: Sequence[Any]) -> int | None:
    """Where the item of `after` stood: in a list of the same length where it stands now, else by value or name."""
    if len(before) == len(after):
        return index
    if item in before:
        return before.index(item)
    name = item.get("name") if isinstance(item, Mapping) else None
    if name is None:
        return None
    names = (other.get("name") if isinstance(other, Mapping) else None for other in before)
    return next((place for place, other in enumerate(names) if other == name), None)
