"""The YAML that kubectl prints, straight to JSON: twenty times as fast as a parser that must expect anything.

One line after the other in block style, with scalars that fit on their line. An entry of any other form (a block of
text, a folded line, a list in brackets) is handed to the full parser alone; and where even the frame is unusual
(aliases, keys that are not words, invalid YAML), the whole text is, by way of `NotSimpleError`. So this module
decides nothing: its results are those of `yaml_text`, and tests hold it to that.
"""

from __future__ import annotations

import re

import msgspec

from kwhatif.sources.text.yaml_entries import NotSimpleError, entry_on, text_over_lines

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
