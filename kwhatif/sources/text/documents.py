"""From the text of a file to its documents, each as JSON: a YAML stream, or JSON values one after the other.

YAML is split at lines that begin with `---` before it is parsed, as kubectl does (`apimachinery/pkg/util/yaml`): what
is wrong in one document does not hide the others.

Large lists (`Listing`) are taken apart without parsing them: an envelope, and pieces of half a megabyte that are lists
themselves. `kubectl get -o json|yaml` writes one list of everything. Decoding it piece by piece confines whatever the
fast decoder cannot take (an unknown kind, a `null`) to its piece. Where to cut is a guess, but never a wrong one: if
the envelope without its entries and every piece are valid on their own, then the text was that list and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from os import SEEK_END
from typing import Any, BinaryIO, NamedTuple

import msgspec

from kwhatif.sources.text import yaml_blocks
from kwhatif.sources.text.problems import FieldPath, Origin, Place, Problems, hint_for_text
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


#: Half a megabyte: what is read of it is still in the processor's cache when it is decoded.
PIECE = 1 << 19
_ENVELOPE = re.compile(
    rb'\s*\{\s*(?:"(?:apiVersion|kind)"\s*:\s*"[^"\\]*"\s*,\s*|"metadata"\s*:\s*\{[^{}]*\}\s*,\s*)*"items"\s*:\s*\[(\s*)\{'
)
_YAML_FIELD = re.compile(rb"(?:apiVersion|kind): [\w./]+\n")
_YAML_ENTRY = re.compile(rb"( *)- ")
_YAML_TAIL = re.compile(rb"^[a-z]", re.MULTILINE)
#: What follows the entries is a kind and the list's metadata, no more.
_MAX_TAIL = 4096
#: Where to look for a cut first: what is behind it has to be copied.
_NEAR_END = 1 << 16
#: The API server stores nothing larger.
_MAX_ENTRY = 2 << 20


class NotPiecesError(Exception):
    """A list was not cut where its entries begin."""


class Piece(NamedTuple):
    """Some entries of a list, as a JSON list."""

    json: bytes
    #: Where they end in the text, in bytes; 0: there is no text that is all of the list.
    end: int = 0


class Listing(NamedTuple):
    """A list of objects: what it says of itself, and its entries, one piece after the other.

    Iterating over `pieces` raises `NotPiecesError` where one is not a list.
    """

    api_version: str
    kind: str
    pieces: Iterator[Piece]


def one_piece(api_version: str, kind: str, json: bytes) -> Listing:
    """A list that was not taken apart."""
    return Listing(api_version, kind, iter((Piece(json),)))


class _Envelope(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    items: tuple[Any, ...]


def split_json(file: BinaryIO) -> Listing | None:
    """The list that a file is, or None if it does not look like one; `pieces` reads it on."""
    head = file.read(PIECE)
    envelope = _ENVELOPE.match(head)
    if envelope is None:
        return None
    size = file.seek(0, SEEK_END)
    file.seek(max(size - _MAX_TAIL, 0))
    tail = file.read()
    end = tail.rfind(b"]")
    if end < 0:
        return None
    file.seek(len(head))
    start = envelope.end() - 1
    pieces = _json_pieces(file, head[start:], range(start, size - len(tail) + end), _between(head, envelope))
    return _listing(head[: envelope.start(1)] + tail[end:], pieces)


def _json_pieces(file: BinaryIO, text: bytes, where: range, between: re.Pattern[bytes]) -> Iterator[Piece]:
    """The entries, which are `where` in the file; `text` is what was read of them already.

    The text is cut where `between` matches; the match itself belongs to neither piece.
    """
    end, at, rest = where.stop, where.start, b""
    while at + len(text) < end:
        cut = between.search(text, max(len(text) - _NEAR_END, 0)) or between.search(text)
        if cut is None:
            rest += text
        else:
            yield Piece(b"".join((b"[", rest, memoryview(text)[: cut.start()], b"]")), at + cut.start())
            rest = text[cut.end() :]
        at += len(text)
        text = file.read(-1 if cut is None and len(rest) > _MAX_ENTRY else PIECE)
        if not text:
            raise NotPiecesError
    yield Piece(b"".join((b"[", rest, memoryview(text)[: end - at], b"]")), end)


def split_yaml(text: bytes) -> Listing | None:
    """The list that the text is, one document in block style, or None if it does not look like one."""
    first = _first_entry(text)
    if first is None:
        return None
    tail = _YAML_TAIL.search(text, max(first.end(1), len(text) - _MAX_TAIL))
    end = tail.start() if tail else len(text)
    start = first.start()
    try:
        envelope = yaml_blocks.to_json(text[: start - 1].removeprefix(b"---\n") + b" []\n" + text[end:])
    except NotSimpleError:
        return None
    pieces = _pieces(text, start, end, re.compile(rb"\n" + first[1] + rb"(?=- )"))
    return _listing(envelope, (Piece(_yaml_piece(view), at) for view, at in pieces))


def _first_entry(text: bytes) -> re.Match[bytes] | None:
    """Where the entries of a YAML list begin: its fields are gone through line by line."""
    at, is_metadata = (len(b"---\n") if text.startswith(b"---\n") else 0), False
    while end := text.find(b"\n", at) + 1:
        if text.startswith(b"items:\n", at):
            return _YAML_ENTRY.match(text, end)
        is_metadata = text.startswith(b"metadata:\n", at) or (is_metadata and text.startswith(b" ", at))
        if not is_metadata and not _YAML_FIELD.match(text, at):
            return None
        at = end
    return None


def _yaml_piece(piece: memoryview) -> bytes:
    text = bytes(piece) + b"\n"
    try:
        return yaml_blocks.to_json(text)
    except NotSimpleError:
        pass
    from kwhatif.sources.text.yaml_text import YAMLProblem, load

    try:
        return msgspec.json.encode(load(text))
    except YAMLProblem as failure:
        raise NotPiecesError from failure


def _listing(envelope: bytes, pieces: Iterator[Piece]) -> Listing | None:
    try:
        says = msgspec.json.decode(envelope, type=_Envelope)
    except msgspec.DecodeError:
        return None
    return None if says.items else Listing(says.api_version, says.kind, pieces)


#: How entries begin.
_BEGINNINGS = (
    rb'\{\s*"apiVersion"\s*:\s*"[^"]*"\s*,\s*"kind"',
    rb'\{\s*"kind"\s*:\s*"[^"]*"\s*,\s*"apiVersion"',
    rb'\{\s*"metadata"\s*:\s*\{',
)
_NOWHERE = re.compile(rb"(?!)")


def _between(text: bytes, head: re.Match[bytes]) -> re.Pattern[bytes]:
    """Where to cut: behind the closing brace, and before the opening one.

    Entries are found by their indentation, or on one line by what they begin with.
    """
    if b"\n" in head[1]:
        return re.compile(rb"(?<=\})," + head[1] + rb"(?=\{)")
    for beginning in _BEGINNINGS:
        if re.compile(beginning).match(text, head.end(1)):
            return re.compile(rb"(?<=\}),\s*(?=" + beginning + rb")")
    return _NOWHERE


def _pieces(text: bytes, start: int, end: int, between: re.Pattern[bytes]) -> Iterator[tuple[memoryview, int]]:
    """The text cut where `between` matches, each with its end; the match itself belongs to neither piece."""
    view = memoryview(text)
    while match := between.search(text, start + PIECE, end):
        yield view[start : match.start()], match.start()
        start = match.end()
    yield view[start:end], end
