"""`History`: the changes of a state, so that caches of an older state can catch up.

Upstream's cache keeps its nodes in the order of their generations, so that a snapshot copies only what is newer than
itself (`UpdateSnapshot` in `pkg/scheduler/backend/cache/cache.go`). Here the steps themselves are kept, and forks share
the steps before the fork.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.node import Node
from kwhatif.state.pod_info import PodInfo

#: At least this number of steps is kept, and at most twice as many, because each keeps its objects in memory; a cache
#: that is older must be rebuilt.
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

    __slots__ = ("_by_namespace", "_net", "added_nodes", "changed_nodes", "moves", "nodes", "objects", "rearranged")

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
        self._net: Sequence[Move] | None = None
        self._by_namespace: dict[str, list[Move]] | None = None

    @property
    def reordered(self) -> bool:
        """Whether the order of the nodes may differ."""
        return self.rearranged or bool(self.added_nodes)

    @classmethod
    def together(cls, steps: Sequence[Touched]) -> Touched:
        """What all these changes affected, in order; it is not changed any more."""
        found = cls()
        found.nodes = set().union(*[each.nodes for each in steps])
        found.objects = list(chain.from_iterable([each.objects for each in steps]))
        found.moves = list(chain.from_iterable([each.moves for each in steps]))
        found.changed_nodes = list(chain.from_iterable([each.changed_nodes for each in steps]))
        found.added_nodes = list(chain.from_iterable([each.added_nodes for each in steps]))
        found.rearranged = any([each.rearranged for each in steps])  # noqa: C419 - a generator takes twice as long
        return found

    # For those that only count pods: pods that came and left again, such as each status of a pod but the last, are
    # neither. The changes must be over.

    @property
    def net_moves(self) -> Sequence[Move]:
        """The moves without pods that came to a node and left it again."""
        if self._net is None:
            self._net = _net(self.moves)
        return self._net

    def net_moves_in(self, namespace: str) -> Sequence[Move]:
        """Those of pods of the namespace."""
        if self._by_namespace is None:
            self._by_namespace = {}
            for move in self.net_moves:
                self._by_namespace.setdefault(move.pod.namespace, []).append(move)
        return self._by_namespace.get(namespace, ())


def _net(moves: Sequence[Move]) -> Sequence[Move]:
    if len(moves) < 2:
        return moves
    came: dict[tuple[PodInfo, str], int] = {}
    left_again: set[int] = set()
    for number, move in enumerate(moves):
        place = move.pod, move.node
        if move.amount > 0:
            came[place] = number
        elif (since := came.pop(place, None)) is not None:
            left_again |= {since, number}
    return [move for number, move in enumerate(moves) if number not in left_again] if left_again else moves


class Step(NamedTuple):
    """One `State.apply`, linked to those before it in its part of a history."""

    #: The state's generation before the step.
    generation: int
    touched: Touched
    before: Step | None
    length: int


class History(NamedTuple):
    """The last steps, each part by its last one: when the newer part is full it becomes the older one, which goes."""

    newer: Step | None = None
    older: Step | None = None

    def with_step(self, generation: int, touched: Touched) -> History:
        """The history with one more step, made at that generation."""
        last = self.newer
        if last is None or last.length >= _KEPT:
            return History(Step(generation, touched, None, 1), last)
        return History(Step(generation, touched, last, last.length + 1), self.older)

    def since(self, generation: int) -> Touched | None:
        """What changed since that generation; None: not known any more."""
        steps: list[Touched] = []
        for part in self:
            step = part
            while step is not None and step.generation >= generation:
                steps.append(step.touched)
                if step.generation == generation:
                    return steps[0] if len(steps) == 1 else Touched.together(steps[::-1])
                step = step.before
        return None
