"""What is waited for before anything was read."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from benchmarks.context import Context
from benchmarks.process import KWHATIF, ROOT, costs_of
from benchmarks.rows import Row, at_most

TITLE = "Starting"
DEMO = ROOT / "fixtures" / "demo"


def rows(context: Context) -> Iterator[Row]:
    """Whole processes that have little to do."""
    costs = costs_of(
        1 if context.quick else 10,
        {
            "python": (sys.executable, "-c", "pass"),
            "--version": (*KWHATIF, "--version"),
            "--help": (*KWHATIF, "--help"),
            "schedule --help": (*KWHATIF, "schedule", "--help"),
            "demo": (*KWHATIF, "schedule", DEMO / "pods", "--from", DEMO / "cluster.yaml"),
        },
    )
    python = costs["python"].seconds
    for name in ("--version", "--help", "schedule --help"):
        yield Row(f"`kwhatif {name}`", costs[name].seconds, "s", "python -c pass", python, at_most(0.15))
    yield Row("`kwhatif schedule` of the demo", costs["demo"].seconds, "s", "python -c pass", python, at_most(0.6))
