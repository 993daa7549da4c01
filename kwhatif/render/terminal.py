"""Blocks on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from kwhatif.render.blocks import (
    Block,
    Cell,
    Change,
    Column,
    Folded,
    Heading,
    Listing,
    Sentence,
    Table,
    Tone,
    Value,
    Verdict,
)
from kwhatif.render.detail import Detail
from kwhatif.render.outcomes import QUALITIES, SIGNS
from kwhatif.render.text import BAD, FAINT, GOOD, STRONG, WARN, hidden, indented, lines, signed, table, text, whole

#: Cells of a bar: an eighth is as much as one sees at a glance.
_BAR = 8
_STYLES: Mapping[Tone, str] = {"": "", "good": GOOD, "warn": WARN, "bad": BAD, "faint": FAINT, "strong": STRONG}
_SIGNS = SIGNS | QUALITIES


def draw(blocks: Iterable[Block], detail: Detail) -> Iterator[RenderableType]:
    """The blocks, with an empty line above headings."""
    is_below_text = False
    for block in blocks:
        if isinstance(block, Heading | Folded) and is_below_text:
            yield ""
        yield from _drawn(block, detail)
        is_below_text = not _ends_empty(block, detail)


def _ends_empty(block: Block, detail: Detail) -> bool:
    """Whether an empty line is below it already, as below every table."""
    if isinstance(block, Folded):
        return _ends_empty(block.blocks[-1], detail)
    return isinstance(block, Table) and (detail.wide or len(block.rows) <= block.most)


def _drawn(block: Block, detail: Detail) -> Iterator[RenderableType]:
    match block:
        case Verdict(said, sign, tone):
            said = detail.names.cut(said)
            yield text(said, _STYLES[tone]) if sign is None else signed(_SIGNS[sign], said)
        case Heading(said):
            yield text(detail.names.cut(said), STRONG)
        case Sentence(said, tone):
            yield text(detail.names.cut(said), _STYLES[tone])
        case Listing():
            yield from _listing(block, detail)
        case Table():
            yield from _table(block, detail)
        case Folded(title, blocks):
            yield text(title, STRONG)
            yield from draw(blocks, detail)


def _listing(block: Listing, detail: Detail) -> Iterator[RenderableType]:
    for place, item in enumerate(block.items, 1):
        mark = f"{place}." if block.ordered else "•"
        yield indented(text(f"{mark} {detail.names.cut(item.text)}"))
        yield from (whole(command, FAINT, 5) for command in item.commands)


def _table(block: Table, detail: Detail) -> Iterator[RenderableType]:
    titles = [column.title if column.named else column.title.upper() for column in block.columns]
    right = [title for title, column in zip(titles, block.columns, strict=True) if column.kind == "number"]
    made = table(*titles, right=right)
    shown = block.rows if detail.wide else block.rows[: block.most]
    for row in shown:
        made.add_row(*(_cell(value, column, detail) for value, column in zip(row, block.columns, strict=True)))
    yield made
    yield from hidden(shown, block.rows)


def _cell(cell: Value | Cell, column: Column, detail: Detail) -> Text:
    if not isinstance(cell, Cell):
        cell = Cell(cell)
    value = cell.value
    if value is None:
        return text("-", FAINT)
    said = _lines(value)
    if column.kind in ("words", "node"):
        said = [detail.names.cut(line) for line in said]
    if cell.sign is None:
        return lines(said, _STYLES[cell.tone])
    return Text.assemble(_SIGNS[cell.sign], " ", lines(said, _STYLES[cell.tone]))


def _lines(value: Value) -> Sequence[str]:
    match value:
        case int():
            return [f"{value:,}"]
        case str():
            return [value]
        case Change(before, after):
            return [f"{_bar(after)} {before:3.0f} → {after:3.0f}"]
    return value or [""]


def _bar(percent: float) -> str:
    """All of it for a hundred percent."""
    filled = min(_BAR, round(percent / 100 * _BAR))
    return "█" * filled + "░" * (_BAR - filled)
