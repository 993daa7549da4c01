"""Blocks in a limited number of tokens, for readers that pay for each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from kwhatif.render.amounts import plural
from kwhatif.render.answer import answer, difference, suited
from kwhatif.render.blocks import (
    GLYPHS,
    Block,
    Cell,
    Change,
    Folded,
    Heading,
    Listing,
    Sentence,
    Sign,
    Span,
    Table,
    Value,
    Verdict,
    Words,
)
from kwhatif.render.detail import Detail, NodeNames, clock
from kwhatif.render.safe import safe
from kwhatif.report import Report
from kwhatif.report.comparison import Comparison

#: The maximum numbers of rows of a table and items of a list: the first of these numbers that fits is used.
_ROWS = (20, 10, 5, 3, 1)
#: Characters of one sentence or cell.
_MAX_TEXT = 600
#: Reserved for the last line, which says what is left out.
_LAST = 60
#: Each match is at most one token: a few letters, a few digits, spaces, or any other character.
_PIECE = re.compile(r"[A-Za-z]{1,3}|[0-9]{1,2}|\n|[ ]{2,}|[^A-Za-z0-9\s]")


def tokens(text: str) -> int:
    """An upper bound of the text's tokens: tokenizers need no more for ASCII names and sentences, or for bytes."""
    return sum(1 if piece.isascii() else len(piece.encode()) for piece in _PIECE.findall(text))


def brief(answered: Report | Comparison, most: int, *, explain: bool = False) -> str:
    """The answer in at most `most` tokens: the verdict first, names in full."""
    report = answered.after if isinstance(answered, Comparison) else answered
    return "\n".join(lines_within(list(_blocks(answered, explain=explain)), most, len(report.caveats)))


def lines_within(blocks: Sequence[Block], most: int, caveats: int) -> Sequence[str]:
    """The blocks in at most `most` tokens: fewer rows of each table and list first, then fewer lines."""
    for rows in _ROWS:
        lines = list(_lines(blocks, rows))
        if tokens("\n".join(lines)) <= most:
            return lines
    return list(_shortened(lines, most, caveats))


def _blocks(answered: Report | Comparison, *, explain: bool) -> Iterator[Block]:
    report = answered.after if isinstance(answered, Comparison) else answered
    detail = replace(suited(Detail(now=clock(), explain=explain), report), names=NodeNames())
    return difference(answered, detail) if isinstance(answered, Comparison) else answer(report, detail)


def _shortened(lines: Sequence[str], most: int, caveats: int) -> Iterator[str]:
    """As many lines as fit; the number of lines that are left out is added."""
    room = most - _LAST
    for number, line in enumerate(lines):
        room -= tokens(line) + 1
        if room < 0:
            yield f"… {plural(len(lines) - number, 'more line')}; the answer has {plural(caveats, 'caveat')}"
            return
        yield line


def _lines(blocks: Iterable[Block], rows: int) -> Iterator[str]:
    for block in blocks:
        match block:
            case Verdict(sign=sign):
                yield _signed(sign, block.line)
            case Heading(said):
                yield f"{_text(said)}:"
            case Sentence(said, _, depth):
                yield "  " * depth + _text(said)
            case Listing():
                yield from _listing(block, rows)
            case Table():
                yield from _table(block, rows)
            case Folded(title, inner, bare):
                yield from () if bare else (f"{_text(title)}:",)
                yield from _lines(inner, rows)


def _listing(block: Listing, rows: int) -> Iterator[str]:
    for place, item in enumerate(block.items[:rows], 1):
        mark = {"numbers": f"{place}. ", "bullets": "- ", "lines": ""}[block.marks]
        yield f"{'  ' * item.depth}{mark}{_signed(item.sign, item.text)}"
        yield from (f"{'  ' * item.depth}  {safe(command)}" for command in item.commands)
    if len(block.items) > rows:
        yield f"… {len(block.items) - rows} more"


def _table(block: Table, rows: int) -> Iterator[str]:
    yield " | ".join(_text(column.title) for column in block.columns)
    for row in block.rows[:rows]:
        yield " | ".join(_cell(value) for value in row)
    if block.rest is not None:
        yield " ".join(filter(None, (_cell("" if value is None else value) for value in block.rest)))
    if len(block.rows) > rows:
        yield f"… {len(block.rows) - rows} more"


def _cell(value: Value | Cell) -> str:
    if isinstance(value, Cell):
        return _signed(value.sign, _value(value.value))
    return _value(value)


def _value(value: Value) -> str:
    match value:
        case None:
            return "-"
        case int() | str():
            return _text(str(value))
        case Span(said):
            return _text(said)
        case Change(before, after):
            return f"{before:.0f} → {after:.0f}"
    return "; ".join(map(_text, value))


def _signed(sign: Sign | None, said: Words) -> str:
    return _text(said) if sign is None else f"{GLYPHS[sign]} {_text(said)}".rstrip()


def _text(said: Words) -> str:
    text = said if isinstance(said, str) else "".join(part if isinstance(part, str) else part.text for part in said)
    return safe(text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…")
