"""The Typer application, and the one place where exceptions become messages and exit codes."""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NoReturn, cast

import typer
from typer.main import get_command

from kwhatif._version import __version__
from kwhatif.cli.characters import adapt_streams
from kwhatif.cli.usage import ClosedPipeError, Command, Root, UsageError, bounds_in_words
from kwhatif.errors import ExitCode, InputError, KwhatifError, PluginFailed
from kwhatif.garbage import end_with_the_answer
from kwhatif.render.safe import safe, shortened

#: The original, before custom plugins replace it.
_end = os._exit

#: The modules of the commands, in the order of the help.
COMMANDS = {
    "schedule": "pods",
    "preempt": "pods",
    "gate": "gate",
    "audit": "risks",
    "advise": "pods",
    "simulate": "maintenance",
    "drain": "maintenance",
    "outage": "maintenance",
    "threats": "risks",
    "who-fits": "risks",
    "resize": "deciders",
    "queue": "pods",
    "capacity": "pods",
    "deschedule": "deciders",
    "autoscale": "deciders",
    "consolidate": "deciders",
    "upgrade": "maintenance",
    "compare": "compare",
    "serve": "serve",
    "mcp": "mcp.command",
    "explain": "about",
    "rbac": "about",
    "completion": "about",
    "version": "about",
    "snapshot": "snapshot",
    "watch": "watch",
}


class _Commands(Mapping[str, Any]):
    """The commands by name. Each is only imported, and created by Typer, when it is needed."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            module = import_module(f"kwhatif.cli.{COMMANDS[name]}")
            made = getattr(module, "app", None)  # a group of commands
            if made is None:
                from kwhatif.cli.option_groups import expanded

                made = typer.Typer(add_completion=False, rich_markup_mode=None)
                made.command(cls=Command)(expanded(getattr(module, name.replace("-", "_"))))
            self._made[name] = get_command(made)
            self._made[name].name = name
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class Kwhatif(Root):
    """The whole command line."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = cast("Any", _Commands())


app = typer.Typer(
    name="kwhatif",
    cls=Kwhatif,
    help="What would kube-scheduler do if I applied this?",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help like kubectl's, in half the time
)


def _show_version(value: bool) -> None:  # noqa: FBT001 - Typer calls it
    if value:
        typer.echo(version_line())
        raise typer.Exit


def version_line() -> str:
    """The version, and the release from whose source the rules were derived."""
    return f"kwhatif {__version__} (rules of kube-scheduler 1.36)"


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
    """All commands; each is created once in a process, as this takes Typer longer than most answers take."""
    return get_command(app)


def _run() -> int:
    program = Path(sys.argv[0]).name
    try:
        name = "kubectl whatif" if program == "kubectl-whatif" else "kwhatif"
        code = int(commands()(prog_name=name, standalone_mode=False) or ExitCode.OK)
        sys.stdout.flush()
    except UsageError as wrong:
        wrong.message = bounds_in_words(wrong.message)
        wrong.show()
        return ExitCode.USAGE
    except (BrokenPipeError, ClosedPipeError):
        return _stop_printing()
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except Exception as failure:  # noqa: BLE001 - no traceback ever reaches a user
        if isinstance(failure, OSError) and failure.errno == errno.ENOSPC:
            _stop_printing()
        said = explained(failure)
        with suppress(OSError):  # standard error is closed: only the exit code can be returned
            print(*said.lines, sep="\n", file=sys.stderr)  # noqa: T201
            if os.environ.get("KWHATIF_DEBUG") and (said.code == ExitCode.BUG or isinstance(failure, PluginFailed)):
                traceback.print_exception(failure)
        return said.code
    return code


def _stop_printing() -> ExitCode:
    """Drop the rest of the output. The exit code is that of a program that SIGPIPE ends.

    It is neither a "yes" nor a "no": in `kwhatif gate … | head -1` it is not known whether the answer was read.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.PIPE_CLOSED


# --- errors as lines for the user, and their exit codes --------------------------------------------------------------


#: How many problems are listed; the rest is only counted.
MAX_PROBLEMS = 20
#: The maximum number of characters that are quoted of a text that was given as a path.
_MAX_QUOTED = 60


class Failure(NamedTuple):
    """A failure as text; quotes from the input are inert."""

    code: ExitCode
    lines: tuple[str, ...]


def explained(failure: Exception) -> Failure:
    """The message and exit code for any exception that ended a command."""
    from kwhatif.sources.manifests.given import NotAPath

    match failure:
        case InputError(problems=problems):
            more = len(problems) - MAX_PROBLEMS
            rest = (f"... and {more} more problems",) if more > 0 else ()
            return Failure(failure.exit_code, (*map(_error, problems[:MAX_PROBLEMS]), *rest))
        case KwhatifError():
            return Failure(failure.exit_code, (_error(failure),))
        case NotAPath(text=text):
            quoted = text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…"
            said = f"{quoted}: is text, not the name of a file: give a file, or - and pipe the text"
            return Failure(ExitCode.BAD_INPUT, (_error(said),))
        case OSError(errno=errno.ENOSPC):
            return Failure(ExitCode.BAD_INPUT, (_error(f"standard output cannot be written: {failure.strerror}"),))
    hint = () if os.environ.get("KWHATIF_DEBUG") else ("Set KWHATIF_DEBUG=1 to see where, and please report it.",)
    return Failure(ExitCode.BUG, (_error(f"kwhatif has a bug: {type(failure).__name__}: {failure}"), *hint))


def _error(said: object) -> str:
    return f"error: {safe(shortened(str(said)))}"
