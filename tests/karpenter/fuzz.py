"""`make fuzz-karpenter N=`: random cases, decided by kwhatif and by Karpenter's own packages."""

import argparse
import json
import sys
from collections import Counter

from tests import ROOT
from tests.karpenter.generate import FAMILIES, generate
from tests.karpenter.judge import Case, Judge
from tests.karpenter.objects import Json
from tests.karpenter.play import canonical, play

FOUND = ROOT / "build" / "disagreements"
#: How often the judge runs a case: it walks over maps.
_RUNS = 4
#: A way that is gone once in some hundred runs was missed by 400 of them, and seen by 60 others.
_MOST_RUNS = 4_000
_MANY = 8
_MOST_SAVED = 20


def compared(case: Case, judge: Judge) -> tuple[str, bool]:
    """How many ways there are to go (`one`, `several`), and whether kwhatif goes one of them.

    A way that few runs go may not be among those that were seen: then many more are tried. Where there are more than
    can be seen, it is enough that as many nodes are made and the same pods are left.
    """
    made = canonical(case["ask"], play(case))
    runs = _RUNS
    while True:
        ways = [canonical(case["ask"], each) for each in judge.outcomes(case, runs)]
        distinct = {json.dumps(each) for each in ways}
        if json.dumps(made) in distinct:
            return "several" if len(distinct) > 1 else "one", True
        if runs >= (_MOST_RUNS if len(distinct) > 1 else 10 * _RUNS):
            return "unseen", len(distinct) > _MANY and any(_coarse(made) == _coarse(each) for each in ways)
        runs *= 10


def _coarse(found: Json) -> tuple[int, list[str]]:
    return len(found.get("newNodes", ())), [row["pod"] for row in found.get("refused", ())]


def main() -> int:
    """Print the table family, cases, agreements; save what disagrees."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=200, help="of each family")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--families", default=",".join(FAMILIES))
    options = parser.parse_args()
    judge, saved, bad = Judge(), 0, 0
    print(f"{'family':25} {'cases':>6} {'agree':>6}  ways to go")
    for family in options.families.split(","):
        ways: Counter[str] = Counter()
        agreed = 0
        for number in range(options.cases):
            case = generate(f"{options.seed}/{family}/{number}", family)
            way, good = compared(case, judge)
            ways[way] += 1
            agreed += good
            if not good and saved < _MOST_SAVED:
                saved += 1
                FOUND.mkdir(parents=True, exist_ok=True)
                name = f"karpenter-{family}-{options.seed}-{number}.json"
                (FOUND / name).write_text(json.dumps(case))
        bad += options.cases - agreed
        said = ", ".join(f"{name} {count}" for name, count in sorted(ways.items()))
        print(f"{family:25} {options.cases:6} {agreed:6}  {said}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
