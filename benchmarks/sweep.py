"""Many scenarios of one cluster: each of its nodes fails alone."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence

from benchmarks.context import Context
from benchmarks.dump import Shape
from benchmarks.rows import Row, at_least
from kwhatif.simulation.parameters import Parameters
from kwhatif.sources.dumps.dump import read_cluster
from kwhatif.sweep.processes import available_cores, play, play_here
from kwhatif.sweep.scenario import Outages, Player, Scenario, together
from kwhatif.whatif.outage import outage
from kwhatif.whatif.session import Session

TITLE = "Every node fails alone"
NOTE = """Here seconds are those of the clock, with as many processes as there are cores. The pods belong to ReplicaSets
that are in the dump, so each loss makes some twenty pods anew; nodes are so full that about half of these evict others,
which are made anew in turn. The plain way lets the cluster settle for each scenario, and knows nothing of other ones.
"""

#: Scenarios a second that it takes to lose each of 5,000 nodes within five minutes.
ALL_IN_FIVE_MINUTES = 5_000 / 300


def rows(context: Context) -> Iterator[Row]:
    """As many as there are nodes, and some of the largest cluster; a few the plain way."""
    small, large = (20, 40) if context.quick else (1_000, 5_000)
    yield from _measure(context, small, pods_per_node=20, scenarios=small, plain=3, target=20.0)
    yield from _measure(
        context, large, pods_per_node=22, scenarios=min(large, 200), plain=2, target=ALL_IN_FIVE_MINUTES
    )


def _measure(
    context: Context, nodes: int, *, pods_per_node: int, scenarios: int, plain: int, target: float
) -> Iterator[Row]:
    shape = Shape(nodes=nodes, pods_per_node=pods_per_node, budgets=nodes * 4 // 5, owned=True)
    session = Session(read_cluster([str(context.json(shape))], stdin=sys.stdin.buffer).cluster)
    asked = together(session, [Scenario(node.name, (node.name,)) for node in session.snapshot.nodes])[:scenarios]
    player = Player(session, Parameters(), Outages())
    start = time.perf_counter()
    found = list(play(player, asked, available_cores()))
    rate = len(found) / (time.perf_counter() - start)
    reference = plain / _plain(session, asked[:plain])
    what = f"{len(found):,} losses, {nodes:,} nodes, {nodes * pods_per_node:,} pods"
    goal = None if context.quick else at_least(target)
    yield Row(what, rate, "scenarios/s", "the plain way", reference, goal)
    alone = {outcome.row.scenario: outcome for outcome in play_here(player, asked[:plain])}
    assert all(alone[each.row.scenario] == each for each in found if each.row.scenario in alone)


def _plain(session: Session, asked: Sequence[Scenario]) -> float:
    start = time.perf_counter()
    for scenario in asked:
        outage(session, scenario.nodes, Parameters())
    return time.perf_counter() - start
