"""The Typer application, and the one place where exceptions become exit codes."""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from typer.main import get_command

from kwhatif.cli.advise import advise
from kwhatif.cli.audit import audit
from kwhatif.cli.autoscale import autoscale, consolidate
from kwhatif.cli.capacity import capacity
from kwhatif.cli.characters import adapt_streams
from kwhatif.cli.compare import compare
from kwhatif.cli.completion import completion
from kwhatif.cli.deschedule import deschedule
from kwhatif.cli.drain import drain
from kwhatif.cli.explain import explain
from kwhatif.cli.gate import gate
from kwhatif.cli.mcp.command import mcp
from kwhatif.cli.outage import outage
from kwhatif.cli.preempt import preempt
from kwhatif.cli.queue import queue
from kwhatif.cli.rbac import rbac
from kwhatif.cli.resize import resize
from kwhatif.cli.schedule import schedule
from kwhatif.cli.serve import serve
from kwhatif.cli.simulate import simulate
from kwhatif.cli.snapshot import app as snapshot
from kwhatif.cli.threats import threats, who_fits
from kwhatif.cli.upgrade import upgrade
from kwhatif.cli.usage import ClosedPipeError, Command, Root, UsageError
from kwhatif.cli.version import version, version_line
from kwhatif.cli.watch import app as watch
from kwhatif.errors import ExitCode, PluginFailed
from kwhatif.garbage import end_with_the_answer

#: The original, before custom plugins replace it.
_end = os._exit

app = typer.Typer(
    name="kwhatif",
    cls=Root,
    help="What would kube-scheduler do if I applied this?",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help like kubectl's, in half the time
)
for command in (
    schedule,
    preempt,
    gate,
    audit,
    advise,
    simulate,
    drain,
    outage,
    threats,
    who_fits,
    resize,
    queue,
    capacity,
    deschedule,
    autoscale,
    consolidate,
    upgrade,
    compare,
    serve,
    mcp,
    explain,
    rbac,
    completion,
    version,
):
    app.command(cls=Command)(command)
app.add_typer(snapshot, name="snapshot", help="A cluster in one file: save it, describe it.")
app.add_typer(watch, name="watch")


def _show_version(value: bool) -> None:  # noqa: FBT001 - Typer calls it
    if value:
        typer.echo(version_line())
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """What would kube-scheduler do if I applied this?"""


def main() -> None:
    """Run the command line and exit with the code that the outcome deserves."""
    adapt_streams()
    sys.exit(_run())


def console() -> NoReturn:
    """`main` as a process of its own: it exits at once, without freeing a gigabyte object by object."""
    adapt_streams()
    end_with_the_answer()
    code = _run()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # closed, or its reader has ended
            stream.flush()
    _end(code)


@cache
def commands() -> Callable[..., int | None]:
    """All commands. Building them takes Typer longer than most answers: a process does it once."""
    return get_command(app)


def _run() -> int:
    program = Path(sys.argv[0]).name
    try:
        name = "kubectl whatif" if program == "kubectl-whatif" else "kwhatif"
        code = int(commands()(prog_name=name, standalone_mode=False) or ExitCode.OK)
        sys.stdout.flush()
    except UsageError as wrong:
        wrong.show()
        return ExitCode.USAGE
    except (BrokenPipeError, ClosedPipeError):
        return _stop_printing()
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except Exception as failure:  # noqa: BLE001 - no traceback ever reaches a user
        if isinstance(failure, OSError) and failure.errno == errno.ENOSPC:
            _stop_printing()
        from kwhatif.cli.failures import explained

        said = explained(failure)
        with suppress(OSError):  # standard error is closed, and the exit code is all that is left
            print(*said.lines, sep="\n", file=sys.stderr)  # noqa: T201
            if os.environ.get("KWHATIF_DEBUG") and (said.code == ExitCode.BUG or isinstance(failure, PluginFailed)):
                traceback.print_exception(failure)
        return said.code
    return code


def _stop_printing() -> ExitCode:
    """Drop the rest of the output. The code is that of a program which the signal of a closed pipe ends.

    It is neither a "yes" nor a "no": in `kwhatif gate … | head -1` nothing says whether the answer has come through.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.PIPE_CLOSED
