"""A descheduler policy that evicts a thousand pods of a full cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator

import kwhatif
from benchmarks.context import Context
from benchmarks.dump import Shape
from benchmarks.rows import Row
from kwhatif.descheduler.build import strategy_policy
from kwhatif.descheduler.cycle import run_cycle
from kwhatif.descheduler.sandbox import Sandbox
from kwhatif.kube.model.meta import parse_time

TITLE = "Descheduling"
NOTE = """\
PodLifeTime wants all pods to go, of workloads that have a disruption budget each; one run. The nodes are full, so part
of the replacements evict others, and these are made anew in turn. Seconds are those of the call, on a session that is
loaded."""
_STRATEGY = "PodLifeTime"
#: When all pods of the dump are older than a day.
_MOMENT = "2026-12-01T00:00:00Z"


def rows(context: Context) -> Iterator[Row]:
    """The cycle alone, then with what follows."""
    nodes = 20 if context.quick else 2_000
    session = context.session(Shape(nodes=nodes, pods_per_node=10, budgets=nodes * 2 // 5, owned=True))
    started = time.process_time()
    cycle = run_cycle(strategy_policy(_STRATEGY), Sandbox(session.state, parse_time(_MOMENT)))
    seconds = time.process_time() - started
    yield Row(f"{len(cycle.attempts):,} attempts, {nodes:,} nodes", seconds, "s")
    started = time.process_time()
    report = kwhatif.deschedule(session, strategy=_STRATEGY, at=_MOMENT, rounds=1)
    seconds = time.process_time() - started
    assert report.deschedule is not None
    evicted = report.deschedule.evicted
    assert len(evicted) > nodes // 3
    yield Row(f"{len(evicted):,} evictions, and where the replacements land", seconds, "s")
