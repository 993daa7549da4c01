"""Small pieces that all tables are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from kwhatif.render.safe import safe

GOOD = "green"
BAD = "bold red"
WARN = "yellow"
FAINT = "dim"
STRONG = "bold"


def text(content: object, style: str = "") -> Text:
    """Content from anywhere as inert text."""
    return Text(safe(str(content)), style=style)


def lines(content: Sequence[str], style: str = "") -> Text:
    """Several lines in one cell."""
    return Text("\n".join(safe(line) for line in content), style=style)


class _Fitted(Table):
    """A table that breaks no word, and whose longest lines are wrapped first.

    Where there is no room for that, headers are broken; where even the cells' words do not fit, each row becomes a few
    lines.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Each column is as wide as its longest word; what room is left makes short lines whole first."""
        words = [_longest(column, str.split) for column in self.columns]
        lines = [_longest(column, str.splitlines) for column in self.columns]
        room = options.max_width - sum(words) - _GAP * len(words) + 1
        bare = [max((_longest_word(cell) for cell in column.cells), default=0) for column in self.columns]
        if sum(bare) + _GAP * len(bare) - 1 > options.max_width:
            yield from self._stacked()
            return
        if 0 <= room < sum(lines) - sum(words):
            for line, word, column in sorted(zip(lines, words, self.columns, strict=True), key=_more):
                more = min(line - word, room)
                column.width = word + more
                room -= more
        yield from super().__rich_console__(console, options)

    def _stacked(self) -> Iterator[RenderableType]:
        """The first column that has a header is the title of its row, after the signs before it."""
        headers = [str(column.header) for column in self.columns]
        title = next((index for index, header in enumerate(headers) if header), 0)
        yield ""
        for row in zip(*(column.cells for column in self.columns), strict=True):
            cells = [cell if isinstance(cell, Text) else Text(str(cell)) for cell in row]
            yield Text(" ").join(cells[: title + 1])
            for header, cell in zip(headers[title + 1 :], cells[title + 1 :], strict=True):
                if cell.plain:
                    label = header.lower() if header.isupper() else header
                    yield indented(Text.assemble((f"{label}: ", FAINT), cell), 4)
        yield ""


#: Cells between two columns: padding, separator, padding.
_GAP = 3


def _more(fitted: tuple[int, int, Column]) -> int:
    line, word, _ = fitted
    return line - word


def _longest_word(cell: object) -> int:
    return max(map(cell_len, str(cell).split()), default=0)


def _longest(column: Column, split: Callable[[str], list[str]]) -> int:
    return max((cell_len(part) for cell in (column.header, *column.cells) for part in split(str(cell))), default=0)


def table(*columns: str, right: Sequence[str] = ()) -> Table:
    """An open, compact table; columns in `right` are numbers."""
    made = _Fitted(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return made


def indented(content: Text, cells: int = 2) -> RenderableType:
    """Content that far from the left, the lines it continues on as well."""
    return Padding(content, (0, 0, 0, cells), expand=False)
