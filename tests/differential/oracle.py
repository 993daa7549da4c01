"""kube-scheduler's side: the program in `tests/oracle`, kept running."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests import ROOT

ORACLE = ROOT / "tests" / "oracle"
BINARY = ORACLE / "bin" / "oracle"
#: The release of `BINARY`; the judges of others have theirs in their names. As in `tests/go.mk`.
DEFAULT_RELEASE = "1.36"

#: So many paths fit into a pipe that nobody reads yet.
_AT_ONCE = 200


class OracleMissing(Exception):
    """The oracle is not built."""


def binary(release: str = DEFAULT_RELEASE) -> Path:
    """The judge of a release.

    Raises:
        OracleMissing: it is not built.
    """
    is_default = release == DEFAULT_RELEASE
    path = BINARY if is_default else BINARY.with_name(f"oracle-{release}")
    if not path.exists():
        raise OracleMissing("the oracle is not built: make oracle" + ("" if is_default else f" RELEASE={release}"))
    return path


def version(release: str = DEFAULT_RELEASE) -> str:
    """The Kubernetes version that it is linked with."""
    shown = subprocess.run([binary(release), "--version"], check=True, capture_output=True, text=True).stdout
    return shown.split()[-1]


class Oracle:
    """One process that answers case after case."""

    def __init__(self, release: str = DEFAULT_RELEASE) -> None:
        self._process = subprocess.Popen(
            [binary(release), "--stdout", "-j", "1", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, directories: Sequence[Path]) -> list[dict[str, Any]]:
        """An answer per case: as in `expected.json`, or with a field `error` alone."""
        answers: list[dict[str, Any]] = []
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        for start in range(0, len(directories), _AT_ONCE):
            batch = directories[start : start + _AT_ONCE]
            stdin.write("".join(f"{directory}\n" for directory in batch))
            stdin.flush()
            for directory in batch:
                line = json.loads(stdout.readline())
                assert line["case"] == str(directory), line["case"]
                answers.append(line["expected"])
        return answers

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
