"""Commands, run in a long-lived process of their own with limits of time and memory."""

from __future__ import annotations

import io
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple, Self
from unittest import mock

#: What a command may take: seconds of the clock (other work may run on the machine), and bytes of address space.
SECONDS = 25.0
MEMORY = 6 * 2**30
#: Processor seconds beyond which an answer about a handful of nodes counts as a hang.
PROCESSOR_SECONDS = 8.0


class Answer(NamedTuple):
    """What a command left behind; `code` is None where it had to be ended."""

    code: int | None
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0


class Worker:
    """Answers in a child process, which is replaced when it is lost."""

    def __init__(self) -> None:
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._end()

    def ask(self, command: Sequence[str], files: Mapping[str, bytes]) -> Answer:
        """Run `kwhatif COMMAND` in a folder with these files."""
        if self._process is None:
            self._start()
        assert self._pipe is not None
        self._pipe.send((list(command), dict(files)))
        if self._pipe.poll(SECONDS):
            with suppress(EOFError):
                return Answer(*self._pipe.recv())
        self._end()
        return Answer(None)

    def _start(self) -> None:
        self._pipe, theirs = multiprocessing.Pipe()
        self._process = multiprocessing.get_context("fork").Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._process = self._pipe = None


def _serve(pipe: Connection) -> None:
    """Run commands until the parent is gone."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    from kwhatif.cli import main

    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    try:
        while True:
            command, files = pipe.recv()
            pipe.send(_run(main, command, files, folder))
    except (EOFError, KeyboardInterrupt):
        pass
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(main: object, command: list[str], files: dict[str, bytes], folder: Path) -> Answer:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    os.chdir(folder)
    for name, data in files.items():
        Path(name).write_bytes(data)
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code: object = 0
    start = time.process_time()
    with (
        mock.patch.object(sys, "argv", ["kwhatif", *command]),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO())),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()  # type: ignore[operator]
        except SystemExit as stop:
            code = stop.code
        except BaseException as crash:  # noqa: BLE001 - what gets past `main` is what is looked for
            code, _ = 70, err.write(f"{type(crash).__name__} got past main: {crash}\n")
    taken = time.process_time() - start
    texts = [stream.buffer.getvalue().decode("utf-8", "replace") for stream in (out, err)]  # type: ignore[attr-defined]
    return Answer(code if isinstance(code, int) else 0 if code is None else 1, texts[0], texts[1], taken)
