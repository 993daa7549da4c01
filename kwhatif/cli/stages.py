"""`-v`: how long each step took, and how much memory, on standard error."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from kwhatif.render.safe import safe

if TYPE_CHECKING:
    from kwhatif.sources.dumps.progress import ReadingStep


class Stages:
    """Prints after every step how long it took and the largest memory of the process; or prints nothing."""

    def __init__(self, *, verbose: bool) -> None:
        self.verbose = verbose
        self._started = self._last = time.perf_counter()

    def advance(self, step: ReadingStep) -> None:
        """Follow the reading."""
        if step.done and step.objects:
            size = f" in {mebibytes(step.size)}" if step.size else ""
            self.end(step.name, f"{step.objects:,} objects{size}")

    def end(self, name: str, what: str = "") -> None:
        """A stage is over."""
        now = time.perf_counter()
        self._say(name, now - self._last, what)
        self._last = now

    def _say(self, name: str, seconds: float, what: str = "") -> None:
        if self.verbose:
            print(f"{safe(name):24} {seconds:7.2f} s {_peak():>10}  {what}".rstrip(), file=sys.stderr)  # noqa: T201

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end("answer")
        self._say("all", time.perf_counter() - self._started)


def _peak() -> str:
    """The largest memory of the process; "" if the system does not say (Windows)."""
    try:
        import resource
    except ImportError:
        return ""
    unit = 1 if sys.platform == "darwin" else 1024
    return mebibytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


def mebibytes(count: int) -> str:
    """Bytes as text, with the units of files."""
    return f"{count / 2**20:,.0f} MiB" if count >= 10 * 2**20 else f"{count / 2**20:.1f} MiB"
