"""Entries of block style YAML as kubectl prints them, each as JSON: mostly a line, sometimes a text over several."""

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
