"""`python -m tests.differential`: how well does kwhatif agree with kube-scheduler?"""

import argparse
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests import ROOT
from tests.differential import bench, document, files, oracle
from tests.differential.bench import Batch, Bench, Disagreement, Tally
from tests.differential.generate import FAMILIES
from tests.differential.table import Table

BATCH = 100
SAVED = ROOT / "build" / "disagreements"


def main(arguments: Sequence[str] | None = None) -> int:
    """0: they agree; 1: they do not; 2: the oracle is missing."""
    options = _options(arguments)
    families = options.families.split(",") if options.families else list(FAMILIES)
    batches = [
        Batch(family, options.seed, first, min(BATCH, options.cases - first), options.release, options.command_line)
        for first in range(0, options.cases, BATCH)
        for family in families
    ]
    try:
        version = oracle.version(options.release)
    except oracle.OracleMissing as missing:
        print(missing, file=sys.stderr)
        return 2
    table = Table(families)
    kept: dict[tuple[str, str], list[Disagreement]] = {}
    start = time.monotonic()
    for tally in _tallies(batches, options.jobs):
        table.add(tally)
        for found in tally.disagreements:
            kept.setdefault((tally.family, found.kind()), []).append(found)
    print(table.text())
    print(f"{table.total()} cases in {time.monotonic() - start:.0f} s; seed {options.seed}; Kubernetes {version}")
    _save(kept, options)
    if options.write_doc:
        problem = document.write(table, ROOT / "docs" / "conformance.md", version, options.seed, options.release)
        if problem:
            print(f"docs/conformance.md is not written: {problem}", file=sys.stderr)
            return 1
    return 1 if kept else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--cases", type=int, default=200, help="cases per family")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the same seed gives the same cases")
    parser.add_argument("--families", help=f"some of: {','.join(FAMILIES)}")
    parser.add_argument("--release", default=oracle.DEFAULT_RELEASE, help="of Kubernetes, such as 1.35")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--save", type=int, default=3, help="disagreements of a kind to keep, made small")
    parser.add_argument("--command-line", action="store_true", help="ask kwhatif by its command line")
    parser.add_argument("--write-doc", action="store_true", help="write docs/conformance.md if all is well")
    return parser.parse_args(arguments)


def _tallies(batches: list[Batch], jobs: int) -> Iterator[Tally]:
    if jobs == 1:
        yield from map(bench.run, batches)
        return
    with multiprocessing.Pool(jobs) as pool:
        yield from pool.imap_unordered(bench.run, batches)


def _save(kept: dict[tuple[str, str], list[Disagreement]], options: argparse.Namespace) -> None:
    if not kept:
        return
    with oracle.Oracle(options.release) as asked, tempfile.TemporaryDirectory() as folder:
        small = Bench(asked, Path(folder), options.release)
        for (family, kind), found in sorted(kept.items()):
            print(f"\n{family}: {len(found)} x {kind}")
            for disagreement in found[: options.save]:
                _tell(small.shrunk(disagreement), options.release)


def _tell(found: Disagreement, release: str) -> None:
    case, verdict = found
    target = SAVED / (case.name if release == oracle.DEFAULT_RELEASE else f"{release}-{case.name}")
    files.write_pretty(case, target, f"{case.title} -> {verdict.outcome}", verdict.expected)
    text = bench.as_text(verdict.differences)
    (target / "differences.txt").write_text(text + "\n")
    print(f"  {target.relative_to(ROOT)}\n    " + text[:1500].replace("\n", "\n    "))


if __name__ == "__main__":
    sys.exit(main())
