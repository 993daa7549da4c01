"""Whole processes: time and peak memory as the operating system accounts them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
KWHATIF = (sys.executable, "-c", "from kwhatif.cli import main; main()")


class Cost(NamedTuple):
    """Wall time in seconds, peak resident memory in bytes, time on a processor in seconds."""

    seconds: float
    peak: int
    cpu: float = 0.0

    @property
    def gigabytes(self) -> float:
        """Peak memory in GB."""
        return self.peak / 1e9


def cost_of(argv: Sequence[str]) -> Cost:
    """Run a command to its end, its output thrown away; a "no" (exit 1) is an answer, too."""
    # Installed packages are compiled; so is this tree from the second run on, unless the environment forbids it.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    with Path(os.devnull).open("w") as nowhere:
        child = subprocess.Popen(argv, stdout=nowhere, cwd=ROOT, env=environment)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        raise RuntimeError(f"{argv} ended with {child.returncode}")
    return Cost(time.perf_counter() - started, usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime)


def best_of(count: int, argv: Sequence[str]) -> Cost:
    """The fastest of several runs: noise of a shared machine only ever adds."""
    return min(cost_of(argv) for _ in range(count))
