"""Small pieces that all tables are made of."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
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


def table(*columns: str, right: Sequence[str] = (), title: str = "") -> Table:
    """An open, compact table; columns in `right` are numbers."""
    made = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, title=Text(title, style=STRONG) if title else None, title_justify="left"
    )
    for column in columns:
        numeric = column in right
        made.add_column(column, justify="right" if numeric else "left", no_wrap=numeric, overflow="fold")
    return made
