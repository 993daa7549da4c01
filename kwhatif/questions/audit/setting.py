"""`set`, as a fix writes it: with values of the fields' own types, from a JSON patch or by path."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import msgspec

from kwhatif.edits.edit import Assignment, SetFields
from kwhatif.edits.words import reference
from kwhatif.report.advise import PatchRow

#: Lists whose entries are changed field by field.
_AS_PARTS = ("containers", "initContainers")


def set_fields(target: str, values: dict[str, Any]) -> SetFields:
    """The edit that gives these fields, by their paths, these values; None removes."""
    words = shlex.join(f"{path}={_shown(value)}" for path, value in values.items())
    assignments = tuple(Assignment(_steps(path), value) for path, value in values.items())
    return SetFields(text=f"set {target} {words}", object=reference(target), values=assignments)


def set_as_patched(target: str, obj: Any, patch: Sequence[PatchRow]) -> SetFields:
    """The edit that does the same to the object as the patch; a list is set as a whole."""
    data = msgspec.json.decode(msgspec.json.encode(obj))
    values: dict[str, Any] = {}
    for row in patch:
        steps = _pointer(row.path)
        place = next((at for at, step in enumerate(steps) if step.isdigit() and steps[at - 1] not in _AS_PARTS), None)
        if place is None:
            values[_path(steps)] = None if row.op == "remove" else row.value
        else:  # an entry by itself is not valid
            values[_path(steps[:place])] = _changed_list(data, steps, place, row)
    return set_fields(target, values)


def _pointer(path: str) -> list[str]:
    """The steps of a JSON pointer."""
    return [step.replace("~1", "/").replace("~0", "~") for step in path.removeprefix("/").split("/")]


def _path(steps: Sequence[str]) -> str:
    """The steps as edits write paths."""
    made = ""
    for step in steps:
        if step.isdigit():
            made += f"[{step}]"
        elif "." in step or "/" in step:
            made += f'["{step}"]'
        else:
            made += f".{step}" if made else step
    return made


def _changed_list(data: Any, steps: Sequence[str], place: int, row: PatchRow) -> list[Any]:
    """The list at that place of the path, with the change."""
    found = data
    for step in steps[:place]:
        found = found[int(step)] if isinstance(found, list) else found[step]
    made: Any = deepcopy(found)
    here = made
    for step in steps[place:-1]:
        here = here[int(step)] if isinstance(here, list) else here.setdefault(step, {})
    last: Any = int(steps[-1]) if isinstance(here, list) else steps[-1]
    if row.op == "remove":
        del here[last]
    elif isinstance(here, list) and row.op == "add":
        here.insert(last, row.value)
    else:
        here[last] = row.value
    changed: list[Any] = made
    return changed


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _steps(path: str) -> tuple[str | int, ...]:
    steps: list[str | int] = []
    rest = path
    while rest:
        if rest.startswith('["'):
            step, _, rest = rest[2:].partition('"]')
            steps.append(step)
        elif rest.startswith("["):
            number, _, rest = rest[1:].partition("]")
            steps.append(int(number))
        else:
            rest = rest.removeprefix(".")
            ends = [place for place in (rest.find("."), rest.find("[")) if place >= 0]
            end = min(ends, default=len(rest))
            steps.append(rest[:end])
            rest = rest[end:]
    return tuple(steps)
