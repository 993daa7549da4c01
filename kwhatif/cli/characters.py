"""Output in the encoding of the terminal or pipe: characters that the encoding lacks are replaced by plain ones."""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from kwhatif.render.safe import json_escape

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

#: The name under which Python knows `_replace`.
HANDLER = "kwhatif"
#: Characters that kwhatif prints -> their replacements. Lines keep their width, so that tables stay straight.
_PLAIN = {
    "✔": "ok",
    "✘": "x",
    "⏸": "=",
    "→": "->",
    "◂": "<",
    "…": "...",
    "•": "*",
    "\u00d7": "x",
    "\u2013": "-",
    "—": "-",
    "\u2212": "-",
    "≤": "<=",
    "≥": ">=",
    "±": "+-",
    "µ": "u",
    "μ": "u",
    "█": "#",
    "░": ".",
    "✅": "[ok]",
    "❌": "[x]",
    "⚠": "[!]",
    "\ufe0f": "",
    "─": "-",
    "━": "-",
    "│": "|",
    "├": "|",
    "└": "`",
    "\u2019": "'",
    "“": '"',
    "”": '"',
}


def adapt_streams() -> None:
    """Set up the output, so that printing never fails because of a character."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the stream was closed (`>&-`): only the exit code is wanted
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - as long as the process lives
    for stream in (sys.stdout, sys.stderr):
        # The user's choice of "ignore" or "replace" is kept.
        if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape", "backslashreplace"):
            stream.reconfigure(errors=HANDLER)


def encoding_of_output() -> str:
    """The encoding of standard output; "utf-8" if there is no output."""
    return getattr(sys.stdout, "encoding", None) or "utf-8"


def is_unicode(encoding: str) -> bool:
    """Whether every character can be written."""
    return encoding.lower().replace("-", "").startswith(("utf8", "utf16", "utf32"))


def plain(text: str, encoding: str) -> str:
    """The text with characters replaced that cannot be encoded."""
    return text.encode(encoding, HANDLER).decode(encoding)


def escaped(text: str) -> str:
    r"""JSON with `\uXXXX` for everything that is not ASCII: the same data in every encoding."""
    return "".join(character if character.isascii() else json_escape(character) for character in text)


def referenced(text: str) -> str:
    """XML with references for everything that is not ASCII: the same data in every encoding."""
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")


def quoted(text: str) -> str:
    r"""YAML in which everything that is not ASCII is in quotes, as `\uXXXX`: the same data in every encoding."""
    if text.isascii():
        return text
    import yaml

    return yaml.safe_dump(yaml.safe_load(text), sort_keys=False, width=120)


#: Formats with their own notation for any character.
NOTATIONS: dict[str, Callable[[str], str]] = {
    "json": escaped,
    "yaml": quoted,
    "sarif": escaped,
    "gitlab": escaped,
    "junit": referenced,
}


def spelled(part: RenderableType, encoding: str) -> RenderableType:
    """The text in characters of the encoding. Must be called before the layout, as replacements may be wider."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    if isinstance(part, str):
        return plain(part, encoding)
    if isinstance(part, Text):
        return _spelled_text(part, encoding)
    if isinstance(part, Padding):
        part.renderable = spelled(part.renderable, encoding)
    elif isinstance(part, Table):
        for column in part.columns:
            column.header = spelled(column.header, encoding)
            column._cells = [spelled(cell, encoding) for cell in column._cells]
    return part


def _spelled_text(text: Text, encoding: str) -> Text:
    pieces = [plain(character, encoding) for character in text.plain]
    made = text.blank_copy("".join(pieces))
    starts = [0]
    for piece in pieces:
        starts.append(starts[-1] + len(piece))
    for span in text.spans:
        made.stylize(span.style, starts[min(span.start, len(pieces))], starts[min(span.end, len(pieces))])
    return made


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_PLAIN.get(one, json_escape(one)) for one in error.object[error.start : error.end]), error.end


codecs.register_error(HANDLER, _replace)
