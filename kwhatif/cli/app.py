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
from typing import Annotated, Any, NoReturn, cast

import typer
from typer.main import get_command

from kwhatif.cli.characters import adapt_streams
from kwhatif.cli.usage import ClosedPipeError, LazyCommands, Root, UsageError
from kwhatif.errors import ExitCode, PluginFailed
from kwhatif.garbage import end_with_the_answer

#: As it is before plugins of one's own get something else in its place.
_end = os._exit

#: The modules of the commands, in the order of the help.
COMMANDS = {
    "schedule": "schedule",
    "preempt": "preempt",
    "gate": "gate",
    "audit": "audit",
    "advise": "advise",
    "simulate": "simulate",
    "drain": "drain",
    "outage": "outage",
    "threats": "threats",
    "who-fits": "threats",
    "resize": "resize",
    "queue": "queue",
    "capacity": "capacity",
    "deschedule": "deschedule",
    "autoscale": "autoscale",
    "consolidate": "autoscale",
    "upgrade": "upgrade",
    "compare": "compare",
    "serve": "serve",
    "mcp": "mcp.command",
    "explain": "explain",
    "rbac": "rbac",
    "completion": "completion",
    "version": "version",
    "snapshot": "snapshot",
    "watch": "watch",
}


class Kwhatif(Root):
    """The whole command line: a command is imported, and made by Typer, where it is asked for."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = cast("Any", LazyCommands(COMMANDS))


app = typer.Typer(
    name="kwhatif",
    cls=Kwhatif,
    help="What would kube-scheduler do if I applied this?",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help as kubectl's, and in half the time
)


def _show_version(value: bool) -> None:  # noqa: FBT001 - Typer calls it
    if value:
        from kwhatif.cli.version import version_line

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
    """`main` as a process of its own: it ends at once, without giving back a gigabyte object by object."""
    adapt_streams()
    end_with_the_answer()
    code = _run()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # closed, or the reader is gone
            stream.flush()
    _end(code)


@cache
def commands() -> Callable[..., int | None]:
    """All commands; each is made once in a process: that takes Typer longer than most answers."""
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
    """What is left is printed nowhere. The code is that of a program which the signal of a closed pipe ends.

    It is neither a "yes" nor a "no": in `kwhatif gate … | head -1` nothing says whether the answer has come through.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.PIPE_CLOSED
