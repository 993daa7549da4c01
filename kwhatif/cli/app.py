"""The Typer application, and the one place where exceptions become exit codes."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from kwhatif._version import __version__
from kwhatif.cli.gate import gate
from kwhatif.cli.preempt import preempt
from kwhatif.cli.rbac import rbac
from kwhatif.cli.schedule import schedule
from kwhatif.cli.snapshot import app as snapshot
from kwhatif.errors import ExitCode, InputError, KwhatifError, PluginFailed
from kwhatif.render.safe import safe

#: How many problems are listed before the rest is only counted.
MAX_PROBLEMS = 20

app = typer.Typer(
    name="kwhatif",
    help="What would kube-scheduler do if I applied this?",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help as kubectl's, and in half the time
)
app.command()(schedule)
app.command()(preempt)
app.command()(gate)
app.command()(rbac)
app.add_typer(snapshot, name="snapshot", help="A cluster in one file: save it, describe it.")


def _show_version(value: bool) -> None:  # noqa: FBT001 - Typer calls it
    if value:
        typer.echo(f"kwhatif {__version__} (rules of kube-scheduler 1.36)")
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
    program = Path(sys.argv[0]).name
    try:
        app(prog_name="kubectl whatif" if program == "kubectl-whatif" else "kwhatif")
    except InputError as failure:
        _tell(failure.problems[:MAX_PROBLEMS])
        if len(failure.problems) > MAX_PROBLEMS:
            print(f"... and {len(failure.problems) - MAX_PROBLEMS} more problems", file=sys.stderr)  # noqa: T201
        sys.exit(failure.exit_code)
    except KwhatifError as failure:
        _tell([failure])
        if isinstance(failure, PluginFailed) and os.environ.get("KWHATIF_DEBUG"):
            traceback.print_exc()
        sys.exit(failure.exit_code)
    except BrokenPipeError:  # the reader has seen enough, as in `kwhatif … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.OK)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    except Exception as bug:  # noqa: BLE001 - no traceback ever reaches a user
        _tell([f"kwhatif has a bug: {type(bug).__name__}: {bug}"])
        if os.environ.get("KWHATIF_DEBUG"):
            traceback.print_exc()
        else:
            print("Set KWHATIF_DEBUG=1 to see where, and please report it.", file=sys.stderr)  # noqa: T201
        sys.exit(ExitCode.BUG)


def _tell(failures: Iterable[object]) -> None:
    """Failures on standard error; whatever they quote from the input is made inert."""
    for failure in failures:
        print(f"error: {safe(str(failure))}", file=sys.stderr)  # noqa: T201
