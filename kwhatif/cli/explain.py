"""`kwhatif explain TERM`: what a word of a report means."""

from __future__ import annotations

import shutil
from textwrap import wrap
from typing import Annotated

import typer

from kwhatif.cli.usage import UsageError

#: The width that is easiest to read; in a narrower terminal, lines are shorter.
_MOST_COLUMNS = 100


def _complete(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Terms as one word of a shell, with hyphens for spaces."""
    from kwhatif.words.terms import TERMS, summary

    if ctx.params.get("words"):
        return []
    names = {name.replace(" ", "-"): term for name, term in TERMS.items()}
    start = incomplete.lower()
    found = {name: summary(term) for name, term in names.items() if name.lower().startswith(start)}
    return [
        (incomplete + name[len(start) :], text) for name, text in found.items()
    ]  # a shell distinguishes upper and lower case


def explain(
    *,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TERM]",
            help="The word, such as nominated; none: list all.",
            autocompletion=_complete,
            show_default=False,
        ),
    ] = None,
) -> None:
    """What does this word of a report mean, and what can be done about it?

    \b
    Examples:
      kwhatif explain nominated
      kwhatif explain notready taint
      kwhatif explain
    """
    from kwhatif.words.terms import TERMS, find_term

    columns = min(shutil.get_terminal_size((_MOST_COLUMNS, 0)).columns, _MOST_COLUMNS)
    if not words:
        typer.echo("\n".join(_listed(columns)))
        return
    given = " ".join(words)
    name = find_term(given)
    if name is None:
        raise UsageError(_unknown(given))
    term = TERMS[name]
    said = (term.means, f"Where: {term.seen}", f"What to do: {term.then}")
    lines = [line for text in said for line in wrap(text, columns - 2, subsequent_indent="  ", break_on_hyphens=False)]
    typer.echo("\n".join([name, *(f"  {line}" for line in lines)]))


def _listed(columns: int) -> list[str]:
    """All terms, each with its first sentence."""
    from kwhatif.words.terms import TERMS, summary

    width = max(map(len, TERMS)) + 2
    return [
        line
        for name in sorted(TERMS, key=str.lower)
        for line in wrap(f"{name:{width}}{summary(TERMS[name])}", columns, subsequent_indent=" " * width)
    ]


def _unknown(given: str) -> str:
    from kwhatif.kube.matching.field_errors import did_you_mean
    from kwhatif.render.safe import safe
    from kwhatif.words.terms import like_term

    hint = did_you_mean(like_term(given), "kwhatif explain lists all terms")
    return f"there is no term {safe(given)!r} ({hint})"
