"""`python -m tests.cache_scripts.fuzz`: random scripts for kwhatif's cache and for the real one; are their states equal?"""

from __future__ import annotations

import argparse
import json
import lzma
import subprocess
import sys
import time
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

from tests.cache_scripts.generate import FAMILIES, script
from tests.cache_scripts.play import play
from tests.differential.oracle import BINARY

ROOT = Path(__file__).parents[2]
SAVED = ROOT / "build" / "disagreements"
STORED = ROOT / "fixtures" / "cache" / "scripts.jsonl.xz"
HEADING = "## The scheduler's cache"
#: How often the judge is asked about a script on which it disagrees with kwhatif: where it contradicts itself, chance
#: decides (which of the nodes that are gone leaves a snapshot first).
_AGAIN = 12
_BATCH = 100
Json = dict[str, Any]


class Row(NamedTuple):
    """What was compared of a family."""

    scripts: int = 0
    agreements: int = 0
    operations: int = 0
    refusals: int = 0
    #: Scripts that were compared only up to the first operation that chance decides.
    chance: int = 0

    def plus(self, other: Row) -> Row:
        return Row(*(mine + more for mine, more in zip(self, other, strict=True)))


def judge(scripts: Sequence[Json]) -> list[Any]:
    """The states of the real cache."""
    lines = "".join(json.dumps(one) + "\n" for one in scripts)
    done = subprocess.run([BINARY, "--cache"], input=lines, capture_output=True, text=True, check=True, timeout=900)
    return [json.loads(line) for line in done.stdout.splitlines()]


def difference(one: Json, wanted: Any) -> tuple[int, str]:
    """The first operation after which kwhatif's state is another, and both states; "" if all are equal."""
    if isinstance(wanted, dict):
        return 0, f"the judge: {wanted['error']}"
    for number, (want, have) in enumerate(zip(map(_counted, wanted), map(_counted, play(one)), strict=True)):
        if want != have:
            aspects = [key for key in want | have if want.get(key) != have.get(key)]
            return number, "\n".join(
                [f"operation {number} {json.dumps(one['operations'][number])[:300]}"]
                + [f"{key}\nscheduler: {want.get(key)}\nkwhatif: {have.get(key)}" for key in aspects]
            )
    return len(wanted), ""


def _counted(state: Any) -> Any:
    """The state without the order of a node's pods with affinity: they are only counted, and kwhatif keeps none."""
    if isinstance(state, list):
        return [_counted(each) for each in state]
    if not isinstance(state, dict):
        return state
    return {
        key: sorted(value) if key in ("affinity", "antiAffinity") and "pods" in state else _counted(value)
        for key, value in state.items()
    }


def compare(one: Json, wanted: Any) -> tuple[Row, str]:
    """The row of a script, and where it disagrees."""
    until, problem = difference(one, wanted)
    chance = False
    if problem and isinstance(wanted, list):
        answers = judge([one] * _AGAIN)
        chance = any(answer[until] != wanted[until] for answer in answers)
        problem = "" if chance else problem
    refusals = 0 if problem else sum("error" in state for state in wanted[:until])
    return Row(1, not problem, until, refusals, chance), problem


def run(family: str, count: int, seed: int) -> tuple[Row, dict[str, tuple[Json, str]]]:
    """So many scripts of a family: what was compared, and what both sides disagree about, by name."""
    row, problems = Row(), {}
    for first in range(0, count, _BATCH):
        numbers = range(first, min(first + _BATCH, count))
        scripts = [script(family, seed * 1_000_003 + number) for number in numbers]
        for number, one, wanted in zip(numbers, scripts, judge(scripts), strict=True):
            compared, problem = compare(one, wanted)
            row = row.plus(compared)
            if problem:
                problems[f"{family}-{seed}-{number}"] = one, problem
    return row, problems


def table(rows: dict[str, Row]) -> str:
    """As Markdown."""
    total = Row()
    for row in rows.values():
        total = total.plus(row)
    lines = ["| family | scripts | agreements | operations | of them refused |", "|---|---:|---:|---:|---:|"]
    for family, row in {**rows, "all": total}.items():
        lines.append(f"| {family} | {row.scripts:,} | {row.agreements:,} | {row.operations:,} | {row.refusals:,} |")
    return "\n".join(lines)


def write_doc(rows: dict[str, Row], seed: int) -> None:
    """Put the section into docs/conformance.md, in place of an older one, before that of the queue."""
    page = ROOT / "docs" / "conformance.md"
    text = page.read_text()
    before, _, rest = text.partition(f"\n{HEADING}\n")
    before, queue, after = before.partition("\n## The scheduling queue\n")
    after = queue + after if queue else "".join(rest.partition("\n## The scheduling queue\n")[1:])
    number, chance = sum(row.scripts for row in rows.values()), sum(row.chance for row in rows.values())
    section = f"""
{HEADING}

`make fuzz-cache N={number} SEED={seed}`

Random scripts (nodes and pods come, change and go; pods are assumed, confirmed and forgotten) were played on kwhatif's cache
and on the scheduler's own. After every operation these had to be equal: what the cache refuses, with its words; all nodes,
imaginary ones included, in the order in which they changed, each with its pods in order, sums, host ports, claims and image
states; which pods are assumed; and two snapshots, of which one is updated every time and one now and then.

{table(rows)}

No disagreement. In `refused`, {chance} scripts were compared up to the operation from which the scheduler's own answer changes
from run to run: which of several deleted nodes leave a snapshot whose size does not match is the order of a Go map.
"""
    page.write_text(before.rstrip("\n") + "\n" + section + after)


def record(each: int) -> None:
    """Store so many scripts of each family, with the states of the real cache."""
    lines = []
    for family in FAMILIES:
        names, scripts = zip(
            *((f"{family}/{number:03}", script(family, number)) for number in range(each)), strict=True
        )
        for name, one, wanted in zip(names, scripts, judge(scripts), strict=True):
            until = compare(one, wanted)[0].operations
            one["operations"] = one["operations"][:until]
            case = {"case": name, "script": one, "expected": wanted[:until]}
            lines.append(json.dumps(case, separators=(",", ":")) + "\n")
    with lzma.open(STORED, "wt", preset=9) as file:
        file.writelines(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """0: they agree; 1: they do not; 2: the judge is missing."""
    parser = argparse.ArgumentParser(prog="python -m tests.cache_scripts.fuzz", description=__doc__)
    parser.add_argument("--scripts", type=int, default=200, help="how many, of all families together")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the same seed gives the same scripts")
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument(
        "--write-doc", action="store_true", help="write the section of docs/conformance.md if all is well"
    )
    parser.add_argument(
        "--record", type=int, metavar="N", help="store N scripts of each family in fixtures/cache instead"
    )
    options = parser.parse_args(arguments)
    if not BINARY.exists():
        print("the oracle is not built: make oracle", file=sys.stderr)
        return 2
    if options.record:
        record(options.record)
        return 0
    families = options.families.split(",")
    found: dict[str, Any] = {}
    start, rows = time.monotonic(), {}
    for family in families:
        rows[family], problems = run(family, ceil(options.scripts / len(families)), options.seed)
        found |= problems
    print(table(rows))
    print(f"{time.monotonic() - start:.0f} s; seed {options.seed}")
    for name, (one, problem) in found.items():
        folder = SAVED / f"cache-{name}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "script.json").write_text(json.dumps(one))
        (folder / "differences.txt").write_text(problem)
    for name, (_, problem) in list(found.items())[:10]:
        print(f"\n{name}: {problem[:1500]}")
    if options.write_doc and not found:
        write_doc(rows, options.seed)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
