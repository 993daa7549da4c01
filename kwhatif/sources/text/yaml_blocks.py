"""The YAML that kubectl prints, straight to JSON: twenty times as fast as a parser that must expect anything.

It reads block style line by line, with scalars on one line or texts over several. An entry of any other form (a folded
line, a list in brackets) is handed to the full parser alone; and where even the frame is unusual (aliases, keys that
are not words, invalid YAML), the whole text is, by way of `NotSimpleError`. So this module decides nothing: its results
are those of `yaml_text`, and tests hold it to that.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from kwhatif.sources.text.yaml_scalars import as_json, plain


class NotSimpleError(Exception):
    """The text has another form than is read here; it may well be valid."""


_CHARACTER = rb"[!-9;-~\x80-\xff]|:(?=[!-~\x80-\xff])"
_PLAIN = rb"(?:[A-Za-z0-9_/.+($^;<=~\x80-\xff]|-(?=[!-~\x80-\xff]))(?:" + _CHARACTER + rb"| (?=[!-\"$-9;-~\x80-\xff]))*"
_QUOTED = rb"""'(?:[^'\t]|'')*'|"(?:[^"\\\t]|\\["\\bfnrt]|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4})*\""""
_VALUE = rb"\{\}|\[\]|" + _QUOTED + b"|" + _PLAIN
_KEY = _QUOTED + rb"|[A-Za-z0-9_/.](?:" + _CHARACTER + rb")*?"
_LINE = re.compile(rb"(- )?(?:(" + _KEY + rb"):(?: (" + _VALUE + rb"))?|(" + _VALUE + rb"))")

_TEXT_FOLLOWS = re.compile(b"(" + _KEY + rb"): \|(-?)")
_CONTINUED = re.compile(rb" *(?![ #])(?:" + _CHARACTER + rb"| (?=[!-\"$-9;-~\x80-\xff]))+")

_COMMENT = ord("#")
#: YAML allows keys of 1,024 characters, together with what stands before their colon.
_LONGEST_KEY = 1000
#: First characters of plain scalars that may be something else than a string.
_NOT_ALWAYS_TEXT = frozenset(b"+-.0123456789yYnNtTfFoO~")


class YAMLEntry(NamedTuple):
    """What stands on a line: `text` is its JSON, followed by a comma unless the value is on the next lines.

    Without text there is an entry, but not a simple one. A blank line or a comment has no column.
    """

    column: int
    begins_item: bool
    has_key: bool = False
    text: bytes = b""
    is_complete: bool = True


#: Lines repeat themselves: line -> what stands on it.
_known: dict[bytes, YAMLEntry] = {}
#: The number of lines to keep, some tens of megabytes; then all are dropped.
_MAX_KNOWN = 100_000
_BLANK = YAMLEntry(-1, False)


def entry_on(line: bytes) -> YAMLEntry:
    """The entry on a line."""
    known = _known.get(line)
    if known is not None:
        return known
    content = line.lstrip(b" ")
    entry = _parse(content, len(line) - len(content)) if content and content[0] != _COMMENT else _BLANK
    if len(_known) > _MAX_KNOWN:
        _known.clear()
    _known[line] = entry
    return entry


def _parse(content: bytes, column: int) -> YAMLEntry:
    match = _LINE.fullmatch(content)
    if match is None:
        return YAMLEntry(column, content == b"-" or content.startswith(b"- "))
    dash, key, value, item = match.groups()
    begins_item = dash is not None
    if key is not None and len(key) > _LONGEST_KEY:
        raise NotSimpleError
    if key is None:
        return YAMLEntry(column, begins_item, text=_scalar(item) + b"," if begins_item else b"")
    if value is None:
        return YAMLEntry(column, begins_item, True, _key(key) + b":", False)
    return YAMLEntry(column, begins_item, True, _key(key) + b":" + _scalar(value) + b",")


def _key(text: bytes) -> bytes:
    """A key as JSON: what is not a string becomes one."""
    json = _scalar(text)
    if json.startswith(b'"'):
        return json
    if json not in (b"true", b"false") and not json.lstrip(b"-").isdigit():
        raise NotSimpleError
    return b'"' + json + b'"'


def _scalar(text: bytes) -> bytes:
    first = text[0]
    if first == 0x22:  # a double quote; the escapes are those of JSON
        return text
    if first == 0x27:
        return _string(text[1:-1].replace(b"''", b"'"))
    if first not in _NOT_ALWAYS_TEXT:
        return text if text in (b"{}", b"[]") else _string(text)
    return _resolved(text.decode())


def _string(text: bytes) -> bytes:
    return msgspec.json.encode(text.decode()) if b'"' in text or b"\\" in text else b'"' + text + b'"'


def _resolved(text: str) -> bytes:
    try:
        return msgspec.json.encode(as_json(plain(text)))
    except ValueError:
        raise NotSimpleError from None


def text_over_lines(first: bytes, rest: list[bytes]) -> bytes | None:
    """An entry, without its indentation, whose value is a text over several lines; None if it is anything else."""
    entry = _LINE.fullmatch(first)
    if entry and entry[3] and entry[3][0] not in b"'\"{[" and all(map(_CONTINUED.fullmatch, rest)):
        folded = b" ".join([entry[3], *(line.lstrip(b" ") for line in rest)])
        return _key(entry[2]) + b":" + _string(folded)
    header = _TEXT_FOLLOWS.fullmatch(first)
    literal = _literal(rest) if header and rest else None
    if header is None or literal is None:
        return None
    text = literal if header[2] else literal + b"\n"
    return _key(header[1]) + b":" + msgspec.json.encode(text.decode())


