"""Common code of commands: print an answer, choose the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import typer

from kwhatif.api.options import OptionError
from kwhatif.cli.answers import WATCHER, Answers, formatted, write_reports
from kwhatif.cli.characters import NOTATIONS, encoding_of_output, is_unicode, spelled
from kwhatif.cli.options import OF_AFTERMATH, Color, Printing
from kwhatif.errors import ExitCode

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from kwhatif.render.blocks import Block
    from kwhatif.render.detail import Detail
    from kwhatif.report import Report

#: The width of tables in a file or a pipe: nothing is wrapped there.
PIPE_WIDTH = 65_536


def print_parts(parts: Iterable[RenderableType], color: Color) -> None:
    """Print tables and texts on standard output, in characters of its encoding."""
    from rich.text import Text

    console = console_of(color)
    encoding = encoding_of_output()
    with console.capture() as capture:
        for part in parts:
            # A line to copy is never wrapped; everything else is laid out for the width.
            is_whole = isinstance(part, Text) and part.no_wrap
            part = part if is_unicode(encoding) else spelled(part, encoding)  # noqa: PLW2901
            console.print(part, crop=not is_whole, no_wrap=is_whole, overflow="ignore" if is_whole else None)
    # Rich fills every cell with blanks; in files and diffs they are removed at the end of a line.
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def print_blocks(blocks: Iterable[Block], color: Color) -> None:
    """Print blocks that are not a report on standard output."""
    from kwhatif.render.detail import Detail
    from kwhatif.render.terminal import draw

    print_parts(draw(blocks, Detail()), color)


def console_of(color: Color) -> Console:
    """Standard output with the width of tables."""
    from rich.console import Console

    class Unicode(Console):
        """Lays everything out for UTF-8: characters that the output lacks are replaced before or after."""

        @property
        def encoding(self) -> str:
            return "utf-8"

    # Created for each call: a module-level one would freeze colour and width at import.
    on_terminal = sys.stdout.isatty()
    return Unicode(
        width=None if on_terminal or os.environ.get("COLUMNS") else PIPE_WIDTH,
        force_terminal=True if color == "always" else None,
        no_color=True if color == "never" else None,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )


def parse_conditions(fail_on: str, *, strict: bool = False, aftermath: bool = True) -> tuple[str, ...]:
    """The conditions of `--fail-on`; `strict` adds missing information.

    Raises:
        OptionError: a condition is about what follows, which is not simulated.
    """
    from kwhatif.policy.fail_on import parse_fail_on

    found = parse_fail_on(fail_on)
    unmet = [] if aftermath else [name for name in found if name in OF_AFTERMATH]
    if unmet:
        raise OptionError("--fail-on", f"needs --aftermath for {', '.join(unmet)}")
    return (*found, *(("missing",) if strict else ()))


class Style(NamedTuple):
    """How an answer is printed; `output` is the name of a format."""

    output: str
    printing: Printing
    explain: bool = False

    @property
    def detail(self) -> Detail:
        """How much of the answer is printed."""
        from kwhatif.render.detail import Detail, clock

        return Detail(now=clock(), wide=self.output == "wide", explain=self.explain, quiet=self.printing.quiet)


def answer(answers: Answers, style: Style, conditions: tuple[str, ...], code: ExitCode | None = None) -> None:
    """Write and print the report, and exit with 1 if one of the conditions is true; or in any case with `code`."""
    from kwhatif.policy.fail_on import fails

    if code is None:
        code = ExitCode.ANSWERED_NO if fails(answers.report, conditions) else ExitCode.OK
    deliver(answers, style, code)


def deliver(answers: Answers, style: Style, code: ExitCode) -> None:
    """Write and print the report, and exit with this code; or hand the report to a caller that is not the shell."""
    write_reports(answers, style.printing.files)
    watcher = WATCHER.get()
    if watcher is not None:
        watcher.show(answers, *style, code)
        return
    print_answers(answers, style)
    if code:
        raise typer.Exit(code)


def print_answers(answers: Answers, style: Style) -> None:
    """The report, or the difference that the edits make, on standard output in the chosen format."""
    if answers.before is None:
        print_report(answers, style)
        return
    from kwhatif.api.compare import compare
    from kwhatif.render.formats import COMPARISONS

    comparison = compare(answers.before, answers.report)
    if style.output in ("table", "wide"):
        from kwhatif.render.answer import difference, suited
        from kwhatif.render.terminal import draw

        detail = suited(style.detail, answers.before, answers.report)
        print_parts(draw(difference(comparison, detail), detail), style.printing.color)
    elif style.output in COMPARISONS:
        print_data(COMPARISONS[style.output](comparison), style.output)
    else:
        raise OptionError("--compare", f"there is no {style.output} of two answers")


def print_report(answers: Answers, style: Style) -> None:
    """The report on standard output in the chosen format."""
    if style.output not in ("table", "wide"):
        print_data(formatted(answers, style.output), style.output)
        return
    print_parts(drawn(answers.report, style), style.printing.color)


def drawn(report: Report, style: Style) -> Iterator[RenderableType]:
    """The report as a terminal shows it."""
    from kwhatif.render.answer import answer, suited
    from kwhatif.render.terminal import draw

    detail = suited(style.detail, report)
    return draw(answer(report, detail), detail)


def print_data(text: str, output: str) -> None:
    """Text of a format on standard output: if that is not UTF-8, in the format's own notation if it has one."""
    notation = NOTATIONS.get(output)
    sys.stdout.write(text if notation is None or is_unicode(encoding_of_output()) else notation(text))


def now() -> datetime:
    """The moment in UTC, by the clock of reports."""
    from kwhatif.render.detail import clock

    return datetime.fromtimestamp(clock(), UTC)
