"""Changes of a cluster, and the history of a state: what has changed since a cache was up to date.

Upstream's cache keeps its nodes in the order of their generations, so that a snapshot copies only what is newer than
itself (`UpdateSnapshot` in `pkg/scheduler/backend/cache/cache.go`). Here the steps themselves are kept, and forks share
the steps before the fork.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster, ClusterFacts, KubernetesObject, key_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.state.pod_info import PodInfo


class Upsert(msgspec.Struct, frozen=True):
    """Create the object, or replace the one with its kind and key.

    A pod that stays on its node keeps its place there; on any other node it is added last.
    """

    #: A Kubernetes object of `kwhatif.kube.model`.
    obj: Any


class Delete(msgspec.Struct, frozen=True):
    """Remove the object, as if it had never existed; it is not an error if it is absent."""

    kind: type
    #: `namespace/name`, or the name of an object without a namespace.
    key: str

    @classmethod
    def of(cls, obj: Any) -> Delete:
        """The deletion of this object."""
        return cls(type(obj), key_of(obj))


class Bind(msgspec.Struct, frozen=True):
    """Assign a pod to a node, as when the scheduler has assumed it: it is no longer pending or nominated."""

    #: `namespace/name` of a pending pod, or a new pod, which the state does not have yet.
    pod: str | Pod
    node: str
    #: Other objects as Reserve and PreBind leave them, such as a claim that is now bound to a volume.
    reserved: tuple[Any, ...] = ()


class Evict(msgspec.Struct, frozen=True):
    """Remove a pod from its node and from the state, as the scheduler's cache does (`RemovePod`).

    QUIRK: (types.go, NodeInfo) the last pod of the node takes its place, and its host ports become free, even if
    another pod there has the same port. The disruption controller updates the budgets with an `Upsert`.
    """

    #: `namespace/name`.
    pod: str
    #: As in the pod's condition DisruptionTarget; the state ignores it.
    reason: str = ""


class Nominate(msgspec.Struct, frozen=True):
    """Nominate a pending pod to a node, replacing an earlier nomination.

    This changes the nominator's memory (`backend/queue/nominator.go`); to change the pod's status, `Upsert` the pod.
    """

    #: `namespace/name`.
    pod: str
    #: None: drop the nomination.
    node: str | None


class Sort(msgspec.Struct, frozen=True):
    """Put all objects into the order of the API server's lists: as in a state that was just loaded.

    A watch delivers objects in any order, and the order must not change an answer.
    """

    #: Kind and key of all objects that were added since or have moved: others are in order. Some may be gone.
    objects: tuple[tuple[type, str], ...]


class SetFacts(msgspec.Struct, frozen=True):
    """Replace what is known of the cluster besides its objects; pods count by its rules from then on."""

    facts: ClusterFacts

    @classmethod
    def of(cls, cluster: Cluster, **changes: Any) -> SetFacts:
        """The facts of the cluster, with other values of these fields."""
        return cls(replace(cluster.facts, **changes))


Change = Upsert | Delete | Bind | Evict | Nominate | Sort | SetFacts


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
        #: Objects that were added, removed or changed; `ClusterFacts` with the key "" if the facts have changed.
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

    # For readers that only count pods: pods that were added and removed again are left out, as each status of a pod but
    # the last. No changes may follow.

    @property
    def net_moves(self) -> Sequence[Move]:
        """The moves, without pods that were added to a node and removed again."""
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
    """The last steps in two parts, each by its last step. A full newer part becomes the older one, which is dropped."""

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
