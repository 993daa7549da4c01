"""`make fuzz-gangs N=`: random clusters with groups of pods, decided by kwhatif and by kube-scheduler 1.37 itself."""

import argparse
import json
import sys
from collections import Counter

from tests import ROOT
from tests.gangs.generate import FAMILIES, Json, generate
from tests.gangs.judge import outcomes
from tests.gangs.play import compared, play

FOUND = ROOT / "build" / "disagreements"
#: How often the judge runs a case, and how often where kwhatif goes a way that was not seen: ties are left to chance.
_RUNS, _MORE_RUNS, _MOST_RUNS = 1, 6, 40
_TELL_EVERY = 200
#: So many ways are not all seen.
_MANY = 3


def agrees(made: Json, ways: list[Json]) -> bool:
    """Whether kwhatif goes one of the ways.

    Where there are many, as evictions are seen now earlier and now later, it is enough that the same groups and pods
    have a place, and the same pods are evicted.
    """
    if compared(made) in [compared(each) for each in ways]:
        return True
    return len(ways) >= _MANY and _coarse(made) in [_coarse(each) for each in ways]


def _coarse(found: Json) -> Json:
    groups = {row["group"]: row["outcome"] for row in found["groups"]}
    pods = sorted(row["pod"] for row in found["pods"] if row.get("node"))
    return {"groups": groups, "pods": pods, "victims": sorted(found.get("victims") or ())}


def main() -> int:
    """Print the table family, cases, agreements; save what disagrees."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=200, help="of each family")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--workers", type=int, default=40, help="how many schedulers wait at a time")
    options = parser.parse_args()
    cases: dict[int, Json] = {}
    for number in range(options.cases):  # a run that is stopped early has seen something of every family
        for family in options.families.split(","):
            cases[len(cases)] = generate(f"{options.seed}/{family}/{number}", family)
    agreed: Counter[str] = Counter()
    made: dict[int, Json] = {}
    seen: dict[int, dict[str, Json]] = {}
    left = dict(cases)
    for runs in (_RUNS, _MORE_RUNS, _MOST_RUNS):
        for asked, (number, ways) in enumerate(outcomes(dict(left), runs, options.workers), 1):
            if asked % _TELL_EVERY == 0:
                print(f"{asked} asked {runs} time(s) each, {agreed.total()} of all agree", file=sys.stderr, flush=True)
            if number not in made:
                made[number] = play(cases[number])
            known = seen.setdefault(number, {})
            known.update((json.dumps(each["outcome"], sort_keys=True), each["outcome"]) for each in ways)
            if agrees(made[number], list(known.values())):
                agreed[cases[number]["about"]] += 1
                del left[number]
        print(f"{len(left)} of {len(cases)} disagree after {runs} run(s) each", file=sys.stderr, flush=True)
    print(f"{'family':20} {'cases':>6} {'agree':>6}")
    for family in options.families.split(","):
        print(f"{family:20} {options.cases:6} {agreed[family]:6}")
    for number, case in left.items():
        FOUND.mkdir(parents=True, exist_ok=True)
        name = f"gangs-{case['case'].replace('/', '-')}.json"
        (FOUND / name).write_text(json.dumps(case | {"outcomes": list(seen[number].values()), "kwhatif": made[number]}))
        print(f"build/disagreements/{name}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