def _literal(lines: list[bytes]) -> bytes | None:
    """The text of a `|` block without the breaks at its end; None where its indentation is not plain to see."""
    indentation = lines[0][: len(lines[0]) - len(lines[0].lstrip(b" "))]
    if indentation == lines[0] or any(not line.startswith(indentation) and line.strip(b" ") for line in lines):
        return None
    return b"\n".join([line[len(indentation) :] for line in lines]).rstrip(b"\n")


#: What ASCII text is made of; `\n` is the only break of a line.
_PRINTABLE = bytes(range(0x20, 0x7F)) + b"\t\n"
#: What is beyond ASCII and yet not text in YAML: control characters, other line breaks, byte order marks.
_UNPRINTABLE = re.compile(rb"\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]|\xef\xbb\xbf|\xef\xbf[\xbe\xbf]|[\x00-\x1f\x7f]")

#: The full parser takes as long to begin as to read that many lines. Where it is needed often, it had better read all.
_LINES_PER_DELEGATE = 20
_FEW_LINES = 400


def to_json(text: bytes) -> bytes:
    """The one document in `text`, which ends with a line break, as JSON.

    Raises:
        NotSimpleError: the full parser must read it.
    """
    _require_plain_text(text)
    return _Transcoder(text.removesuffix(b"\n").split(b"\n")).run()


def _require_plain_text(text: bytes) -> None:
    rest = text.translate(None, _PRINTABLE)
    if rest:
        if _UNPRINTABLE.search(rest):
            raise NotSimpleError
        try:
            rest.decode()
        except UnicodeDecodeError:
            raise NotSimpleError from None


#: The number of no line.
_NONE = -1


class _Transcoder:
    """Lines become parts of JSON. Every part that may be the last of its container ends with a comma."""

    def __init__(self, lines: list[bytes]) -> None:
        self._lines = lines
        self._parts: list[bytes] = []
        #: Containers around the current one: column, and whether it is a list.
        self._outer: list[tuple[int, bool]] = []
        self._column = -1
        self._is_list = False
        #: The value of the last key, or at first of the document, begins on the next line.
        self._pending = True
        #: The line of the scalar that is the last part. It may go on.
        self._scalar = _NONE
        #: Lines before this one are done.
        self._next = 0
        self._delegated = 0

    def run(self) -> bytes:
        """Transcode all lines."""
        for number, line in enumerate(self._lines):
            column, begins_item, has_key, text, is_complete = entry_on(line)
            if column < 0 or number < self._next:
                continue
            if column != self._column or begins_item is not self._is_list or self._pending:
                if column > self._column and not self._pending:
                    self._take_back(number)
                    continue
                self._move_to(column, begins_item)
            if not text:
                self._delegate(number)
                continue
            if begins_item and has_key:
                self._open(column + len(b"- "), is_list=False)
            self._parts.append(text)
            self._scalar = number if is_complete else _NONE
            self._pending = not is_complete
        return self._finish()

    def _finish(self) -> bytes:
        if self._pending:
            self._parts.append(b"null,")
        while self._outer:
            self._close()
        return b"".join(self._parts)[:-1]

    def _move_to(self, column: int, begins_item: bool) -> None:  # noqa: FBT001 - called per line
        """Open or close containers until an entry at that column fits."""
        if self._pending:
            self._pending = False
            if column > self._column or (column == self._column and begins_item and not self._is_list):
                self._open(column, is_list=begins_item)
                return
            self._parts.append(b"null,")
        while column < self._column or (column == self._column and self._is_list and not begins_item):
            self._close()
        if column != self._column or begins_item is not self._is_list:
            raise NotSimpleError

    def _open(self, column: int, *, is_list: bool) -> None:
        self._outer.append((self._column, self._is_list))
        self._column, self._is_list = column, is_list
        self._parts.append(b"[" if is_list else b"{")

    def _close(self) -> None:
        self._parts[-1] = self._parts[-1][:-1]
        self._parts.append(b"]," if self._is_list else b"},")
        self._column, self._is_list = self._outer.pop()
        self._scalar = _NONE

    def _take_back(self, number: int) -> None:
        """The line is indented more than the scalar before it: that one goes on, and is not simple."""
        if self._scalar == _NONE:
            raise NotSimpleError
        self._parts.pop()
        self._delegate(self._scalar)
        if self._next <= number:  # there is a comment between the two
            raise NotSimpleError

    def _delegate(self, number: int) -> None:
        """Read the current container's entry on that line together with all that is indented more."""
        end = number + 1
        while end < len(self._lines):
            content = self._lines[end].lstrip(b" ")
            if content and len(self._lines[end]) - len(content) <= self._column:
                break
            end += 1
        first, rest = self._lines[number][self._column :], self._lines[number + 1 : end]
        self._parts.append((text_over_lines(first, rest) or self._parsed(first, rest)) + b",")
        self._scalar = _NONE
        self._next = end

    def _parsed(self, first: bytes, rest: list[bytes]) -> bytes:
        """What the full parser makes of the entry."""
        from kwhatif.sources.text.yaml_text import YAMLProblem, load_with_repeats

        self._delegated += 1
        if self._delegated * _LINES_PER_DELEGATE > len(self._parts) + _FEW_LINES:
            raise NotSimpleError
        try:
            value, repeats = load_with_repeats(b"\n".join([b" " * self._column + first, *rest, b""]))
        except YAMLProblem:
            raise NotSimpleError from None
        if repeats or not isinstance(value, list if self._is_list else dict) or len(value) != 1:
            raise NotSimpleError
        return msgspec.json.encode(value)[1:-1]
