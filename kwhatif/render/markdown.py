"""Blocks as Markdown for GitHub and GitLab: cluster text is never markup, and names are in full."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from kwhatif.render.advise import smallest_fixes
from kwhatif.render.amounts import plural
from kwhatif.render.answer import answer, difference, suited
from kwhatif.render.blocks import (
    Block,
    Cell,
    Change,
    Column,
    Folded,
    Heading,
    Item,
    Listing,
    Row,
    Sentence,
    Sign,
    Span,
    Table,
    Value,
    Verdict,
    Words,
)
from kwhatif.render.detail import Detail, clock
from kwhatif.render.safe import safe, shortened
from kwhatif.report import Report
from kwhatif.report.comparison import Comparison

#: The maximum number of rows, and of characters in folded parts: a comment may have 65,536 characters.
_MAX_ROWS = 100
_MAX_FOLDED = 30_000
#: The maximum number of characters of a text in a cell or a list, and of a sentence.
_MAX_TEXT = 300
_MAX_SENTENCE = 2000

_SIGNS: Mapping[Sign, str] = {
    "Placed": "✅",
    "Preempts": "⚠️",
    "Unschedulable": "❌",
    "Gated": "⏸️",
    "Denied": "❌",
    "Ignored": "⏭️",
    "Waits": "⏳",
    "good": "✅",
    "doubtful": "⚠️",
    "bad": "❌",
}

#: Characters with a meaning within a line; text never begins a line here.
_PUNCTUATION = re.compile(r"([\\`*_\[\]<>|~&$^])")
#: Text that becomes a mention, a reference, an emoji or a link even if it is escaped.
_REFERENCES = re.compile(r"@(?=\w)|[#!&$](?=\d)|[~%](?=[\w\"])|:(?=//)|:(?=\w+:)|www(?=\.)", re.IGNORECASE)
_ZERO_WIDTH_SPACE = "\u200b"


def to_markdown(report: Report) -> str:
    """The report, for a comment in a merge request or a summary of a step."""
    page = suited(_page(), report)
    return _joined(answer(report, page))


def comparison_to_markdown(comparison: Comparison) -> str:
    """Two answers side by side."""
    return _joined(difference(comparison, suited(_page(), comparison.after)))


def fixes_to_markdown(report: Report) -> str:
    """Only the gate's text about the smallest fix."""
    return "" if report.advise is None else _joined(smallest_fixes(report.advise))


def _page() -> Detail:
    return Detail(now=clock(), page=True)


def _joined(blocks: Iterable[Block]) -> str:
    return "".join(f"{line}\n" for line in draw(blocks))


# --- text ------------------------------------------------------------------------------------------------------------


def prose(text: str, most: int = _MAX_TEXT) -> str:
    """The text without any markup, mention or link; at most this number of characters."""
    text = safe(text)
    shown = text if len(text) <= most else text[: most - 1] + "…"
    return _PUNCTUATION.sub(r"\\\1", _REFERENCES.sub(lambda found: found[0] + _ZERO_WIDTH_SPACE, shown))


def code(text: str) -> str:
    """The text as a code span."""
    text = safe(shortened(text))
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{text}{space}{fence}"


def _words(said: Words, most: int = _MAX_TEXT) -> str:
    if isinstance(said, str):
        return prose(said, most)
    return "".join(_span(part, most) for part in said)


def _span(part: str | Span, most: int) -> str:
    if isinstance(part, str):
        return prose(part, most)
    if part.exact:
        return code(part.text)
    return f"**{prose(part.text, most)}**" if part.tone == "strong" and part.text else prose(part.text, most)


#: The characters before a list mark, a heading or similar at the start of a line.
_BEGINNING = re.compile(r"(?=[#+=-])|\d+(?=[.)])")


def _at_start(shown: str) -> str:
    """Text without markup, also at the start of a line."""
    shown = shown.lstrip()
    found = _BEGINNING.match(shown)
    return shown if found is None else f"{found[0]}\\{shown[found.end() :]}"


