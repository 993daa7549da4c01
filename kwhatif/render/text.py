"""Small pieces that all tables are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    """A table that breaks no word as long as the terminal has room, and whose longest lines are wrapped first."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Each column is as wide as its longest word; the rest makes short lines whole first."""
        words = [_longest(column, str.split) for column in self.columns]
        lines = [_longest(column, str.splitlines) for column in self.columns]
        room = options.max_width - sum(words) - _GAP * len(words) + 1
        if 0 <= room < sum(lines) - sum(words):
            for line, word, column in sorted(zip(lines, words, self.columns, strict=True), key=_more):
                more = min(line - word, room)
                column.width = word + more
                room -= more
        yield from super().__rich_console__(console, options)


#: Cells between two columns: padding, separator, padding.
_GAP = 3


def _more(fitted: tuple[int, int, Column]) -> int:
    line, word, _ = fitted
    return line - word


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
