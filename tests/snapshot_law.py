"""The law of snapshots: what a command says of a dump it says of the dump's snapshot, and under other names of its anonymized one."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.old_names import OldNames

#: What says where something was read, and how large that was.
_PLACES = frozenset({"sources", "snapshot", "source", "file", "where"})
#: The end of a name that an API server, or a controller, makes up of what it is about: other names, other ends.
_MADE_UP = re.compile(r"(?<=-)[bcdfghjklmnpqrstvwxz2456789]{5,10}\b")


def without_source(text: str, *sources: Path | str) -> str:
    """What a command has printed, but for the names of the files that it has read."""
    for source in sources:
        text = text.replace(str(source), "SOURCE")
    return text


def essence(report: str, names: Mapping[str, str] | None = None) -> Any:
    """A report in JSON without its places; under its old names, and without the ends of made-up ones, if asked for."""
    data = _without_places(json.loads(report))
    if names is None:
        return data
    return _MADE_UP.sub("*", json.dumps(_sorted(OldNames(names).within(_with_causes(data)))))


def _with_causes(value: Any) -> Any:
    """Events of a story are numbered in the order of names, some of which are made up: each with its cause in words."""
    if isinstance(value, dict):
        return {key: _with_causes(inner) for key, inner in value.items()}
    if not isinstance(value, list):
        return value
    if not all(isinstance(each, dict) and {"id", "because", "verb"} <= each.keys() for each in value):
        return [_with_causes(inner) for inner in value]
    said = {event["id"]: [event["at"], event["actor"], event["verb"], event["object"]] for event in value}
    return [{**event, "id": None, "because": said.get(event["because"])} for event in value]


def _without_places(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_places(inner) for key, inner in value.items() if key not in _PLACES}
    return [_without_places(inner) for inner in value] if isinstance(value, list) else value


def _sorted(value: Any) -> Any:
    """Rows of equal moments stand in the order of names, some of which are made up."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return sorted(map(_sorted, value), key=lambda row: _MADE_UP.sub("*", json.dumps(row)))
    return value
