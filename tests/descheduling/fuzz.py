"""`make fuzz-descheduler N=`: random cases, decided by kwhatif and by the descheduler's own packages."""

import argparse
import json
import subprocess
import sys
from collections import Counter
from typing import Any

from kwhatif.descheduler.attempt import DeschedulingCycle
from tests import ROOT
from tests.descheduling.generate import FAMILIES, generate
from tests.descheduling.mutate import mutated
from tests.descheduling.play import play

JUDGE = ROOT / "tests" / "oracle" / "descheduler" / "bin" / "descheduler"
FOUND = ROOT / "build" / "disagreements"
#: How often the judge runs a case: it walks over maps.
_RUNS = 4
_MOST_SAVED = 20
#: The family of policies that are wrong.
_POLICIES = "policies"

Row = tuple[str, str, str]


class Judge:
    """The judge, asked case by case."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [JUDGE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def outcomes(self, case: dict[str, Any], runs: int) -> list[dict[str, Any]]:
        """What the descheduler does, each way that was seen."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(case | {"runs": runs}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "failure" not in answer, answer
        found: list[dict[str, Any]] = answer["outcomes"]
        return found


def agrees(case: dict[str, Any], judge: Judge) -> tuple[str, bool]:
    """How many ways there are to go (`error`, `none`, `one`, `several`), and whether kwhatif goes one of them.

    Where there are several, those that were seen need not be all: then it is enough to try the same evictions.
    """
    outcomes = judge.outcomes(case, _RUNS)
    cycle = play(case)
    if "error" in outcomes[0]:  # one of several, where profiles are built in the order of a map
        errors = {outcomes[0]["error"]}
        while isinstance(cycle, str) and not any(map(cycle.__contains__, errors)) and len(errors) < _RUNS:
            before = len(errors)
            errors |= {judge.outcomes(case, 1)[0].get("error", "") for _ in range(10 * _RUNS)}
            if len(errors) == before:
                return "error", False
        return "error", isinstance(cycle, str) and any(error in cycle for error in errors)
    if not isinstance(cycle, DeschedulingCycle):
        return "one", False
    mine = [(row.pod, row.plugin, row.by or "") for row in cycle.attempts]
    failed = [row.error or "" for row in cycle.plugins]
    ways = [[(row["pod"], row["plugin"], row["by"]) for row in each["attempts"]] for each in outcomes]
    good = any(mine == way and failed == _errors(each) for way, each in zip(ways, outcomes, strict=True))
    if not good:  # perhaps a way that was not seen
        outcomes = judge.outcomes(case, 40 * _RUNS)
        ways = [[(row["pod"], row["plugin"], row["by"]) for row in each["attempts"]] for each in outcomes]
        good = any(sorted(mine) == sorted(way) for way in ways) if len(outcomes) > 1 else False
    return "several" if len(outcomes) > 1 else "one" if mine else "none", good


def _errors(outcome: dict[str, Any]) -> list[str]:
    return [row["error"] for row in outcome["plugins"]]


def main() -> int:
    """Print the table family, cases, agreements; save what disagrees."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=200, help="of each family")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--families", default=",".join((*FAMILIES, _POLICIES)))
    options = parser.parse_args()
    judge, saved, bad = Judge(), 0, 0
    print(f"{'family':45} {'cases':>6} {'agree':>6}  ways to go")
    for family in options.families.split(","):
        ways: Counter[str] = Counter()
        agreed = 0
        for number in range(options.cases):
            seed = f"{options.seed}/{family}/{number}"
            case = mutated(seed) if family == _POLICIES else generate(seed, family)
            way, good = agrees(case, judge)
            ways[way] += 1
            agreed += good
            if not good and saved < _MOST_SAVED:
                saved += 1
                FOUND.mkdir(parents=True, exist_ok=True)
                name = f"descheduler-{family}-{options.seed}-{number}.json"
                (FOUND / name).write_text(json.dumps(case))
        bad += options.cases - agreed
        said = ", ".join(f"{name} {count}" for name, count in sorted(ways.items()))
        print(f"{family:45} {options.cases:6} {agreed:6}  {said}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
