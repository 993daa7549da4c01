"""Blocks on a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from kwhatif.render.blocks import (
    GLYPHS,
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
from kwhatif.render.safe import safe, shortened

GOOD = "green"
BAD = "bold red"
WARN = "yellow"
FAINT = "dim"
STRONG = "bold"
#: How to see what is left out.
_HINT = " (-o wide)"
#: The width of a bar in cells; an eighth of a cell can still be seen.
_BAR = 8
#: Deeper levels are not indented any further.
_DEEPEST = 20
_STYLES: Mapping[Tone, str] = {"": "", "good": GOOD, "warn": WARN, "bad": BAD, "faint": FAINT, "strong": STRONG}
_OF_GLYPHS = {"✔": GOOD, "!": WARN, "⏸": WARN, "✘": BAD, "-": FAINT}
_SIGNS: Mapping[Sign, tuple[str, str]] = {sign: (glyph, _OF_GLYPHS[glyph]) for sign, glyph in GLYPHS.items()}


def draw(blocks: Iterable[Block], detail: Detail) -> Iterator[RenderableType]:
    """The blocks, with empty lines above headings and between verdicts."""
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
    """Whether an empty line already follows the block, as after every table."""
    if isinstance(block, Folded):
        return _ends_empty(block.blocks[-1], detail)
    return isinstance(block, Table) and (detail.wide or block.most is None or len(block.rows) <= block.most)


def _drawn(block: Block, detail: Detail) -> Iterator[RenderableType]:
    match block:
        case Verdict(sign=sign, tone=tone):
            yield _signed(sign, block.line, tone, detail)
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
    """The words as inert text; names of nodes are shortened, except in text to copy."""
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
    """The words after a sign; those without a tone get the sign's style."""
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
            yield indented(hanging(Text(mark), said), depth + 2)
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
        yield text(f"{len(block.rows) - len(shown):,} more{_HINT}", FAINT)


def _rest(row: Row) -> Iterator[Text]:
    """A row about the rows that were not made; the hint follows the last words."""
    said = ["".join(_lines(cell.value if isinstance(cell, Cell) else cell)) for cell in row]
    last = max(place for place, each in enumerate(said) if each)
    yield from (text(f"{each}{_HINT}" if place == last else each, FAINT) for place, each in enumerate(said))


def _cell(cell: Value | Cell, column: Column, detail: Detail) -> Text:
    if isinstance(cell, str):  # as most tables are
        return text(detail.names.cut(cell) if column.kind in ("words", "node") else cell)
    if isinstance(cell, tuple | list) and len(cell) == 1:
        return _cell(cell[0], column, detail)
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
    """A bar with all parts of a hundred percent."""
    filled = min(_BAR, round(percent / 100 * _BAR))
    return "█" * filled + "░" * (_BAR - filled)


# --- texts and tables of Rich ----------------------------------------------------------------------------------------


def text(content: object, style: str = "") -> Text:
    """Any content as inert text."""
    return Text(safe(shortened(str(content))), style=style)


def lines(content: Sequence[str], style: str = "") -> Text:
    """Several lines in one cell."""
    return Text("\n".join(safe(shortened(line)) for line in content), style=style)


