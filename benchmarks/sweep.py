"""Many scenarios of one cluster: each of its nodes fails alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from benchmarks.context import Context
from benchmarks.dump import Shape
from benchmarks.process import KWHATIF
from benchmarks.rows import Row, at_least, at_most
from kwhatif.questions.maintenance.outage import outage
from kwhatif.questions.scenarios import NodePlayer, Outages, SweepScenario
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.settled_cluster import together
from kwhatif.simulation.parameters import Parameters
from kwhatif.sources.dumps.dump import read_cluster
from kwhatif.sweep.processes import available_cores, play, play_here

TITLE = "Every node fails alone"
NOTE = """Here seconds are those of the clock, with as many processes as there are cores. The pods belong to ReplicaSets
that are in the dump, so each loss makes some twenty pods anew; nodes are so full that about half of these evict others,
which are made anew in turn. The plain way lets the cluster settle for each scenario, and knows nothing of other ones.
"""

_JOBS = 2
#: How often, in seconds, one looks how much memory is occupied.
_LOOK = 1.0


def rows(context: Context) -> Iterator[Row]:
    """As many as there are nodes, and some of the largest cluster; a few the plain way."""
    small, large = (20, 40) if context.quick else (1_000, 5_000)
    yield from _measure(context, small, pods_per_node=20, scenarios=small, plain=3, target=20.0)
    yield from _measure(context, large, pods_per_node=22, scenarios=min(large, 200), plain=2)
    yield from _all(context, large)


def _shape(nodes: int, pods_per_node: int) -> Shape:
    return Shape(nodes=nodes, pods_per_node=pods_per_node, budgets=nodes * 4 // 5, owned=True)


def _measure(
    context: Context, nodes: int, *, pods_per_node: int, scenarios: int, plain: int, target: float | None = None
) -> Iterator[Row]:
    shape = _shape(nodes, pods_per_node)
    session = Session.of(read_cluster([str(context.json(shape))], stdin=sys.stdin.buffer).cluster)
    asked = together(session, [SweepScenario(node.name, (node.name,)) for node in session.state.nodes])[:scenarios]
    player = NodePlayer(session, Parameters(), Outages())
    start = time.perf_counter()
    found = list(play(player, asked, available_cores()))
    rate = len(found) / (time.perf_counter() - start)
    reference = plain / _plain(session, asked[:plain])
    what = f"{len(found):,} losses, {nodes:,} nodes, {nodes * pods_per_node:,} pods"
    goal = None if context.quick or target is None else at_least(target)
    yield Row(what, rate, "scenarios/s", "the plain way", reference, goal)
    alone = {outcome.row.scenario: outcome for outcome in play_here(player, asked[:plain])}
    assert all(alone[each.row.scenario] == each for each in found if each.row.scenario in alone)


def _plain(session: Session, asked: Sequence[SweepScenario]) -> float:
    start = time.perf_counter()
    for scenario in asked:
        outage(session, scenario.nodes, Parameters())
    return time.perf_counter() - start


def _all(context: Context, nodes: int) -> Iterator[Row]:
    """The whole command. Pages that its processes share are divided among them (proportional set size)."""
    dump = context.json(_shape(nodes, 22))
    options = ("--each", "kubernetes.io/hostname", "--jobs", _JOBS, "--from", dump, "-o", "json")
    argv = [str(argument) for argument in (*KWHATIF, "outage", *options)]
    start, peak = time.perf_counter(), 0
    with Path(os.devnull).open("w") as nowhere, subprocess.Popen(argv, stdout=nowhere, stderr=nowhere) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(_occupied, _with_children(process.pid))))
            time.sleep(_LOOK)
    seconds = time.perf_counter() - start
    assert process.returncode in (0, 1), process.returncode
    what = f"all {nodes:,} losses, {nodes * 22:,} pods, {_JOBS} processes"
    yield Row(what, seconds, "s", target=None if context.quick else at_most(300))
    if peak:
        yield Row(f"{what}: memory", peak / 1e9, "GB", target=None if context.quick else at_most(2.5))


def _with_children(process: int) -> Iterator[int]:
    yield process
    for path in Path("/proc").glob(f"{process}/task/*/children"):
        with suppress(OSError):  # it has ended meanwhile
            yield from (each for child in path.read_text().split() for each in _with_children(int(child)))


def _occupied(process: int) -> int:
    """Bytes; 0 where the system does not say."""
    with suppress(OSError):
        found = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{process}/smaps_rollup").read_text(), re.MULTILINE)
        return int(found[1]) * 1024 if found else 0
    return 0
