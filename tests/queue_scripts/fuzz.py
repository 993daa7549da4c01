"""`python -m tests.queue_scripts.fuzz`: random scripts for kwhatif's queue and for the real one; are their states equal?"""

import argparse
import json
import multiprocessing
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any, NamedTuple

from tests import ROOT
from tests.differential.oracle import BINARY
from tests.queue_scripts import document
from tests.queue_scripts.compare import differences
from tests.queue_scripts.generate import FAMILIES, WEIGHTS, script
from tests.queue_scripts.play import play

SAVED = ROOT / "build" / "disagreements"
BATCH = 40
Json = dict[str, Any]


class Task(NamedTuple):
    family: str
    first: int
    scripts: int
    seed: int


class Result(NamedTuple):
    """What came of a batch."""

    family: str
    agree: int
    operations: int
    #: (plugin, event that it is registered for, answer) -> how often the real queue asked.
    hints: Counter[tuple[str, str, str]]
    results: Counter[str]
    disagreements: list[tuple[str, Json, str]]


def judge(scripts: Sequence[Json]) -> list[Any]:
    """The states of the real queue."""
    lines = "".join(json.dumps(one) + "\n" for one in scripts)
    done = subprocess.run(
        [BINARY, "--queue", "-j", "12"], input=lines, capture_output=True, text=True, check=True, timeout=900
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def run(task: Task) -> Result:
    names = [f"{task.family}-{task.seed}-{number}" for number in range(task.first, task.first + task.scripts)]
    scripts = [
        script(task.family, task.seed * 1_000_003 + number) for number in range(task.first, task.first + task.scripts)
    ]
    result = Result(task.family, 0, 0, Counter(), Counter(), [])
    agree = operations = 0
    for name, one, first in zip(names, scripts, judge(scripts), strict=True):
        wanted = first
        problem = _compare(one, wanted)
        for _ in range(3):  # the scheduler's goroutines race: kwhatif has to give one of its answers
            if problem:
                wanted = judge([one])[0]
                problem = _compare(one, wanted)
        if problem:
            result.disagreements.append((name, one, problem))
            continue
        agree += 1
        if isinstance(wanted, dict):
            continue
        operations += len(wanted)
        for state in wanted:
            result.hints.update((ask["plugin"], ask["event"], ask["hint"]) for ask in state.get("asked", ()))
            result.results.update(tried["result"] for tried in state.get("tried", ()))
    return result._replace(agree=agree, operations=operations)


def _compare(one: Json, wanted: Any) -> str:
    """Where the two differ first; "" if they agree."""
    if isinstance(wanted, dict) and wanted["error"].endswith("attempts without end"):
        return ""
    if isinstance(wanted, dict):
        return f"the judge: {wanted['error']}"
    try:
        got = play(one)
    except Exception as failure:  # noqa: BLE001 - a bug is a disagreement
        return f"kwhatif: {type(failure).__name__}: {failure}"
    for number, (want, have) in enumerate(zip(wanted, got, strict=True)):
        for aspect, right, wrong in differences(want, have):
            return f"operation {number} {json.dumps(one['operations'][number])[:300]}\n{aspect}\nscheduler: {right}\nkwhatif: {wrong}"
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """0: they agree; 1: they do not; 2: the judge is missing."""
    parser = argparse.ArgumentParser(prog="python -m tests.queue_scripts.fuzz", description=__doc__)
    parser.add_argument("--scripts", type=int, default=200, help="how many, of all families together")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the same seed gives the same scripts")
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--write-doc", action="store_true", help="write the section of docs/conformance.md if all is well"
    )
    options = parser.parse_args(arguments)
    if not BINARY.exists():
        print("the oracle is not built: make oracle", file=sys.stderr)
        return 2
    families = options.families.split(",")
    share = options.scripts / sum(WEIGHTS.get(family, 1) for family in families)
    counts = {family: ceil(share * WEIGHTS.get(family, 1)) for family in families}
    tasks = [
        Task(family, first, min(BATCH, count - first), options.seed)
        for family, count in counts.items()
        for first in range(0, count, BATCH)
    ]
    table = document.Table(families)
    start = time.monotonic()
    with multiprocessing.Pool(options.jobs) as pool:
        found = [entry for result in pool.imap_unordered(run, tasks) for entry in _note(table, result)]
    print(table.text())
    print(
        f"{table.scripts} scripts, {table.operations} operations in {time.monotonic() - start:.0f} s; seed {options.seed}"
    )
    for name, one, problem in found:
        folder = SAVED / f"queue-{name}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "script.json").write_text(json.dumps(one))
        (folder / "differences.txt").write_text(problem)
    for name, _, problem in found[:10]:
        print(f"\n{name}: {problem[:1500]}")
    if options.write_doc and not found:
        document.write(table, ROOT / "docs" / "conformance.md", options.seed)
    return 1 if found else 0


def _note(table: document.Table, result: Result) -> Iterator[tuple[str, Json, str]]:
    table.add(result.family, result.agree, len(result.disagreements), result.operations, result.hints, result.results)
    yield from result.disagreements


if __name__ == "__main__":
    sys.exit(main())
