"""The lines on which the fields of a YAML document stand, and keys that a map of it holds twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from kwhatif.sources.text.yaml_text import events


class FieldNode:
    """A field: its line, counted from 0, and what is below it by key or index."""

    __slots__ = ("children", "key", "key_line", "line")

    def __init__(self, line: int) -> None:
        self.line = line
        self.children: dict[str | int, FieldNode] = {}
        #: In a map whose value comes next: its key. A list has none.
        self.key: str | None = None
        self.key_line = 0

    def add(self, line: int) -> FieldNode:
        """The next value: it stands where its key does, or where it begins."""
        if self.key is None:
            child = self.children[len(self.children)] = FieldNode(line)
        else:
            child = self.children[self.key] = FieldNode(self.key_line)
            self.key = None
        return child


def line_tree(text: bytes) -> FieldNode:
    """Every field of the document; `text` must be valid. What an alias stands for has no lines of its own."""
    root = FieldNode(0)
    for _ in _grow(root, text):
        pass  # of two equal keys the last one stands in the tree
    return root.children.get(0, root)


def repeated_keys(text: bytes) -> Iterator[tuple[int, str]]:
    """(line, key) of every key that its map has already; `text` must be valid. As far as this goes, JSON is YAML.

    kubectl lets the last one win; kube-scheduler does not start.
    """
    return _grow(FieldNode(0), text)


def _grow(root: FieldNode, text: bytes) -> Iterator[tuple[int, str]]:
    """Put the fields of the documents below the root; yields the keys that their map has already."""
    stack: list[tuple[FieldNode, bool]] = []  # open maps and lists, and which of them are maps
    event: Any
    for event in events(text):
        if isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        line: int = event.start_mark.line  # type: ignore[union-attr] # the parser always knows it
        parent, is_map = stack[-1] if stack else (root, False)
        if is_map and parent.key is None:
            if isinstance(event, yaml.ScalarEvent) and event.value in parent.children:
                yield line + 1, event.value
            parent.key, parent.key_line = getattr(event, "value", ""), line
            continue
        node = parent.add(line)
        if isinstance(event, yaml.CollectionStartEvent):
            stack.append((node, isinstance(event, yaml.MappingStartEvent)))
