"""Options that commands share; each an annotated type, so that a command's signature reads as its usage."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

Manifests = Annotated[
    list[str] | None,
    typer.Argument(metavar="[MANIFEST]...", help="Files, directories, globs, or - for standard input."),
]
Filenames = Annotated[
    list[str] | None,
    typer.Option("--filename", "-f", metavar="MANIFEST", help="The same, as kubectl writes it. Repeatable."),
]
Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        "-n",
        help="Namespace of manifests that name none; else the context's, or default.",
        metavar="NAME",
    ),
]


class Output(Enum):
    """Formats of an answer."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    MARKDOWN = "markdown"


class Color(Enum):
    """When to colour."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


ColorOption = Annotated[Color, typer.Option("--color", help="Colour the answer; NO_COLOR is honoured.")]
OutputOption = Annotated[Output, typer.Option("--output", "-o", help="How to print the answer.")]
FailOn = Annotated[
    str,
    typer.Option(
        "--fail-on",
        metavar="LIST",
        help="What makes the exit code 1: none, or any of unschedulable,preemption,budget-violation,caveats,CODE.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the verdicts only.")]


def named(manifests: list[str] | None, filenames: list[str] | None) -> list[str]:
    """All manifests that the command line names, at least one.

    Raises:
        typer.BadParameter: None is.
    """
    named = [*(manifests or ()), *(filenames or ())]
    if not named:
        raise typer.BadParameter("name a file, a directory, a glob, or - for standard input", param_hint="MANIFEST")
    return named
