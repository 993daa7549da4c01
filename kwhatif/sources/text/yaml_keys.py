"""Keys that a map of a YAML document holds twice. kubectl lets the last one win; kube-scheduler does not start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from kwhatif.sources.text.yaml_text import events


class _Map:
    """An open map: the keys so far, and whether a key comes next."""

    __slots__ = ("key_next", "keys")

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.key_next = True


def repeated_keys(text: bytes) -> Iterator[tuple[int, str]]:
    """(line, key) of every key that its map has already; `text` must be valid. As far as this goes, JSON is YAML."""
    stack: list[_Map | None] = []  # None is a list
    event: Any
    for event in events(text):
        if isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
        if not isinstance(event, yaml.NodeEvent):
            continue
        parent = stack[-1] if stack else None
        if parent is not None:
            if parent.key_next and isinstance(event, yaml.ScalarEvent):
                if event.value in parent.keys:
                    line: int = event.start_mark.line  # type: ignore[union-attr] # the parser always knows it
                    yield line + 1, event.value
                parent.keys.add(event.value)
            parent.key_next = not parent.key_next
        if isinstance(event, yaml.CollectionStartEvent):
            stack.append(_Map() if isinstance(event, yaml.MappingStartEvent) else None)
