"""An order of drains that does little harm: next is always the node whose drain does the least harm now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.controllers.contract import Update
from kwhatif.controllers.drain import KubectlDrain
from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.errors import InputError, Problem
from kwhatif.kube.model.node import Node
from kwhatif.questions.story.played import SettledCluster, harm_of
from kwhatif.simulation.engine import Engine
from kwhatif.simulation.world import World

#: The most nodes with pods to order: 5,050 drains, seconds on a small cluster, minutes on a big one.
MOST = 100


def least_harmful_order(base: SettledCluster, nodes: Sequence[str], options: DrainOptions) -> tuple[str, ...]:
    """All nodes are cordoned first, as kubectl does; then each step tries every node that is left, and takes one.

    A good order, not the optimum: for n nodes with pods to evict it simulates n(n+1)/2 drains. Of equal ones those come
    first that have nothing to evict, then the first by name. While nothing changes, what was tried still holds.

    Raises:
        InputError: too many nodes have pods to evict.
    """
    engine = base.fork()
    engine.perform(lambda world: _cordon(world, nodes))
    engine.settle()
    order: list[str] = []
    left = sorted(nodes)
    tried: dict[str, _Tried] = {}
    while left:
        tried |= {name: _drained(engine, name, options) for name in left if name not in tried}
        name = min(left, key=lambda name: tried[name].harm)
        taken = tried.pop(name)
        if taken.changes:
            if len(left) > MOST:
                raise InputError([_too_many(len(left))])
            tried.clear()
        order.append(name)
        left.remove(name)
        engine = taken.after
    return tuple(order)


def _moment(engine: Engine) -> tuple[int, float]:
    return engine.world.state.generation, engine.clock.now


def _too_many(left: int) -> Problem:
    message = f"{left:,} nodes have pods to evict: every one of them would be tried in each step"
    return Problem("--order", message, hint=f"at most {MOST:,} nodes can be put in order at a time")


def _cordon(world: World, nodes: Sequence[str]) -> None:
    for name in nodes:
        node = world.state.cluster.all(Node)[name]
        if not node.spec.unschedulable:
            world.write(Update(replace(node, spec=replace(node.spec, unschedulable=True))), "user", None)


class _Tried(NamedTuple):
    """The result of draining a node next: the harm, and the simulation afterwards."""

    harm: tuple[float, ...]
    after: Engine
    #: Whether it changes anything.
    changes: bool


def _drained(engine: Engine, name: str, options: DrainOptions) -> _Tried:
    after = engine.fork()
    drain = KubectlDrain((name,), options)
    start = after.clock.now
    after.evict(drain)
    after.settle()
    is_drained = drain.done and drain.ok
    changes = _moment(after) != _moment(engine)
    harm = float(not is_drained), *harm_of(after, engine), after.clock.now - start, float(changes)
    return _Tried(harm, after, changes)
