"""`python -m tests.differential.admission --cases 2000 --seed 1`: build the judge first (`tests/oracle/admission`).

`--save FILE` keeps the cases with their answers, as fixtures.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests import ROOT
from tests.admissions import disagreements
from tests.differential.admission.dice import Json
from tests.differential.admission.namespace import Namespace
from tests.differential.admission.workloads import Workloads

JUDGE = ROOT / "tests" / "oracle" / "admission" / "bin" / "admission"
BATCH = 200


def case(seed: int) -> Json:
    """Every third case is about workloads."""
    title = f"generated {seed}"
    return Workloads(seed).case(title) if seed % 3 == 0 else Namespace(seed).case(title)


def judged(cases: list[Json], judge: Path) -> list[Json]:
    """The cases with what the API server's packages made of them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.json"
        path.write_text(json.dumps(cases))
        done = subprocess.run([judge, path], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        return json.loads(path.read_text())


def main() -> int:
    """Tell every difference; 1 if there is any."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.admission", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--judge", type=Path, default=JUDGE)
    parser.add_argument("--save", type=Path)
    asked = parser.parse_args()
    outcomes: Counter[str] = Counter()
    kept: list[Json] = []
    for start in range(asked.seed, asked.seed + asked.cases, BATCH):
        seeds = range(start, min(start + BATCH, asked.seed + asked.cases))
        for made in judged([case(seed) for seed in seeds], asked.judge):
            kept.append(made)
            outcomes.update("refused" if "message" in result else "taken" for result in made["results"])
            for difference in disagreements(made):
                outcomes["different"] += 1
                print(f"{made['title']}: {difference}")
    if asked.save:
        lines = (f" {json.dumps(made, separators=(',', ':'))}" for made in kept)
        asked.save.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))
    return bool(outcomes["different"])


if __name__ == "__main__":
    sys.exit(main())
