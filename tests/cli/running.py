"""Run the command line in this process, as a shell would see it."""

from __future__ import annotations

import io
import shlex
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple
from unittest import mock

from kwhatif.cli import main


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
