"""States: forks, changes on a fork, and a cycle there."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

from msgspec.structs import replace

from benchmarks.context import Context
from benchmarks.engine import QUESTIONS, pod
from benchmarks.rows import Row, at_most, times
from kwhatif.kube.model.node import Node
from kwhatif.scheduler.framework.attempt import attempt
from kwhatif.state.change import Bind, Change, Delete, Evict, Upsert
from kwhatif.state.state import State

TITLE = "One state and its forks"
NOTE = """\
A fork shares everything with the state that it was forked from, and copies what it changes: a node with its pods, the
group of pods that one belongs to. The median of many, each on a fork of its own: so each of them copies whatever is
shared. A cycle on a fork follows one on the state itself, whose indexes the fork shares."""

RUNS = 200
#: What noise adds to a cycle.
CYCLE = 1.05


def _seconds(runs: int, action: Callable[[], Callable[[], object]]) -> float:
    """The median of what `action` returns, which it prepares."""
    taken = []
    for _ in range(runs):
        prepared = action()
        started = time.process_time()
        prepared()
        taken.append(time.process_time() - started)
    return median(taken)


def _size_of(state: State) -> int:
    """What a fork occupies, in bytes."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    forks = [state.fork() for _ in range(10)]
    size = (tracemalloc.get_traced_memory()[0] - before) // len(forks)
    tracemalloc.stop()
    return size


def _changes(state: State) -> dict[str, tuple[Change, float]]:
    """Name -> a change, and what it may take at most, in milliseconds."""
    node = state.nodes[len(state.nodes) // 2]
    there = node.node
    new = replace(there, metadata=replace(there.metadata, name="new"))
    cordoned = replace(there, spec=replace(there.spec, unschedulable=True))
    return {
        "a pod comes to a node": (Bind(pod("100m").pod, node.name), 0.05),
        "a pod is evicted": (Evict(node.pods[0].key), 0.05),
        "a pod is deleted": (Delete(type(node.pods[0].pod), node.pods[0].key), 0.05),
        "a node is cordoned": (Upsert(cordoned), 1),
        "a node comes": (Upsert(new), 1),
        "a node goes": (Delete(Node, node.name), 1),
    }


def _changed(state: State, change: Change) -> Callable[[], object]:
    fork = state.fork()
    return lambda: fork.apply(change)


def rows(context: Context) -> Iterator[Row]:
    """Forks and changes of the large cluster."""
    session = context.session(context.large)
    state = session.state
    state.prepare()
    nodes = f"{context.large.nodes:,} nodes"
    runs = 5 if context.quick else RUNS
    fork = _seconds(runs, lambda: state.fork)
    yield Row(f"a fork, {nodes}", fork * 1e3, "ms", target=at_most(0.1))
    yield Row("a fork: memory", _size_of(state) / 1e3, "kB", target=at_most(100))
    for name, (change, limit) in _changes(state).items():
        seconds = _seconds(runs, partial(_changed, state, change))
        yield Row(name, seconds * 1e3, "ms", target=at_most(limit))
    profile = session.profiles["default-scheduler"]
    question = QUESTIONS["filter and score"]

    def cycle_on(one: State) -> Callable[[], object]:
        return lambda: attempt(profile, question(), one)

    attempt(profile, question(), state)
    rounds = [(_seconds(1, lambda: cycle_on(state)), _seconds(1, lambda: cycle_on(state.fork()))) for _ in range(40)]
    base, forked = (min(each) for each in zip(*rounds, strict=True))
    yield Row("filter and score on a fork", forked * 1e3, "ms", "on its base", base * 1e3, times(CYCLE))