class _Fitted(RichTable):
    """A table that breaks no word; if there is too little room, the last column gets most of it.

    If even the words of the cells do not fit, `droppable` columns with one value are left out, then times are broken;
    and at last each row becomes a few lines.
    """

    droppable: Sequence[str] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Each column is as wide as its longest word, or line if there is room; `_share` distributes the rest."""
        room = options.max_width - _GAP * len(self.columns) + 1
        whole = [_longest((column.header, *column.cells), str.splitlines) for column in self.columns]
        if sum(whole) <= room:
            yield from super().__rich_console__(console, options)
            return
        headers = [_in_words(str(column.header)) for column in self.columns]
        words = self._unbroken(self._longest_words(headers, _pieces))
        smaller = self._smaller() if sum(words) > room else None
        if smaller is not None:
            yield smaller
            return
        if sum(words) > room and self.row_count > 1:
            words = self._longest_words(headers, str.split)
        if sum(words) > room:
            yield from self._stacked()
            return
        lines = [
            max(word, _longest(column.cells, str.splitlines)) for word, column in zip(words, self.columns, strict=True)
        ]
        if sum(lines) <= room:
            words = lines
        for header, column in zip(headers, self.columns, strict=True):
            column.header = header
        extra = _share(room - sum(words), [line - word for line, word in zip(whole, words, strict=True)])
        for column, word, more in zip(self.columns, words, extra, strict=True):
            column.width = word + more
        for cell in self.columns[0].cells:
            if isinstance(cell, Text) and cell_len(cell.plain) > words[0] + extra[0]:
                cell.plain = cell.plain.replace(_HINT, f"\n{_HINT.lstrip()}")
        yield from super().__rich_console__(console, options)

    def _longest_words(self, headers: Sequence[str], split: Callable[[str], list[str]]) -> list[int]:
        return [_longest((header, *column.cells), split) for header, column in zip(headers, self.columns, strict=True)]

    def _unbroken(self, words: Sequence[int]) -> list[int]:
        """The widths of these words; for numbers, those of whole cells, so that no number is broken before its unit."""
        return [
            max(word, _longest(column.cells, str.splitlines)) if column.justify == "right" else word
            for word, column in zip(words, self.columns, strict=True)
        ]

    def _smaller(self) -> _Fitted | None:
        """The table without its last droppable column; None if there is none."""
        same = [
            column
            for column in self.columns
            if column.header in self.droppable and len(set(filter(None, map(str, column.cells)))) == 1
        ]
        if self.row_count == 1 or not same:
            return None
        kept = [column for column in self.columns if column is not same[-1]]
        numbers = [str(column.header) for column in kept if column.justify == "right"]
        made = table(*(str(column.header) for column in kept), right=numbers, droppable=self.droppable)
        for row in zip(*(column.cells for column in kept), strict=True):
            made.add_row(*row)
        return made

    def _stacked(self) -> Iterator[RenderableType]:
        """Each row as a few lines: first the sign, the number, and the first column of words.

        Several numbers need their names, so they are below it. A row without sign and number continues the one above.
        """
        headers = [str(column.header) for column in self.columns]
        named = (index for index, column in enumerate(self.columns) if headers[index] and column.justify == "left")
        title = next(named, 0)
        before = [index for index in range(title) if headers[index]]
        below = [*(before if len(before) > 1 else ()), *range(title + 1, len(headers))]
        above = [index for index in range(title) if index not in below]
        yield ""
        for row in zip(*(column.cells for column in self.columns), strict=True):
            cells = [cell if isinstance(cell, Text) else Text(str(cell)) for cell in row]
            mark = Text(" ").join(cells[index] for index in above if cells[index].plain)
            if cells[title].plain and mark.plain:
                yield hanging(mark, cells[title])
            elif cells[title].plain:
                yield indented(cells[title], 2) if above else cells[title]
            for index in below:
                if cells[index].plain:
                    label = headers[index].lower() if headers[index].isupper() else headers[index]
                    first, *others = cells[index].split("\n")
                    yield indented(Text.assemble((f"{label}: ", FAINT), first), 4)
                    yield from (indented(each, 6) for each in others)
        yield ""


#: Cells between two columns: padding, separator, padding.
_GAP = 3


def _share(room: int, wanted: Sequence[int]) -> list[int]:
    """The extra width of each column beyond its longest word: as much as it needs; the last column gets the rest."""
    total = max(sum(wanted), 1)
    given = [min(more, room * more // total) for more in wanted]
    given[-1] += min(room - sum(given), wanted[-1] - given[-1])
    return given


#: Parts of texts that are only broken if there is no other way: a time and its mark; a bound; a percentage; a hint.
_PIECE = re.compile(r"◂?\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ|at most \S+|\w+ \d+ %\S*|\(-o wide\)|\S+")


def _pieces(content: str) -> list[str]:
    return _PIECE.findall(content)


#: Where a name in camel case may be broken: `NodeResources`, `CSILimits`.
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def _in_words(header: str) -> str:
    """A plugin's name as words, which can be wrapped."""
    return header if header.isupper() else _HUMP.sub(" ", header)


def _longest(cells: Iterable[object], split: Callable[[str], list[str]]) -> int:
    return max((cell_len(part) for cell in cells for part in split(str(cell))), default=0)


def table(*columns: str, right: Sequence[str] = (), droppable: Sequence[str] = ()) -> _Fitted:
    """An open, compact table; columns in `right` are numbers.

    Those in `droppable` may be left out if there is no room and all rows have the same value.
    """
    made = _Fitted(box=box.SIMPLE_HEAD, pad_edge=False)
    made.droppable = droppable
    for column in columns:
        justify: Literal["right", "left"] = "right" if column in right else "left"
        made.add_column(column, justify=justify, overflow="fold")
    return made


def whole(line: str, style: str = "", cells: int = 0) -> Text:
    """A line to copy with this indentation, never broken."""
    return Text(" " * cells + safe(shortened(line)), style=style, no_wrap=True, overflow="ignore")


def hanging(mark: Text, content: Text) -> RichTable:
    """Content after a mark, with its continued lines below its first."""
    made = RichTable.grid(padding=(0, 1, 0, 0))
    made.add_column(no_wrap=True)
    made.add_column(overflow="fold")
    made.add_row(mark, content)
    return made


def indented(content: RenderableType, cells: int = 2) -> RenderableType:
    """Content with this indentation, also on continued lines."""
    return Padding(content, (0, 0, 0, cells), expand=False)
