"""Run the command line in this process, or a copy of it, as a shell would see it."""

import io
import os
import shlex
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from tempfile import TemporaryFile
from typing import NamedTuple, NoReturn
from unittest import mock

from kwhatif.cli import console, main


class Ran(NamedTuple):
    """What a command left behind."""

    code: int
    stdout: str
    stderr: str


class _Stdin(io.TextIOWrapper):
    """Standard input with a buffer of bytes."""


def run(command: str, stdin: bytes = b"") -> Ran:
    """Run `kwhatif …`; the command is split as a shell splits it."""
    argv = shlex.split(command)
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with (
        mock.patch.object(sys, "argv", argv),
        mock.patch.object(sys, "stdin", _Stdin(io.BytesIO(stdin))),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    return Ran(code, out.getvalue(), err.getvalue())


class Ended(NamedTuple):
    """How a process ended, and what it wrote."""

    code: int
    stdout: bytes
    stderr: bytes


def fork(
    command: str, encoding: str = "utf-8", stdout: int | None = None, variables: dict[str, str] | None = None
) -> Ended:
    """Run `kwhatif …` in a process with its own streams, which has imported whatever this one has.

    That saves most of the time that a new process takes. Only a new one shows how Python sets up the streams, or what
    is imported.

    Args:
        command: split as a shell splits it.
        encoding: of the streams, as in PYTHONIOENCODING.
        stdout: the descriptor to write to, instead of collecting what is written.
        variables: of the environment.
    """
    with TemporaryFile() as out, TemporaryFile() as err, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # pytest's own threads do nothing in the copy
        child = os.fork()
        if not child:
            _become(command, encoding, out.fileno() if stdout is None else stdout, err.fileno(), variables or {})
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        return Ended(code, out.read(), err.read())


def _become(command: str, encoding: str, out: int, err: int, variables: dict[str, str]) -> NoReturn:
    try:
        os.environ |= variables
        os.dup2(out, 1)
        os.dup2(err, 2)
        name, _, errors = encoding.partition(":")
        sys.stdout = open(1, "w", encoding=name, errors=errors or "strict", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding=name, errors="backslashreplace", closefd=False)  # noqa: SIM115
        sys.argv = shlex.split(command)
        console()
    finally:
        os._exit(os.EX_SOFTWARE)  # `console` ends the process itself
