"""`History`: the changes of a state, so that caches of an older state can catch up.

Upstream's cache keeps its nodes in the order of their generations, so that a snapshot copies only what is newer than
itself (`UpdateSnapshot` in `pkg/scheduler/backend/cache/cache.go`). Here the steps themselves are kept, and forks share
the steps before the fork.
"""

from __future__ import annotations

from typing import NamedTuple

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.node import Node
from kwhatif.state.pod_info import PodInfo

#: The most steps that are kept, because each keeps its objects in memory; a cache that is older must be rebuilt.
_KEPT = 4096


class Move(NamedTuple):
    """A pod was added to a node (`amount` 1) or removed from it (-1)."""

    pod: PodInfo
    node: str
    amount: int


class ChangedObject(NamedTuple):
    """An object of the cluster as it was and as it is: `before` None: it came, `after` None: it went."""

    before: KubernetesObject | None
    after: KubernetesObject | None


#: Kind, and `namespace/name` or name.
Reference = tuple[type, str]


class Touched:
    """What some changes affected."""

    __slots__ = ("added_nodes", "changed_nodes", "moves", "nodes", "objects", "rearranged")

    def __init__(self) -> None:
        #: Names of the nodes that were added, removed or changed, or whose pods or nominated pods were.
        self.nodes: set[str] = set()
        #: Objects that were added, removed or changed.
        self.objects: list[Reference] = []
        #: Moves of pods on existing nodes, in order.
        self.moves: list[Move] = []
        #: Updated nodes: before and after.
        self.changed_nodes: list[tuple[Node, Node]] = []
        #: Names of the nodes that were added without pods; pods that came to them since are among the moves.
        self.added_nodes: list[str] = []
        #: Whether a node was removed, came with pods or changed its zone, or the nodes were sorted.
        self.rearranged = False

    @property
    def reordered(self) -> bool:
        """Whether the order of the nodes may differ."""
        return self.rearranged or bool(self.added_nodes)

    def add(self, later: Touched) -> None:
        """Append what later changes affected."""
        self.nodes |= later.nodes
        self.objects += later.objects
        self.moves += later.moves
        self.changed_nodes += later.changed_nodes
        self.added_nodes += later.added_nodes
        self.rearranged |= later.rearranged


class Step(NamedTuple):
    """One `State.apply`, linked to all steps before it."""

    #: The state's generation before the step.
    generation: int
    touched: Touched
    before: Step | None
    length: int


def record(generation: int, touched: Touched, before: Step | None) -> Step:
    """Add a step to a history; when it gets too long, the oldest steps are dropped."""
    if before is None or before.length >= _KEPT:
        return Step(generation, touched, None, 1)
    return Step(generation, touched, before, before.length + 1)


def since(generation: int, step: Step | None) -> Touched | None:
    """What changed since that generation, up to the step; None: not known any more."""
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
