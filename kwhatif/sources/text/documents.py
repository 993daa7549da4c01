"""From the text of a file to its documents, each as JSON: a YAML stream, or JSON values one after the other.

YAML is split at lines that begin with `---` before it is parsed, as kubectl does (`apimachinery/pkg/util/yaml`): what
is wrong in one document does not hide the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from kwhatif.sources.text import yaml_blocks
from kwhatif.sources.text.origin import FieldPath, Origin, Place
from kwhatif.sources.text.problems import Problems, hint_for_text
from kwhatif.sources.text.yaml_blocks import NotSimpleError

_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")
_AT_BYTE = re.compile(r" \(byte (\d+)\)")
_SPACE = re.compile(rb"\s*")
_SEPARATOR = re.compile(rb"^---(.*)$", re.MULTILINE)
_CONTENT = re.compile(rb"^[ \t]*[^\s#]", re.MULTILINE)

#: A larger text that is not JSON is not tried as YAML flow style: a dump that was cut off would take minutes.
_MAX_FLOW_YAML = 1 << 20
#: Of a larger document no lines are known: to find them it is parsed a second time, event by event.
_MAX_WITH_LINES = 4 << 20

Buffer = bytes | memoryview


class Document(NamedTuple):
    """One JSON value, and where it stands."""

    json: Buffer
    place: Place
    #: Keys that their map has already, as far as `json` does not show them any more.
    repeated: tuple[FieldPath, ...] = ()


class _JSONProblem(Exception):
    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


def documents(source: str, text: bytes, problems: Problems, *, is_json: bool = False) -> Iterator[Document]:
    """The documents of a file; those that do not parse become problems. `is_json` says that it can be nothing else."""
    if not is_json and not _SPACE.fullmatch(text) and text.lstrip()[:1] != b"{":
        yield from _yaml_documents(source, text, problems)
        return
    found: list[Document] = []
    in_yaml = Problems()
    try:
        found.extend(_json_documents(source, text))
    except _JSONProblem as wrong:
        # Like kubectl: after two JSON values this is not YAML in braces.
        is_yaml = not is_json and len(found) < 2 and len(text) <= _MAX_FLOW_YAML
        found = list(_yaml_documents(source, text, in_yaml)) if is_yaml else []
        if in_yaml or not found:
            problems.add(source, str(wrong), hint_for_text(text), Origin(source, line=wrong.line))
            return
    yield from found


def _json_documents(source: str, text: bytes) -> Iterator[Document]:
    view = memoryview(text)
    position, number = _skip_space(text, 0), 0
    while position < len(text):
        number += 1
        end = _end_of_value(text, position)
        yield Document(view[position:end], Place(Origin(source, number)))
        position = _skip_space(text, end)


def _skip_space(text: bytes, position: int) -> int:
    match = _SPACE.match(text, position)
    assert match is not None
    return match.end()


def _end_of_value(text: bytes, position: int) -> int:
    """Where the JSON value that begins at `position` ends."""
    try:
        msgspec.json.decode(memoryview(text)[position:], type=msgspec.Raw)
    except RecursionError as failure:
        raise _JSONProblem("is nested too deeply") from failure
    except msgspec.DecodeError as failure:
        if trailing := _TRAILING.search(str(failure)):
            return position + int(trailing[1]) - 1
        raise _json_problem(str(failure), text, position) from failure
    return len(text)


def _json_problem(message: str, text: bytes, position: int) -> _JSONProblem:
    at = _AT_BYTE.search(message)
    if at is None:
        return _JSONProblem(f"is not valid JSON: {'the end is missing' if 'truncated' in message else message}")
    offset = position + int(at[1])
    line = text.count(b"\n", 0, offset) + 1
    column = offset - (text.rfind(b"\n", 0, offset) + 1) + 1
    reason = _AT_BYTE.sub("", message).removeprefix("JSON is malformed: ")
    return _JSONProblem(f"is not valid JSON: line {line}, column {column}: {reason}", line)


def _yaml_documents(source: str, text: bytes, problems: Problems) -> Iterator[Document]:
    number = 0
    for line, chunk in _split(source, text, problems):
        if not _CONTENT.search(chunk):
            continue
        number += 1
        origin = Origin(source, number, line)
        found = _to_json(chunk, origin, problems)
        if found is not None:
            find_line = _Lines(chunk, line) if len(chunk) <= _MAX_WITH_LINES else None
            yield Document(found[0], Place(origin, find_line), found[1])


def _split(source: str, text: bytes, problems: Problems) -> Iterator[tuple[int, bytes]]:
    """The texts between separators, each with its first line."""
    line, start = 1, 0
    for separator in _SEPARATOR.finditer(text):
        yield line, text[start : separator.start()]
        line += text.count(b"\n", start, separator.end()) + 1
        rest = separator[1].strip()
        if rest and not rest.startswith(b"#"):
            problems.add(
                f"{source}, line {line - 1}",
                "is not a valid separator of documents: nothing may follow --- on its line",
                origin=Origin(source, line=line - 1),
            )
        start = separator.end() + 1
    yield line, text[start:] if text.endswith(b"\n") else text[start:] + b"\n"


def _to_json(chunk: bytes, origin: Origin, problems: Problems) -> tuple[bytes, tuple[FieldPath, ...]] | None:
    """The document as JSON, and the keys that it repeats, as far as the JSON does not."""
    try:
        return yaml_blocks.to_json(chunk), ()
    except NotSimpleError:
        pass
    from kwhatif.sources.text import yaml_text

    try:
        value, repeats = yaml_text.load_with_repeats(chunk)
        return msgspec.json.encode(value), repeats
    except yaml_text.YAMLProblem as wrong:
        there = origin._replace(line=origin.line + wrong.line - 1) if wrong.line else origin
        column = f", column {wrong.column}" if wrong.column else ""
        problems.add(there.where() + column, f"is not valid YAML: {wrong.message}", hint_for_text(chunk), there)
    except UnicodeEncodeError:
        problems.add(origin.where(), "is not valid YAML: an escape stands for half a character", origin=origin)
    return None


class _Lines:
    """Finds the lines of fields in a YAML document; parses it again when it is first asked for a field."""

    def __init__(self, text: bytes, first_line: int) -> None:
        self._text = text
        self._first_line = first_line
        self._tree: object = None

    def __call__(self, path: FieldPath) -> int:
        if not path:
            begin = _CONTENT.search(self._text)
            assert begin is not None
            return self._first_line + self._text.count(b"\n", 0, begin.start())
        from kwhatif.sources.text.yaml_text import FieldNode, line_tree

        if self._tree is None:
            self._tree = line_tree(self._text)
        node = self._tree
        assert isinstance(node, FieldNode)
        for step in path:
            node = node.children.get(step, node)
        return self._first_line + node.line
