"""What a report says, as blocks: made once for each command, and drawn for a terminal or as Markdown.

A block says what its content is, not how it looks. Its texts are plain: a drawer escapes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from kwhatif.render.outcomes import Quality, doubted
from kwhatif.report.decision import Outcome
from kwhatif.words.amounts import but

Tone = Literal["", "good", "warn", "bad", "faint", "strong"]
Sign = Outcome | Quality
#: How many rows of a table a terminal shows, unless all are asked for.
_MOST_ROWS = 20


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer in one line. `tone`: where it has no sign."""

    text: str
    sign: Sign | None = None
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of what follows."""

    text: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A paragraph; a strong one is part of the answer, a faint one can be left unread."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """Items of which each is a sentence, with its commands to copy. `ordered`: the first is the best."""

    items: Sequence[Item]
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """A sentence, and commands to copy."""

    text: str
    commands: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """Shares before and after, in percent."""

    before: float
    after: float


#: None: there is none. Several texts stand below each other, or are one after the other.
Value = str | int | None | Change | Sequence[str]


@dataclass(frozen=True, slots=True)
class Cell:
    """A value that has a sign before it, or a tone."""

    value: Value
    tone: Tone = ""
    sign: Sign | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """What the values of a column are: words, names of objects, names of nodes, or numbers.

    `named`: the title is a name of its own, and stays as it is.
    """

    title: str
    kind: Literal["words", "name", "node", "number"] = "words"
    named: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with a value for each column. `most`: so many of them say enough, unless all are asked for."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Value | Cell]]
    most: int = _MOST_ROWS


@dataclass(frozen=True, slots=True)
class Folded:
    """What stands behind the answer, under a title: a page shows it when it is asked for."""

    title: str
    blocks: Sequence[Block]


Block = Verdict | Heading | Sentence | Listing | Table | Folded


# --- to build them -------------------------------------------------------------------------------------------------


def verdict(answer: tuple[Quality, str], doubt: str) -> Verdict:
    """The answer, and what it depends on."""
    quality, said = answer
    return Verdict(but(said, doubt), doubted(quality, doubt))


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


def titled(title: str, table: Table | Listing) -> Iterator[Block]:
    """The table or list under a title; nothing where it is empty."""
    if table.rows if isinstance(table, Table) else table.items:
        yield Heading(title)
        yield table


def folded(title: str, *blocks: Block) -> Iterator[Folded]:
    """The blocks under a title, without empty tables; nothing where all are empty."""
    shown = [block for block in blocks if not (isinstance(block, Table) and not block.rows)]
    if shown:
        yield Folded(title, shown)
