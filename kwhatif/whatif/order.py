"""An order in which draining nodes does little harm: next comes the node that does the least harm now."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from kwhatif.controllers.contract import Update
from kwhatif.controllers.drain import Drain
from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.model.node import Node
from kwhatif.simulation.engine import Engine
from kwhatif.simulation.world import World
from kwhatif.whatif.played import SettledCluster, harm_of


def least_harmful_order(base: SettledCluster, nodes: Sequence[str], options: DrainOptions) -> tuple[str, ...]:
    """All nodes are cordoned first, as kubectl does; then each step tries every node that is left, and takes one.

    A good order, not the best of all: of n nodes it plays n(n+1)/2 drains. Of equal ones the first by name comes first.
    """
    engine = base.fork()
    engine.perform(lambda world: _cordon(world, nodes))
    engine.settle()
    order: list[str] = []
    left = sorted(nodes)
    while left:
        tried = [(_drained(engine, name, options), name) for name in left]
        (_, _, engine), name = min(((harm, number, after), name) for number, ((harm, after), name) in enumerate(tried))
        order.append(name)
        left.remove(name)
    return tuple(order)


def _cordon(world: World, nodes: Sequence[str]) -> None:
    for name in nodes:
        node = world.state.cluster.all(Node)[name]
        if not node.spec.unschedulable:
            world.write(Update(replace(node, spec=replace(node.spec, unschedulable=True))), "user", None)


def _drained(engine: Engine, name: str, options: DrainOptions) -> tuple[tuple[float, ...], Engine]:
    """What draining the node next would come to: the harm, and how it goes on."""
    after = engine.fork()
    drain = Drain((name,), options)
    start = after.clock.now
    after.evict(drain)
    after.settle()
    is_drained = drain.done and drain.ok
    return (float(not is_drained), *harm_of(after, engine), after.clock.now - start), after
