"""YAML documents as plain values, with exactly the meaning that kubectl gives them, and the lines of their fields.

Built from libyaml's events without recursion: hostile nesting meets a limit, not the interpreter's stack. As in
kubectl, the last of two equal keys counts, and (QUIRK: `go.yaml.in/yaml/v2/decode.go`) `<<` overwrites the keys before
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from kwhatif.sources.text.problems import FieldPath
from kwhatif.sources.text.yaml_scalars import as_json, plain, tagged

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

#: Kubernetes objects are a dozen levels deep, schemas of custom resources a few dozen.
MAX_DEPTH = 400
#: As much text as aliases may make of a document: more than any manifest holds, and it fits into the memory.
_MAX_ALIASED_CHARS = 64 << 20
#: The most repeated keys to name.
_MAX_REPEATS = 1000
#: With few nodes nearly all may come from aliases, with many only a tenth (`allowedAliasRatio` in Go's yaml).
_FEW_NODES = 400_000
_MANY_NODES = 4_000_000


class YAMLProblem(Exception):
    """The text is not valid; line and column count from 1, 0 means unknown."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


def events(text: bytes) -> Iterator[Any]:
    """Events of the first document.

    Raises:
        YAMLProblem: where the text is not YAML.
    """
    try:
        yield from yaml.parse(text, Loader=_Loader)
    except yaml.reader.ReaderError as failure:
        line = text.count(b"\n", 0, failure.position) + 1 if failure.position else 0
        raise YAMLProblem(f"{failure.reason}", line) from failure
    except yaml.MarkedYAMLError as failure:
        mark = failure.problem_mark or failure.context_mark
        message = " ".join(part for part in (failure.context, failure.problem) if part)
        raise YAMLProblem(message, mark.line + 1 if mark else 0, mark.column + 1 if mark else 0) from failure


def load(text: bytes) -> Any:
    """The value of the one document in `text`: what JSON can hold.

    Raises:
        YAMLProblem: where the text is not YAML, or JSON has no such value.
    """
    return load_with_repeats(text)[0]


def load_with_repeats(text: bytes) -> tuple[Any, tuple[FieldPath, ...]]:
    """The value of the one document in `text`, and the paths of the keys that their map has already.

    What `<<` brings in does not count as a key.

    Raises:
        YAMLProblem: as `load`.
    """
    builder = _Builder()
    for event in events(text):
        builder.feed(event)
    return builder.value, tuple(builder.repeats)


class _Frame:
    """A map or a list that is being filled."""

    __slots__ = ("anchor", "chars", "key", "merged", "nodes", "value", "waiting")

    def __init__(self, value: dict[str, Any] | list[Any], anchor: str | None, nodes: int, chars: int) -> None:
        self.value = value
        self.anchor = anchor
        self.nodes = nodes
        self.chars = chars
        #: The key whose value comes next; `waiting` says whether there is one. None means `<<`.
        self.key: str | None = None
        self.waiting = False
        #: Keys of a map that are there only because of `<<`.
        self.merged: set[str] = set()

    def step(self) -> str | int:
        """The key or index of the value that comes next."""
        if isinstance(self.value, list):
            return len(self.value)
        return "<<" if self.key is None else self.key


class _Anchored(NamedTuple):
    """What an alias stands for, and how large that is."""

    value: Any
    nodes: int
    chars: int


