"""kube-scheduler 1.37 with a fake client, asked case by case (`tests/oracle/gangs`)."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests import ROOT

JUDGE = ROOT / "tests" / "oracle" / "gangs" / "bin" / "gangs"
Json = dict[str, Any]


def outcomes(cases: Mapping[int, Json], runs: int, workers: int) -> Iterator[tuple[int, list[Json]]]:
    """What becomes of the cases, each way that was seen, as they are decided; gates are those of a process."""
    by_gates: dict[str, list[int]] = {}
    for number, case in cases.items():
        by_gates.setdefault(case["gates"], []).append(number)
    for gates, numbers in by_gates.items():
        yield from _asked(gates, numbers, [cases[number] for number in numbers], runs, workers)


def _asked(
    gates: str, numbers: Sequence[int], cases: Sequence[Json], runs: int, workers: int
) -> Iterator[tuple[int, list[Json]]]:
    asked = "".join(
        json.dumps({"cluster": case["cluster"], "manifest": case["manifest"], "runs": runs}) + "\n" for case in cases
    )
    command = [str(JUDGE), "--feature-gates", gates, "--workers", str(workers)]
    judge = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert judge.stdin is not None
    assert judge.stdout is not None
    judge.stdin.write(asked)
    judge.stdin.close()
    for line in judge.stdout:
        answer = json.loads(line)
        assert "failure" not in answer, answer
        yield numbers[answer["number"]], answer["outcomes"]
    assert judge.wait() == 0
