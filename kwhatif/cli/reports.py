"""`--report FORMAT=FILE`: the report in other formats, beside the answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kwhatif.errors import InputError, Problem

if TYPE_CHECKING:
    from kwhatif.questions.session.session import Session
    from kwhatif.report import Report


def _complete_report(incomplete: str) -> list[str]:
    names = {
        "json": "gate.json",
        "yaml": "gate.yaml",
        "junit": "junit.xml",
        "sarif": "kwhatif.sarif",
        "github": "annotations.txt",
        "gitlab": "codequality.json",
        "markdown": "gate.md",
        "html": "report.html",
    }
    return [option for option in (f"{name}={file}" for name, file in names.items()) if option.startswith(incomplete)]


ReportFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--report",
        metavar="FORMAT=FILE",
        help="Write the report to a file as well: html, markdown, json, yaml, junit, sarif, github, gitlab.",
        autocompletion=_complete_report,
    ),
]


class Answers(NamedTuple):
    """The answer of a command; `before` is the answer without the edits, if that is wanted too.

    `session`: the cluster, for pictures of it.
    """

    report: Report
    before: Report | None = None
    session: Session | None = None


def parse_reports(texts: Sequence[str]) -> list[tuple[str, Path]]:
    """Formats and files, or a usage error."""
    from kwhatif.render.formats import FORMATS

    made: list[tuple[str, Path]] = []
    for text in texts:
        name, _, file = text.partition("=")
        if name not in FORMATS or not file:
            raise typer.BadParameter(
                f"{text!r} is not FORMAT=FILE with a format of {', '.join(FORMATS)}", param_hint="--report"
            )
        made.append((name, Path(file)))
    return made


def formatted(answers: Answers, name: str) -> str:
    """The report in that format; a page has the map of the cluster, too."""
    if name == "html":
        import kwhatif

        return kwhatif.html(answers.report, answers.session)
    from kwhatif.render.formats import FORMATS

    return FORMATS[name](answers.report)


def write_reports(answers: Answers, files: Sequence[tuple[str, Path]]) -> None:
    """Write every file, whole or not at all.

    Raises:
        InputError: with all files that cannot be written.
    """
    failures: list[Problem] = []
    for name, path in files:
        try:
            _write(path, formatted(answers, name).encode())
        except OSError as failure:
            failures.append(Problem(str(path), f"cannot be written: {failure.strerror or failure}"))
    if failures:
        raise InputError(failures)


def _write(path: Path, content: bytes) -> None:
    from kwhatif.sources.saving.formats import replacing

    is_stream = path.parts[:2] == ("/", "dev")  # /dev/stderr may be a file to which others also write
    if is_stream or (path.exists() and not path.is_file()):
        with path.open("ab", buffering=0) as stream:
            stream.write(content)
        return
    with replacing(path) as file:
        file.write(content)
