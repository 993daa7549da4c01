"""Markdown, as GitHub and GitLab render it: text that is nothing but text, and tables of it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from kwhatif.render.blocks import (
    Block,
    Cell,
    Change,
    Column,
    Folded,
    Heading,
    Item,
    Listing,
    Sentence,
    Table,
    Value,
    Verdict,
)
from kwhatif.render.outcomes import Quality
from kwhatif.render.safe import safe, shortened
from kwhatif.report.decision import Outcome

#: A comment may hold 65,536 characters; what is left out is counted.
MAX_ROWS = 100
_MAX_TEXT = 300
#: A sentence that stands alone, once.
MAX_SENTENCE = 2000

SIGNS: dict[Outcome, str] = {
    "Placed": "✅",
    "Preempts": "⚠️",
    "Unschedulable": "❌",
    "Gated": "⏸️",
    "Denied": "❌",
    "Ignored": "⏭️",
    "Waits": "⏳",
}

QUALITIES: dict[Quality, str] = {"good": "✅", "doubtful": "⚠️", "bad": "❌"}
_SIGNS = SIGNS | QUALITIES

#: What means something within a line; text never begins one here.
_PUNCTUATION = re.compile(r"([\\`*_\[\]<>|~&$^])")
#: What becomes a mention, a reference, an emoji or a link by itself, however it is escaped.
_REFERENCES = re.compile(r"@(?=\w)|[#!&$](?=\d)|[~%](?=[\w\"])|:(?=//)|:(?=\w+:)|www(?=\.)", re.IGNORECASE)
ZERO_WIDTH_SPACE = "\u200b"


def prose(text: str, most: int = _MAX_TEXT) -> str:
    """The text as nothing but text: no markup, no mention, no link; cut after so many characters."""
    text = safe(text)
    shown = text if len(text) <= most else text[: most - 1] + "…"
    return _PUNCTUATION.sub(r"\\\1", _REFERENCES.sub(lambda found: found[0] + ZERO_WIDTH_SPACE, shown))


def code(text: str) -> str:
    """The text as a code span."""
    text = safe(shortened(text))
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{text}{space}{fence}"


def rows_of(header: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[str]:
    """A table; of many rows the first."""
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in islice(rows, MAX_ROWS):
        yield f"| {' | '.join(row)} |"
    hidden = sum(1 for _ in rows)
    if hidden:
        yield f"\n… and {hidden:,} more"


def limited(lines: Iterator[str], count: int) -> Iterator[str]:
    """The first of so many lines, and how many there are more."""
    yield from islice(lines, MAX_ROWS)
    if count > MAX_ROWS:
        yield f"- … and {count - MAX_ROWS:,} more"


def cell(text: str) -> str:
    """A code span within a table, where a bar ends the cell whatever it stands in."""
    return code(text).replace("|", "\\|")


# --- blocks --------------------------------------------------------------------------------------------------------


def draw(blocks: Iterable[Block]) -> Iterator[str]:
    """The blocks, an empty line between two."""
    for number, block in enumerate(blocks):
        if number:
            yield ""
        yield from _drawn(block)


def _drawn(block: Block) -> Iterator[str]:
    match block:
        case Verdict(said, sign):
            yield f"### {'' if sign is None else f'{_SIGNS[sign]} '}{prose(said)}"
        case Heading(said):
            yield f"#### {prose(said)}"
        case Sentence(said, tone):
            yield f"**{prose(said, MAX_SENTENCE)}**" if tone == "strong" else prose(said, MAX_SENTENCE)
        case Listing(items, ordered):
            marks = (f"{place}." if ordered else "-" for place in range(1, len(items) + 1))
            found = ("\n".join(_item(mark, item)) for mark, item in zip(marks, items, strict=True))
            yield from limited(found, len(items))
        case Table(columns, rows):
            titles = [prose(column.title) for column in columns]
            yield from rows_of(titles, (tuple(map(_cell, row, columns)) for row in rows))
        case Folded(title, blocks):
            yield from (f"<details><summary>{_summary(title)}</summary>", "", *draw(blocks), "", "</details>")


def _item(mark: str, item: Item) -> Iterator[str]:
    yield f"{mark} {prose(item.text)}"
    yield from (f"{' ' * len(mark)} - {code(command)}" for command in item.commands)


def _summary(title: str) -> str:
    """HTML, in which a mention would still be one."""
    return html.escape(safe(title)).replace("@", f"@{ZERO_WIDTH_SPACE}")


def _cell(cell_: Value | Cell, column: Column) -> str:
    value, sign = (cell_.value, cell_.sign) if isinstance(cell_, Cell) else (cell_, None)
    said = _said(value, column)
    return said if sign is None else f"{_SIGNS[sign]} {said}".rstrip()


def _said(value: Value, column: Column) -> str:
    match value:
        case None:
            return "-"
        case int():
            return f"{value:,}"
        case Change(before, after):
            return f"{before:.0f} → {after:.0f}"
        case str():
            return cell(value) if value and column.kind in ("name", "node") else prose(value)
    return prose("; ".join(value))
