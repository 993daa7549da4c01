"""`History`: what was done to a state, so that whoever kept something of it can catch up.

Upstream's cache keeps its nodes in the order of their generations, so that a snapshot copies only what is newer than
itself (`UpdateSnapshot` in `pkg/scheduler/backend/cache/cache.go`). Here the steps themselves are kept, and forks share
those that came before the fork.
"""

from __future__ import annotations

from typing import NamedTuple

from kwhatif.kube.model.node import Node
from kwhatif.state.pod_info import PodInfo

#: The most steps that are kept, as each holds on to what it was about; who has fallen behind further starts anew.
_KEPT = 4096


class Move(NamedTuple):
    """A pod came to a node (`amount` 1) or left it (-1)."""

    pod: PodInfo
    node: str
    amount: int


#: Kind, and `namespace/name` or name.
Reference = tuple[type, str]


class Touched:
    """What changes were about."""

    __slots__ = ("changed_nodes", "moves", "nodes", "objects", "reordered")

    def __init__(self) -> None:
        #: Names of the nodes that came, went or changed, or whose pods or nominated pods did.
        self.nodes: set[str] = set()
        #: Objects that came, went or changed.
        self.objects: list[Reference] = []
        #: Of pods on nodes that are there, in their order.
        self.moves: list[Move] = []
        #: Nodes that are there before and after, as they were and as they are.
        self.changed_nodes: list[tuple[Node, Node]] = []
        #: Whether a node came, went or changed its zone: then the order of the nodes may be another.
        self.reordered = False

    def add(self, later: Touched) -> None:
        """What was done after it."""
        self.nodes |= later.nodes
        self.objects += later.objects
        self.moves += later.moves
        self.changed_nodes += later.changed_nodes
        self.reordered |= later.reordered


class Step(NamedTuple):
    """One `State.apply`, and all before it."""

    #: The state's generation before the step.
    generation: int
    touched: Touched
    before: Step | None
    length: int


def record(generation: int, touched: Touched, before: Step | None) -> Step:
    """Add a step to a history; when that gets too long, the older ones are forgotten."""
    if before is None or before.length >= _KEPT:
        return Step(generation, touched, None, 1)
    return Step(generation, touched, before, before.length + 1)


def since(generation: int, step: Step | None) -> Touched | None:
    """What was done since that generation, up to the step; None: that is not known."""
    steps: list[Touched] = []
    while step is not None and step.generation >= generation:
        steps.append(step.touched)
        if step.generation == generation:
            if len(steps) == 1:
                return step.touched
            together = Touched()
            for touched in reversed(steps):
                together.add(touched)
            return together
        step = step.before
    return None