class _Builder:
    def __init__(self) -> None:
        self.value: Any = None
        self.repeats: list[FieldPath] = []
        self._stack: list[_Frame] = []
        self._anchors: dict[str, _Anchored | None] = {}
        self._nodes = 0
        self._chars = 0
        self._aliased = 0
        self._documents = 0

    def feed(self, event: Any) -> None:
        """Take the next event."""
        match event:
            case yaml.ScalarEvent():
                self._scalar(event)
            case yaml.MappingStartEvent():
                self._open({}, event)
            case yaml.SequenceStartEvent():
                self._open([], event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._close(event)
            case yaml.AliasEvent():
                self._alias(event)
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise _problem("a new document must begin with a line ---", event)

    def _scalar(self, event: Any) -> None:
        self._nodes += 1
        self._chars += len(event.value)
        frame = self._stack[-1] if self._stack else None
        if frame and isinstance(frame.value, dict) and not frame.waiting and _is_merge(event):
            frame.key, frame.waiting = None, True
            return
        try:
            value = _scalar_value(event)
        except ValueError as wrong:
            raise _problem(str(wrong), event) from wrong
        if event.anchor:
            self._anchors[event.anchor] = _Anchored(value, 1, len(event.value))
        self._put(value, event)

    def _open(self, value: dict[str, Any] | list[Any], event: Any) -> None:
        frame = self._stack[-1] if self._stack else None
        if frame and isinstance(frame.value, dict) and not frame.waiting:
            raise _problem("a key must be a string", event)
        if len(self._stack) >= MAX_DEPTH:
            raise _problem("is nested too deeply", event)
        self._stack.append(_Frame(value, event.anchor, self._nodes, self._chars))
        self._nodes += 1
        if event.anchor:
            self._anchors[event.anchor] = None  # not complete yet

    def _close(self, event: Any) -> None:
        frame = self._stack.pop()
        if frame.anchor:
            size = (self._nodes - frame.nodes, self._chars - frame.chars)
            self._anchors[frame.anchor] = _Anchored(frame.value, *size)
        self._put(frame.value, event)

    def _alias(self, event: Any) -> None:
        if event.anchor not in self._anchors:
            raise _problem(f"there is no anchor &{event.anchor}", event)
        anchored = self._anchors[event.anchor]
        if anchored is None:
            raise _problem(f"anchor &{event.anchor} contains itself", event)
        self._nodes += 1 + anchored.nodes
        self._aliased += anchored.nodes
        self._chars += anchored.chars
        if self._excessive():
            raise _problem("aliases expand the document to an excessive size", event)
        self._put(anchored.value, event)

    def _excessive(self) -> bool:
        """The limits of `allowedAliasRatio`; and one on text, which Go need not copy."""
        if self._chars > _MAX_ALIASED_CHARS and self._aliased:
            return True
        beyond = min(max(self._nodes - _FEW_NODES, 0) / (_MANY_NODES - _FEW_NODES), 1)
        return self._aliased > 100 and self._nodes > 1000 and self._aliased / self._nodes > 0.99 - 0.89 * beyond

    def _put(self, value: Any, event: Any) -> None:
        if not self._stack:
            self.value = value
            return
        frame = self._stack[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif not frame.waiting:
            frame.key, frame.waiting = _key(value, event), True
        else:
            frame.waiting = False
            self._set(frame, frame.value, value, event)

    def _set(self, frame: _Frame, mapping: dict[str, Any], value: Any, event: Any) -> None:
        if frame.key is None:
            before = mapping.keys() - frame.merged
            _merge(mapping, value, event)
            frame.merged = mapping.keys() - before
            return
        if frame.key in mapping and frame.key not in frame.merged and len(self.repeats) < _MAX_REPEATS:
            self.repeats.append(tuple(above.step() for above in self._stack))
        frame.merged.discard(frame.key)
        mapping[frame.key] = value


def _problem(message: str, event: Any) -> YAMLProblem:
    return YAMLProblem(message, event.start_mark.line + 1, event.start_mark.column + 1)


def _is_merge(event: Any) -> bool:
    return event.value == "<<" and bool(event.implicit[0] or event.tag == "tag:yaml.org,2002:merge")


def _scalar_value(event: Any) -> Any:
    value = event.value
    if event.tag or event.implicit[0]:
        value = tagged(value, event.tag) if event.tag else plain(value)
    return as_json(value)


def _key(value: Any, event: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value:g}"
    raise _problem("a key must be a string", event)


def _merge(into: dict[str, Any], value: Any, event: Any) -> None:
    maps = value[::-1] if isinstance(value, list) else [value]
    if not all(isinstance(item, dict) for item in maps):
        raise _problem("<< merges only maps", event)
    for item in maps:
        into.update(item)


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
