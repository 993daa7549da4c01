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
    Row,
    Sentence,
    Sign,
    Span,
    Table,
    Tone,
    Value,
    Verdict,
    Words,
)
from kwhatif.render.detail import Detail
from kwhatif.render.text import BAD, FAINT, GOOD, STRONG, WARN, indented, lines, table, text, whole

#: Cells of a bar: an eighth is as much as one sees at a glance.
_BAR = 8
#: What stands deeper in a list is not indented any further.
_DEEPEST = 20
_STYLES: Mapping[Tone, str] = {"": "", "good": GOOD, "warn": WARN, "bad": BAD, "faint": FAINT, "strong": STRONG}
_SIGNS: Mapping[Sign, tuple[str, str]] = {
    "Placed": ("✔", GOOD),
    "Preempts": ("!", WARN),
    "Unschedulable": ("✘", BAD),
    "Gated": ("⏸", WARN),
    "Denied": ("✘", BAD),
    "Ignored": ("-", FAINT),
    "Waits": ("-", FAINT),
    "good": ("✔", GOOD),
    "doubtful": ("!", WARN),
    "bad": ("✘", BAD),
}


def draw(blocks: Iterable[Block], detail: Detail) -> Iterator[RenderableType]:
    """The blocks, with an empty line above headings and between verdicts."""
    is_answered, is_below_text = False, False
    for block in blocks:
        if (is_below_text and _has_title(block)) or (is_answered and isinstance(block, Verdict)):
            yield ""
        yield from _drawn(block, detail)
        is_answered |= isinstance(block, Verdict)
        is_below_text = not _ends_empty(block, detail)


def _has_title(block: Block) -> bool:
    return isinstance(block, Heading) or (isinstance(block, Folded) and not block.bare)


def _ends_empty(block: Block, detail: Detail) -> bool:
    """Whether an empty line is below it already, as below every table."""
    if isinstance(block, Folded):
        return _ends_empty(block.blocks[-1], detail)
    return isinstance(block, Table) and (detail.wide or block.most is None or len(block.rows) <= block.most)


def _drawn(block: Block, detail: Detail) -> Iterator[RenderableType]:
    match block:
        case Verdict(said, sign, tone):
            yield _signed(sign, said, tone, detail)
        case Heading(said):
            yield _words(said, STRONG, detail)
        case Sentence(said, tone, depth):
            shown = _words(said, _STYLES[tone], detail)
            yield indented(shown, 2 * depth) if depth else shown
        case Listing():
            yield from _listing(block, detail)
        case Table():
            yield from _table(block, detail)
        case Folded(title, blocks, bare):
            yield from () if bare else (text(title, STRONG),)
            yield from draw(blocks, detail)


def _words(said: Words, style: str, detail: Detail) -> Text:
    """The words as inert text; names of nodes are cut, but not where they are to be copied."""
    if isinstance(said, str):
        return text(detail.names.cut(said), style)
    made = Text()
    for part in said:
        if isinstance(part, str):
            made.append_text(text(detail.names.cut(part), style))
        else:
            content = part.text if part.exact else detail.names.cut(part.text)
            made.append_text(text(content, _STYLES[part.tone] or style))
    return made


def _signed(sign: Sign | None, said: Words, tone: Tone, detail: Detail) -> Text:
    """The words after a sign; in the sign's style, where they have no tone."""
    if sign is None:
        return _words(said, _STYLES[tone], detail)
    glyph, style = _SIGNS[sign]
    return Text.assemble((glyph, style), " ", _words(said, _STYLES[tone] or style, detail))


def _listing(block: Listing, detail: Detail) -> Iterator[RenderableType]:
    for place, item in enumerate(block.items, 1):
        depth = 2 * min(item.depth, _DEEPEST)
        said = _signed(item.sign, item.text, item.tone, detail)
        if block.marks == "lines":
            yield indented(said, depth) if depth else said
        else:
            mark = f"{place}." if block.marks == "numbers" else "•"
            yield indented(Text.assemble(mark, " ", said), depth + 2)
        yield from (whole(command, FAINT, depth + 5) for command in item.commands)


def _table(block: Table, detail: Detail) -> Iterator[RenderableType]:
    titles = [column.title if column.named else column.title.upper() for column in block.columns]
    found = list(zip(titles, block.columns, strict=True))
    right = [title for title, column in found if column.kind == "number"]
    made = table(*titles, right=right, droppable=[title for title, column in found if column.droppable])
    shown = block.rows if detail.wide else block.rows[: block.most]
    for row in shown:
        made.add_row(*(_cell(value, column, detail) for value, column in zip(row, block.columns, strict=True)))
    if block.rest is not None:
        made.add_row(*_rest(block.rest))
    yield made
    if len(shown) < len(block.rows):
        yield text(f"{len(block.rows) - len(shown):,} more{HINT}", FAINT)


#: How to see what is left out.
HINT = " (-o wide)"


def _rest(row: Row) -> Iterator[Text]:
    """A row about those that were not made; the hint stands behind its last words."""
    said = ["".join(_lines(cell.value if isinstance(cell, Cell) else cell)) for cell in row]
    last = max(place for place, each in enumerate(said) if each)
    yield from (text(f"{each}{HINT}" if place == last else each, FAINT) for place, each in enumerate(said))


def _cell(cell: Value | Cell, column: Column, detail: Detail) -> Text:
    if not isinstance(cell, Cell):
        cell = Cell(cell)
    value = cell.value
    if value is None:
        return text("-", FAINT)
    said = _lines(value)
    if column.kind in ("words", "node") and not isinstance(value, Span):
        said = [detail.names.cut(line) for line in said]
    if cell.sign is None:
        return lines(said, _STYLES[cell.tone])
    if not value:
        return Text(*_SIGNS[cell.sign])
    return Text.assemble(_SIGNS[cell.sign], " ", lines(said, _STYLES[cell.tone]))


def _lines(value: Value) -> Sequence[str]:
    match value:
        case int():
            return [f"{value:,}"]
        case str():
            return [value]
        case Span():
            return [value.text]
        case Change(before, after):
            return [f"{_bar(after)} {before:3.0f} → {after:3.0f}"]
    return value or [""]


def _bar(percent: float) -> str:
    """All of it for a hundred percent."""
    filled = min(_BAR, round(percent / 100 * _BAR))
    return "█" * filled + "░" * (_BAR - filled)
