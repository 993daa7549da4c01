"""`python -m benchmarks [--quick] [NAME ...]`: measure; all of it is written to docs/performance.md."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from benchmarks.context import Context
from benchmarks.document import Section, amount, document
from benchmarks.rows import Row
from kwhatif.garbage import rare_garbage_collection

#: Modules of this package, in the order of the document.
BENCHMARKS = (
    "process",
    "startup",
    "engine",
    "state",
    "placing",
    "gate",
    "capacity",
    "advice",
    "queue",
    "gangs",
    "simulation",
    "descheduling",
    "autoscaling",
    "sweep",
    "audit",
    "live",
    "watch",
    "page",
)
DOCUMENT = Path(__file__).parents[1] / "docs" / "performance.md"

INTRODUCTION = """# Performance

`make bench` wrote these figures in one run. Machine: {machine}. Targets met: {targets}.

Seconds are processor time (user and system), of whole processes where nothing else is said: other work on the machine
disturbs them least. The fastest of several runs counts. Memory is the peak of what a process occupies. Ratios are to
references of the same run. The dump is generated (`benchmarks/dump.py`): 5,000 nodes, 110,000 pods, 4,000 disruption
budgets, every node full; every fifth pod has preferred anti-affinity, every fiftieth required anti-affinity, every
seventh a spread constraint.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for; 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny clusters, once: does everything still run?")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; default: all")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.names) - set(BENCHMARKS):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as folder:
        context = Context(Path(folder), quick=asked.quick)
        with rare_garbage_collection():  # as every command and every call of the API has it
            sections = list(measure(asked.names or BENCHMARKS, context))
    if not asked.quick and not asked.names:
        DOCUMENT.write_text(document(INTRODUCTION, sections))
    return 0 if asked.quick else int(any(row.met is False for section in sections for row in section.rows))


def measure(names: Sequence[str], context: Context) -> Iterator[Section]:
    """One section per benchmark; figures are printed as they come."""
    for name in names:
        if find_spec(f"benchmarks.{name}") is None:
            continue
        benchmark = import_module(f"benchmarks.{name}")
        started = time.perf_counter()
        print(benchmark.TITLE, flush=True)
        rows = list(map(_printed, benchmark.rows(context)))
        print(f"  ({time.perf_counter() - started:.0f} s)", flush=True)
        yield Section(benchmark.TITLE, rows, getattr(benchmark, "NOTE", ""))


def _printed(row: Row) -> Row:
    ratio = "" if row.ratio is None else f"  {row.ratio:.2f} x {row.against}"
    met = {None: "", True: "  met", False: "  NOT MET"}[row.met]
    print(f"  {row.what:60} {amount(row.figure, row.unit):>12}{ratio}{met}", flush=True)
    return row


if __name__ == "__main__":
    sys.exit(main())
