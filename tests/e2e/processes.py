"""Programs that run for as long as a `with` lasts, whatever ends it."""

import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_PATIENCE = 120.0
_GRACE = 15.0


class NotStarted(Exception):
    """A program ended, or did not get ready; its last words are in the message."""


@contextmanager
def running(argv: list[str], log: Path, ready: Callable[[], bool]) -> Iterator[None]:
    """Start a program, wait until it is ready, and stop it in the end."""
    with log.open("wb") as out:
        # A session of its own: Ctrl-C in the terminal is for us, who then stop the programs in good order.
        process = subprocess.Popen(argv, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        _wait(process, argv[0], log, ready)
        yield
    finally:
        process.terminate()
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            pass
        finally:  # an impatient second Ctrl-C comes by here, too
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], program: str, log: Path, ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not ready():
        if process.poll() is not None:
            raise NotStarted(f"{program} ended with code {process.returncode}, see {log}:\n{_tail(log)}")
        if time.monotonic() > deadline:
            raise NotStarted(f"{program} was not ready after {_PATIENCE:.0f} seconds, see {log}:\n{_tail(log)}")
        time.sleep(0.2)


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-15:])


def free_port() -> int:
    """A port of 127.0.0.1 on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port: int) -> bool:
    """Whether somebody listens on that port of 127.0.0.1."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
