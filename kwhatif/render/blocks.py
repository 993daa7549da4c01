"""What a report says, as blocks: made once for each command, and drawn by `terminal` and `markdown`.

Everything that a drawer needs is here. A block says what its content is, and not how it looks: a text is plain, and a
drawer escapes it and shortens the names of nodes; signs and tones are names, for which a drawer has glyphs and colours:
the glyphs of plain text are here (`GLYPHS`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from kwhatif.render.outcomes import Quality, doubted
from kwhatif.report.decision import Outcome
from kwhatif.words.amounts import but

Tone = Literal["", "good", "warn", "bad", "faint", "strong"]
Sign = Outcome | Quality
#: Signs as plain text has them, in a terminal or for a program.
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
#: How many rows of a table a terminal shows, unless all are asked for.
_MOST_ROWS = 20


# --- texts -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a sentence. `exact`: a name or a command, to be copied; a page shows it as code."""

    text: str
    tone: Tone = ""
    exact: bool = False


#: A sentence, or its parts. A part without a tone has that of the whole.
Words = str | Sequence[str | Span]


# --- blocks ----------------------------------------------------------------------------------------------------------


#: How sure a statement is. `several`: it is one of several outcomes.
Degree = Literal["assumed", "several", "proven"]
#: The weakest first.
DEGREES: Sequence[Degree] = ("assumed", "several", "proven")


class Sure(NamedTuple):
    """How sure a statement is, and what keeps it from being surer, in a few words."""

    degree: Degree
    why: str = ""


PROVEN = Sure("proven")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer in one line. `tone`: other than the sign's. `minor`: the answer about a part.

    `doubt`: what it depends on, to be said in the same line. `sure`: how sure it is, as `certainty` says; a drawer that
    shows it leaves out the doubt, which is in it.
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
    """The title of what follows."""

    text: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A paragraph; a strong one is part of the answer, a faint one can be left unread. `depth`: as that of an item."""

    text: Words
    tone: Tone = ""
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Item:
    """A sentence in a list, and commands to copy. `depth`: below how many others it stands."""

    text: Words
    commands: Sequence[str] = ()
    depth: int = 0
    tone: Tone = ""
    sign: Sign | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """Items below each other. Numbers: the first is the best; lines: each stands by itself, or below another."""

    items: Sequence[Item]
    marks: Literal["bullets", "numbers", "lines"] = "bullets"


@dataclass(frozen=True, slots=True)
class Change:
    """Shares before and after, in percent."""

    before: float
    after: float


#: None: there is none. Several texts stand below each other, or are separated by semicolons. A span is shown whole.
Value = str | Span | int | None | Change | Sequence[str]


@dataclass(frozen=True, slots=True)
class Cell:
    """A value that has a sign before it, or a tone."""

    value: Value
    tone: Tone = ""
    sign: Sign | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """What the values of a column are: words, names of objects, names of nodes, or numbers.

    `named`: the title is a name of its own, and stays as it is. `droppable`: it is left out where there is no room and
    its values are all the same.
    """

    title: str
    kind: Literal["words", "name", "node", "number"] = "words"
    named: bool = False
    droppable: bool = False


Row = Sequence[Value | Cell]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with a value for each column. `most`: how many of them say enough, unless all are asked for; None: all.

    `rest`: in place of rows that were not made. `named`: a table above may lead to each row, by its first value.
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    most: int | None = _MOST_ROWS
    rest: Row | None = None
    named: bool = False


@dataclass(frozen=True, slots=True)
class Folded:
    """Evidence for the answer, under a title: a page shows it when it is asked for.

    `bare`: where nothing is folded, there is no title.
    """

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


#: A column with signs alone.
SIGN = Column("")


def signed(sign: Sign) -> Cell:
    """A sign alone."""
    return Cell("", sign=sign)


def lines(texts: Sequence[str], tone: Tone = "") -> Iterator[Listing]:
    """The texts, each on a line by itself; nothing where there are none."""
    if texts:
        yield Listing([Item(each, tone=tone) for each in texts], "lines")


def shown(*tables: Table) -> Iterator[Table]:
    """The tables that have rows."""
    return (table for table in tables if table.rows)


def titled(title: str, table: Table | Listing) -> Iterator[Block]:
    """The table or list under a title; nothing where it is empty."""
    if not _is_empty(table):
        yield Heading(title)
        yield table


def _is_empty(block: Block) -> bool:
    return (isinstance(block, Table) and not block.rows) or (isinstance(block, Listing) and not block.items)


def folded(title: str, *blocks: Block, bare: bool = False) -> Iterator[Folded]:
    """The blocks under a title, without empty tables and lists; nothing where all are empty."""
    if kept := [block for block in blocks if not _is_empty(block)]:
        yield Folded(title, kept, bare)
