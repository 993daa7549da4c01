"""`python -m benchmarks.launch COMMAND …`: run it, and print its exit code, processor seconds and peak memory in bytes.

A process of its own, since what a child begins with counts as memory of the child: that of a benchmark may be large.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def main(argv: list[str]) -> None:
    with Path(os.devnull).open("w") as nowhere:
        child = subprocess.Popen(argv, stdout=nowhere)
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    print(child.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


if __name__ == "__main__":
    main(sys.argv[1:])
