"""Where a pod may go, and what nodes object."""

from __future__ import annotations

from typing import Literal

from kwhatif.kube.model.meta import Row
from kwhatif.scheduler.framework.evidence import Evidence

NameKind = Literal[
    "label",
    "toleration",
    "resource",
    "persistentVolumeClaim",
    "storageClass",
    "resourceClaim",
    "namespace",
    "priorityClass",
    "runtimeClass",
]


class FeasibleRow(Row):
    """A node that the pod fits on; scores are normalised and weighted, `score` is their sum with extenders."""

    node: str
    score: int
    scores: dict[str, int]


class ObjectionRow(Row):
    """One plugin's objection to a node."""

    plugin: str
    code: str
    reasons: tuple[str, ...]
    evidence: tuple[Evidence, ...] = ()


class RejectedRow(Row):
    """A node that the pod does not fit on, the plugin that said so first, its reasons and evidence.

    kube-scheduler stops at the first objection. `objections` are all of them, that one first; they are empty in
    `preemption.rejected`, where nodes without their evictable pods are meant. `alike` is how many other nodes are left
    out of the report because the same plugins give the same reasons for them.
    """

    node: str
    code: str
    plugin: str
    reasons: tuple[str, ...]
    evidence: tuple[Evidence, ...] = ()
    objections: tuple[ObjectionRow, ...] = ()
    alike: int = 0


class ObstacleRow(Row):
    """One thing that keeps nodes away; the evidence is that of `node`, the one which comes closest.

    `evictable`: evicting pods of lower priority would free enough, were it not for the other obstacles. `differs`: the
    pods that are counted are elsewhere for other nodes, as in other zones.
    """

    plugin: str
    code: str
    reason: str
    node: str
    evidence: Evidence | None = None
    evictable: bool = False
    differs: bool = False


class MissRow(Row):
    """The number of nodes that fail for the same obstacles; `examples` are the first of them by name."""

    nodes: int
    obstacles: tuple[ObstacleRow, ...]
    examples: tuple[str, ...] = ()


class NearNameRow(Row):
    """A name that does exist, and on how many nodes; null for what is not on nodes."""

    name: str
    nodes: int | None = None


class UnknownNameRow(Row):
    """A name in the pod that exists nowhere in the cluster, and those that it is spelled much like, nearest first.

    A `label` is written `key`, `key=value` or `key in (a,b)`; if some node has the key, `near` are values, else keys.
    A `toleration` is written as the taint that it would tolerate, and `near` are taints.
    """

    kind: NameKind
    name: str
    near: tuple[NearNameRow, ...] = ()


class TooLargeRow(Row):
    """The pod asks for more than any node has in all; amounts as in `InsufficientResource`."""

    resource: str
    requested: int
    largest: int


class NearRow(Row):
    """What would have to change for the pod to fit: null in a decision unless the outcome is Unschedulable.

    Also of a pod that is Denied, if it names what does not exist.

    `misses` are the first few groups: those with the fewest obstacles, evictable ones aside, come first.
    """

    misses: tuple[MissRow, ...] = ()
    unknown: tuple[UnknownNameRow, ...] = ()
    too_large: tuple[TooLargeRow, ...] = ()
