"""Blocks: the content of a report. Each command makes them once; `terminal` and `markdown` draw them.

A block describes its content, not its appearance: texts are plain, and a drawer escapes them and shortens the names of
nodes; signs and tones are names, for which a drawer has glyphs and colours. The glyphs of plain text are here
(`GLYPHS`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from kwhatif.render.amounts import but
from kwhatif.render.outcomes import Quality, doubted
from kwhatif.report.decision import Outcome

Tone = Literal["", "good", "warn", "bad", "faint", "strong"]
Sign = Outcome | Quality
#: The signs of plain text, in a terminal or for a program.
GLYPHS: Mapping[Sign, str] = {
    "Placed": "✔",
    "Preempts": "!",
    "Unschedulable": "✘",
    "Gated": "⏸",
    "Denied": "✘",
    "Ignored": "-",
    "Waits": "-",
    "good": "✔",
    "doubtful": "!",
    "bad": "✘",
}
#: The maximum number of rows of a table in a terminal, unless all are wanted.
_MOST_ROWS = 20


# --- texts -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a sentence. `exact`: a name or a command, to be copied; a page shows it as code."""

    text: str
    tone: Tone = ""
    exact: bool = False


#: A sentence, or its parts. A part without a tone has the tone of the whole sentence.
Words = str | Sequence[str | Span]


# --- blocks ----------------------------------------------------------------------------------------------------------


#: How certain a statement is. `several`: other outcomes are possible, too.
Degree = Literal["assumed", "several", "proven"]
#: The weakest first.
DEGREES: Sequence[Degree] = ("assumed", "several", "proven")


class Sure(NamedTuple):
    """How certain a statement is, and what makes it uncertain, in a few words."""

    degree: Degree
    why: str = ""


PROVEN = Sure("proven")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer in one line. `tone`: if it differs from the sign's tone. `minor`: the answer about a part.

    `doubt`: what it depends on, for the same line. `sure`: how certain it is (see `certainty`); a drawer that shows it
    leaves out the doubt, as it includes the doubt.
    """

    text: Words
    sign: Sign | None = None
    tone: Tone = ""
    minor: bool = False
    doubt: str = ""
    sure: Sequence[Sure] = ()

    @property
    def line(self) -> Words:
        """The text with the doubt."""
        if isinstance(self.text, str):
            return but(self.text, self.doubt)
        return (*self.text, but("", self.doubt)) if self.doubt else self.text


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of the blocks that follow."""

    text: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A paragraph; a strong one is part of the answer, a faint one may be skipped. `depth`: as for an item."""

    text: Words
    tone: Tone = ""
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Item:
    """A sentence in a list, and commands to copy. `depth`: its level in nested lists."""

    text: Words
    commands: Sequence[str] = ()
    depth: int = 0
    tone: Tone = ""
    sign: Sign | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """Items below each other. Numbers: the first is the best; lines: each is independent."""

    items: Sequence[Item]
    marks: Literal["bullets", "numbers", "lines"] = "bullets"


@dataclass(frozen=True, slots=True)
class Change:
    """Shares before and after, in percent."""

    before: float
    after: float


#: A value of a table; None: empty. Several texts are on separate lines, or separated by semicolons. A span is never
#: cut.
Value = str | Span | int | None | Change | Sequence[str]


@dataclass(frozen=True, slots=True)
class Cell:
    """A value with a sign, or a tone."""

    value: Value
    tone: Tone = ""
    sign: Sign | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of words, names of objects, names of nodes, or numbers.

    `named`: the title is a name, and is not changed. `droppable`: it may be left out if there is no room and all its
    values are equal.
    """

    title: str
    kind: Literal["words", "name", "node", "number"] = "words"
    named: bool = False
    droppable: bool = False


Row = Sequence[Value | Cell]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with a value for each column. `most`: the maximum of rows, unless all are wanted; None: all.

    `rest`: a row instead of the rows that were not made. `named`: an earlier table may link to each row, by its first
    value.
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    most: int | None = _MOST_ROWS
    rest: Row | None = None
    named: bool = False


@dataclass(frozen=True, slots=True)
class Folded:
    """Evidence for the answer, under a title: a page folds it. `bare`: without folding, there is no title."""

    title: str
    blocks: Sequence[Block]
    bare: bool = False


Block = Verdict | Heading | Sentence | Listing | Table | Folded


# --- to build them ---------------------------------------------------------------------------------------------------


def verdict(answer: tuple[Quality, str], doubt: str) -> Verdict:
    """The answer, and what it depends on."""
    quality, said = answer
    return Verdict(said, doubted(quality, doubt), doubt=doubt)


def exact(text: str, tone: Tone = "") -> Span:
    """A name or a command within a sentence."""
    return Span(text, tone, exact=True)


def name(title: str) -> Column:
    """A column with names of objects."""
    return Column(title, "name")


def node(title: str = "Node") -> Column:
    """A column with names of nodes."""
    return Column(title, "node")


def number(title: str, *, named: bool = False) -> Column:
    """A column with numbers."""
    return Column(title, "number", named)


def words(title: str, *, named: bool = False) -> Column:
    """A column with anything else."""
    return Column(title, "words", named)


#: A column with only signs.
SIGN = Column("")


def signed(sign: Sign) -> Cell:
    """Only a sign."""
    return Cell("", sign=sign)


def lines(texts: Sequence[str], tone: Tone = "") -> Iterator[Listing]:
    """The texts, each on its own line; nothing without texts."""
    if texts:
        yield Listing([Item(each, tone=tone) for each in texts], "lines")


def shown(*tables: Table) -> Iterator[Table]:
    """The tables with rows."""
    return (table for table in tables if table.rows)


def titled(title: str, table: Table | Listing) -> Iterator[Block]:
    """The table or list under a title; nothing if it is empty."""
    if not _is_empty(table):
        yield Heading(title)
        yield table


def _is_empty(block: Block) -> bool:
    return (isinstance(block, Table) and not block.rows) or (isinstance(block, Listing) and not block.items)


def folded(title: str, *blocks: Block, bare: bool = False) -> Iterator[Folded]:
    """The blocks under a title, without empty tables and lists; nothing if all are empty."""
    if kept := [block for block in blocks if not _is_empty(block)]:
        yield Folded(title, kept, bare)
