"""Blocks as an HTML page: the same content as in a terminal and in Markdown, complete without the script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kwhatif._version import __version__
from kwhatif.render.answer import answer, difference, suited
from kwhatif.render.blocks import Block, Cell, Degree, Folded, Heading, Sentence, Sign, Table, Value, Verdict, Words
from kwhatif.render.detail import Detail, clock
from kwhatif.render.html.data import told_of
from kwhatif.render.html.map import map_of
from kwhatif.render.safe import safe, shortened
from kwhatif.report import Report
from kwhatif.report.comparison import Comparison
from kwhatif.report.inputs import Picture

_HERE = Path(__file__).parent
#: The number of rows that a page has of longer tables.
_MOST_ROWS = 1_000
#: Up to this number, folded parts are open from the start.
_FEW_FOLDED = 2
#: Characters of a browser tab's title.
_MOST_TITLE = 120
#: Sign -> its glyph, its text for screen readers, and its tone.
SIGNS: Mapping[Sign, tuple[str, str, str]] = {
    "Placed": ("✔", "fits", "good"),
    "Preempts": ("!", "fits by eviction", "warn"),
    "Unschedulable": ("✘", "does not fit", "bad"),
    "Gated": ("‖", "is not queued", "warn"),
    "Denied": ("✘", "is refused", "bad"),
    "Ignored": ("-", "is ignored", "faint"),
    "Waits": ("-", "waits", "faint"),
    "good": ("✔", "yes", "good"),
    "doubtful": ("!", "with a doubt", "warn"),
    "bad": ("✘", "no", "bad"),
}


class Degreed(NamedTuple):
    """How a page marks a degree of certainty."""

    glyph: str
    words: str
    meaning: str


DEGREE_LOOKS: Mapping[Degree, Degreed] = {
    "proven": Degreed("■", "proven", "it follows from the input by Kubernetes' rules"),
    "several": Degreed("◧", "one of several outcomes", "the cluster may choose otherwise between equals"),
    "assumed": Degreed("□", "assumed", "it rests on what is not known, or not modelled"),
}


def to_html(report: Report, picture: Picture | None = None) -> str:
    """The report as a file to open, to attach, to print; with a picture of the cluster, it has a map."""
    detail = suited(_page(), report)
    return _document(report, answer(report, detail), picture)


def comparison_to_html(comparison: Comparison) -> str:
    """Two answers side by side."""
    return _document(comparison.after, difference(comparison, suited(_page(), comparison.after)))


def _page() -> Detail:
    return Detail(now=clock(), page=True, has_room=True)


def _document(report: Report, blocks: Iterable[Block], picture: Picture | None = None) -> str:
    before, verdict, others = _parted(list(blocks))
    notes = list(takewhile(_is_note, others))
    told = told_of(report, _anchors(others))
    style, script = _asset("style.css"), _asset("page.mjs")
    return (
        _environment()
        .get_template("page.html")
        .render(
            report=report,
            before=list(_placed(before)),
            verdict=verdict,
            notes=list(_placed(notes)),
            blocks=list(_placed(others[len(notes) :])),
            title=_plain(verdict.text)[:_MOST_TITLE],
            version=__version__,
            map=map_of(report, picture, told) if picture is not None and picture.nodes else None,
            told={each.part: each for each in told},
            style=style,
            script=script,
        )
    )


def _parted(blocks: list[Block]) -> tuple[list[Block], Verdict, list[Block]]:
    """The blocks before the answer, the answer, and the rest."""
    place = next((at for at, block in enumerate(blocks) if isinstance(block, Verdict)), None)
    if place is None:
        return [], Verdict("The answer"), blocks
    verdict = blocks[place]
    assert isinstance(verdict, Verdict)
    return blocks[:place], verdict, blocks[place + 1 :]


def _is_note(block: Block) -> bool:
    """Whether the block is a note right below the answer: a part of it, the release, the policy."""
    return isinstance(block, Sentence)


class Placed(NamedTuple):
    """A block, and its position in the page.

    `caption`: the caption of a table, from the title above it; for a heading, its own text. `anchor`: the target of
    links to it; `anchors`: title -> the anchor of that part, for tables that name parts.
    """

    block: Block
    caption: str
    anchor: str = ""
    anchors: Mapping[str, str] = {}
    is_open: bool = False
    #: If it is the first block of a part, the part's anchor: the part's story is below it.
    first_of: str = ""
    #: For a verdict, the level of its HTML heading: below the title of its part, if there is one.
    level: int = 2


def _placed(blocks: Sequence[Block], title: str = "Answer", outer: Mapping[str, str] | None = None) -> Iterator[Placed]:
    folded = sum(isinstance(block, Folded) for block in blocks)
    anchors, level, part = _anchors(blocks) if outer is None else outer, 2, ""
    for block in blocks:
        match block:
            case Heading(text):
                title, level = text.removesuffix(":"), 3
                part = anchors[title]
                yield Placed(block, title, part)
                continue
            case Verdict(text) | Sentence(text, "strong"):
                title = _plain(text).removesuffix(":")
        first = block.columns[0].title if isinstance(block, Table) else ""
        yield Placed(block, f"{title}: {first}" if first else title, "", anchors, folded <= _FEW_FOLDED, part, level)
        part = ""


def _anchors(blocks: Sequence[Block]) -> Mapping[str, str]:
    """Title -> the anchor of its part, or of the row with this name."""
    headings = (block.text.removesuffix(":") for block in blocks if isinstance(block, Heading))
    inner = (each for block in blocks if isinstance(block, Folded) for each in block.blocks)
    rows = (_plain_value(row[0]) for each in inner if isinstance(each, Table) and each.named for row in each.rows)
    named = {text: f"row{number}" for number, text in enumerate(rows, 1)}
    return named | {text: f"part{number}" for number, text in enumerate(headings, 1)}


def _plain_value(value: Value | Cell) -> str:
    value = _cell(value).value
    return value if isinstance(value, str) else ""


# --- text ------------------------------------------------------------------------------------------------------------


def _inert(text: str) -> str:
    """Text without active characters, cut to a readable length; the template escapes it."""
    return safe(shortened(text))


def _plain(said: Words) -> str:
    """The words without their marks."""
    if isinstance(said, str):
        return _inert(said)
    return "".join(_inert(part if isinstance(part, str) else part.text) for part in said)


def _cell(value: Value | Cell) -> Cell:
    return value if isinstance(value, Cell) else Cell(value)


def _kind(block: object) -> str:
    return type(block).__name__


# --- the template ----------------------------------------------------------------------------------------------------


class Asset(NamedTuple):
    """A script or a style sheet: it is not escaped, and a browser runs no other one on the page."""

    text: Markup
    digest: str


@cache
def _asset(name: str) -> Asset:
    text = (_HERE / name).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Asset(Markup(text), f"sha256-{digest}")  # noqa: S704 - a file of this package


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {
        "inert": _inert,
        "plain": _plain,
        "kind": _kind,
        "cell": _cell,
        "placed": _placed,
    }
    made.filters.update(filters)
    made.globals.update(signs=SIGNS, degrees=DEGREE_LOOKS, most_rows=_MOST_ROWS)
    return made
