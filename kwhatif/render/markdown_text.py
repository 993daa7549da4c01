"""Markdown, as GitHub and GitLab render it: text that is nothing but text, and tables of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

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
