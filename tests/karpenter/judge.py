"""Karpenter's own packages, asked case by case (`tests/oracle/karpenter`); `python -m tests.karpenter.judge` records anew.

That decides all cases of `fixtures/karpenter` again and writes them: after a move to another version.
"""

import json
import lzma
import subprocess
from typing import Any

from tests import FIXTURES, ROOT
from tests.karpenter.play import NOW, canonical, play

JUDGE = ROOT / "tests" / "oracle" / "karpenter" / "bin" / "karpenter"
FOLDER = FIXTURES / "karpenter"
CASES = FOLDER / "cases.jsonl.xz"
_OFFERING = ("capacityType", "zone", "price", "available")
#: How often the judge runs a case: it walks over maps.
_RUNS = 30

Case = dict[str, Any]


class Judge:
    """The judge."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [JUDGE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def outcomes(self, case: Case, runs: int) -> list[dict[str, Any]]:
        """What Karpenter decides, each way that was seen."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        question = {key: case[key] for key in ("ask", "cluster", "types", "flags") if key in case}
        self._process.stdin.write(json.dumps(question | {"now": case.get("now", NOW), "runs": runs}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "failure" not in answer, answer
        found: list[dict[str, Any]] = answer["outcomes"]
        return found


def agrees(case: Case, outcomes: list[dict[str, Any]]) -> bool:
    """Whether kwhatif decides in one of these ways."""
    made = canonical(case["ask"], play(case))
    return made in [canonical(case["ask"], each) for each in outcomes]


def stored_cases() -> list[Case]:
    """The cases of the fixtures, with their instance types."""
    types = json.loads((FOLDER / "types.json").read_text())
    found = []
    for line in lzma.decompress(CASES.read_bytes()).splitlines():
        case = json.loads(line)
        rows = case.pop("offerings").items()
        case["types"] = [
            {"name": name, **types[name], "offerings": [dict(zip(_OFFERING, row, strict=True)) for row in offered]}
            for name, offered in rows
        ]
        found.append(case)
    return found


def store(cases: list[Case]) -> None:
    """Write the cases; of their instance types only what differs from case to case."""
    lines = []
    for case in cases:
        rest = {key: value for key, value in case.items() if key != "types"}
        offered = {
            type_["name"]: [[each.get(field, True) for field in _OFFERING] for each in type_["offerings"]]
            for type_ in case["types"]
        }
        lines.append(json.dumps(rest | {"offerings": offered}, separators=(",", ":")))
    CASES.write_bytes(lzma.compress("\n".join(lines).encode(), preset=9))


def main() -> None:
    """Decide all cases again."""
    judge, cases = Judge(), stored_cases()
    for case in cases:
        case["outcomes"] = judge.outcomes(case, _RUNS)
        if not agrees(case, case["outcomes"]):
            print(case["case"], "kwhatif disagrees")
    store(cases)


if __name__ == "__main__":
    main()
