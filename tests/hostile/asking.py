"""Commands, run in a long-lived process of their own with limits of time and memory."""

import io
import math
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple
from unittest import mock

#: Bytes of address space that a command may take, besides what the process had when it was forked: hundreds of tests
#: before it, and their threads, may have taken some gigabytes.
MEMORY = 3 * 2**30
#: Processor seconds beyond which an answer about a handful of nodes is slow, and beyond which it is ended as a hang.
#: Other work may run on the machine, so the clock decides only about a worker that waits forever.
SLOW, HANG = 5.0, 20
SECONDS = 300.0


class Answer(NamedTuple):
    """What a command left behind; `code` is None where it had to be ended, and then `stderr` says why."""

    code: int | None
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0
    #: The snapshot that it saved.
    saved: bytes = b""


class Worker:
    """Answers in a child process, which is replaced when it is lost."""

    def __init__(self) -> None:
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection | None = None

    def ask(self, command: Sequence[str], files: Mapping[str, bytes]) -> Answer:
        """Run `kwhatif COMMAND` in a folder with these files."""
        if self._process is None:
            self._start()
        assert self._pipe is not None
        self._pipe.send((list(command), dict(files)))
        if self._pipe.poll(SECONDS):
            with suppress(EOFError, ConnectionError):
                return Answer(*self._pipe.recv())
            return Answer(None, stderr=self.end())
        self.end()
        return Answer(None, stderr="hang")

    def _start(self) -> None:
        ours, theirs = multiprocessing.Pipe()
        self._pipe = ours
        self._process = multiprocessing.get_context("fork").Process(target=_serve, args=(theirs, ours), daemon=True)
        self._process.start()
        theirs.close()

    def end(self) -> str:
        """End the child, and say how it ended if it has done so by itself."""
        process, pipe = self._process, self._pipe
        self._process = self._pipe = None
        if process is None or pipe is None:
            return ""
        pipe.close()
        process.join(1)
        process.kill()
        process.join()
        return "hang" if process.exitcode == -signal.SIGXCPU else f"worker ended with {process.exitcode}"


def _serve(pipe: Connection, other_end: Connection) -> None:
    """Run commands until the parent is gone."""
    other_end.close()
    most = MEMORY + _taken()
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    from kwhatif.cli import main

    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    try:
        while True:
            command, files = pipe.recv()
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time()) + HANG, resource.RLIM_INFINITY))
            pipe.send(_run(main, command, files, folder))
    except (EOFError, KeyboardInterrupt):
        pass
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _taken() -> int:
    """Bytes of address space of this process; 0 where the system does not say it in `/proc`."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[0]) * resource.getpagesize() if statm.exists() else 0


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
    snapshot = folder / "s.json"
    saved = snapshot.read_bytes() if snapshot.exists() else b""
    printed, said = (stream.buffer.getvalue().decode("utf-8", "replace") for stream in (out, err))
    return Answer(code if isinstance(code, int) else 0 if code is None else 1, printed, said, taken, saved)
