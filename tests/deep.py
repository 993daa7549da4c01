"""`make deep`: a soak, then the laws, with examples that no run has tried before, round after round until the time is over."""

import argparse
import subprocess
import sys
import time
from itertools import count

from tests import ROOT

#: The part of the time for which a cluster is watched.
_SOAKED = 0.1


def main() -> int:
    """Returns 0 if no law was broken, else what pytest returned."""
    parser = argparse.ArgumentParser(prog="make deep", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="no test is begun so many seconds after the first")
    parser.add_argument("--seed", type=int, help="repeat the round with this seed, whole, however long that takes")
    parser.add_argument("tests", nargs="*", help="files or tests; all laws by default")
    options = parser.parse_args()
    tests = options.tests or _laws()
    if options.seed is not None:
        return _round(options.seed, tests)
    until = time.time() + options.seconds
    if not options.tests:
        code = _soak(int(time.time()), options.seconds * _SOAKED)
        if code:
            return code
    for seed in count(int(time.time())):
        code = _round(seed, [*tests, f"--seconds={max(until - time.time(), 0)}"])
        if code:
            print(f"To repeat this: make deep SEED={seed}, or with TESTS=tests/... only one of the laws")
            return code
        if time.time() > until:
            return 0
    raise AssertionError  # seeds do not run out


def _soak(seed: int, seconds: float) -> int:
    """A cluster is watched while all the time something happens in it."""
    command = ["-m", "tests.soak", f"--seed={seed}", f"--seconds={seconds}"]
    return subprocess.run([sys.executable, *command], cwd=ROOT, check=False).returncode


def _round(seed: int, arguments: list[str]) -> int:
    print(f"seed {seed}", flush=True)
    command = [
        "-m",
        "pytest",
        "-n",
        "auto",
        "-m",
        "hypothesis",
        "--hypothesis-profile=deep",
        f"--hypothesis-seed={seed}",
    ]
    return subprocess.run([sys.executable, *command, *arguments], cwd=ROOT, check=False).returncode


def _laws() -> list[str]:
    """The files with laws in them."""
    return sorted(
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("test_*.py")
        if "from hypothesis" in path.read_text()
    )


if __name__ == "__main__":
    sys.exit(main())