def _signed(sign: Sign | None, said: str) -> str:
    return said if sign is None else f"{_SIGNS[sign]} {said}".rstrip()


# --- blocks ----------------------------------------------------------------------------------------------------------


def draw(blocks: Iterable[Block]) -> Iterator[str]:
    """The blocks, with empty lines between them; folded parts as long as there is room."""
    room, left_out = _MAX_FOLDED, 0
    is_first = True
    for block in blocks:
        drawn = list(_drawn(block))
        if isinstance(block, Folded):
            room -= sum(map(len, drawn))
            if room < 0:
                left_out += 1
                continue
        yield from drawn if is_first else ("", *drawn)
        is_first = False
    if left_out:
        yield from ("", f"Left out here, where there is no room for it: {plural(left_out, 'folded part')}.")


def _drawn(block: Block) -> Iterator[str]:
    match block:
        case Verdict(sign=sign, minor=minor):
            yield f"{'####' if minor else '###'} {_signed(sign, _words(block.line, _MAX_SENTENCE))}"
        case Heading(said):
            yield f"#### {prose(said)}"
        case Sentence(said, tone):
            shown = _words(said, _MAX_SENTENCE)
            yield f"**{shown}**" if tone == "strong" and shown else _at_start(shown)
        case Listing():
            yield from _listing(block)
        case Table():
            yield from _table(block)
        case Folded(title, blocks):
            yield from (f"<details><summary>{_summary(title)}</summary>", "", *draw(blocks), "", "</details>")


def _listing(block: Listing) -> Iterator[str]:
    marks = (f"{place}." if block.marks == "numbers" else "-" for place in range(1, len(block.items) + 1))
    least = min(item.depth for item in block.items)
    for mark, item in islice(zip(marks, block.items, strict=True), _MAX_ROWS):
        yield from _item(mark, item, item.depth - least)
    if len(block.items) > _MAX_ROWS:
        yield f"- … and {len(block.items) - _MAX_ROWS:,} more"


def _item(mark: str, item: Item, depth: int) -> Iterator[str]:
    said = _signed(item.sign, _at_start(_words(item.text)))
    before = "  " * depth
    yield f"{before}{mark} {f'**{said}**' if item.tone == 'strong' and said else said}"
    yield from (f"{before}{' ' * len(mark)} - {code(command)}" for command in item.commands)


def _summary(title: str) -> str:
    """Text for HTML, in which a mention would still work."""
    return html.escape(safe(shortened(title))).replace("@", f"@{_ZERO_WIDTH_SPACE}")


# --- tables ----------------------------------------------------------------------------------------------------------


def _table(block: Table) -> Iterator[str]:
    yield f"| {' | '.join(prose(column.title) for column in block.columns)} |"
    yield f"|{'---|' * len(block.columns)}"
    yield from (_row(row, block.columns) for row in block.rows[:_MAX_ROWS])
    if block.rest is not None:
        yield f"| {' | '.join(_value('' if each is None else each, Column('')) for each in block.rest)} |"
    if len(block.rows) > _MAX_ROWS:
        yield from ("", f"… and {len(block.rows) - _MAX_ROWS:,} more")


def _row(row: Row, columns: Sequence[Column]) -> str:
    return f"| {' | '.join(map(_value, row, columns))} |"


def _value(value: Value | Cell, column: Column) -> str:
    if isinstance(value, Cell):
        return _signed(value.sign, _said(value.value, column))
    return _said(value, column)


def _said(value: Value, column: Column) -> str:
    match value:
        case None:
            return "-"
        case int():
            return f"{value:,}"
        case Change(before, after):
            return f"{before:.0f} → {after:.0f}"
        case Span(exact=True):
            return code(value.text).replace("|", "\\|")
        case Span():
            return prose(value.text)
        case str():
            # A bar always ends the cell.
            is_name = value and column.kind in ("name", "node")
            return code(value).replace("|", "\\|") if is_name else prose(value)
    return "; ".join(map(prose, value))
