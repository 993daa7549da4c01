"""`NodeAutoscaler`: the interface of both autoscalers, and the nodes that they ask for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, Self

import msgspec
from msgspec.structs import replace

from kwhatif.autoscaler.answer import AddedNode, Autoscaler, ScalingRound
from kwhatif.controllers.taint_eviction import NOT_READY, ready_status
from kwhatif.kube.matching.nodes import NO_SCHEDULE
from kwhatif.kube.matching.requests import resource_nanos, units
from kwhatif.kube.model.bystanders import NodeClaim
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.node import ZONE, Node, NodeCondition, Taint
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.state.state import State

_INSTANCE_TYPE, _CAPACITY_TYPE = "node.kubernetes.io/instance-type", "karpenter.sh/capacity-type"
_NOT_READY = Taint(key=NOT_READY, effect=NO_SCHEDULE)


class NewNode(msgspec.Struct, frozen=True, kw_only=True):
    """A machine that was asked for."""

    #: As it is once it has started.
    node: Node
    #: The node group, or NodePool.
    group: str
    #: Taints that it has besides, until it has started.
    startup_taints: tuple[Taint, ...] = ()
    #: What stands for the machine from the moment at which it is asked for.
    claim: NodeClaim | None = None
    #: What comes with the node: its drivers, mirrors of static pods.
    besides: tuple[KubernetesObject, ...] = ()
    #: What it costs an hour; None: that is not known.
    price: float | None = None

    @property
    def row(self) -> AddedNode:
        """The node as the report shows it."""
        labels = self.node.metadata.labels
        has = resource_nanos(self.node.status.allocatable_or_capacity)
        return AddedNode(
            node=self.name,
            group=self.group,
            instance_type=labels.get(_INSTANCE_TYPE, ""),
            zone=labels.get(ZONE, ""),
            capacity_type=labels.get(_CAPACITY_TYPE, ""),
            price=self.price,
            allocatable={name: units(name, nanos) for name, nanos in has.items()},
        )

    @property
    def name(self) -> str:
        """The name of the node."""
        return self.node.metadata.name

    @property
    def registered(self) -> Node:
        """The node when its kubelet has registered it, and is not ready yet."""
        node, taints = self.node, (*self.node.spec.taints, *self.startup_taints, _NOT_READY)
        return replace(
            node,
            spec=replace(node.spec, taints=tuple(dict.fromkeys(taints))),
            status=replace(node.status, conditions=_with_ready(node.status.conditions, "False")),
        )

    def started(self, node: Node) -> Node:
        """The node, which is registered, once it has started."""
        passing = {(taint.key, taint.effect) for taint in (*self.startup_taints, _NOT_READY)}
        passing -= {(taint.key, taint.effect) for taint in self.node.spec.taints}
        taints = tuple(taint for taint in node.spec.taints if (taint.key, taint.effect) not in passing)
        ready = "True" if ready_status(self.node) == "True" else "False"
        conditions = _with_ready(node.status.conditions, ready)
        return replace(node, spec=replace(node.spec, taints=taints), status=replace(node.status, conditions=conditions))


def _with_ready(conditions: Sequence[NodeCondition], status: str) -> tuple[NodeCondition, ...]:
    others = tuple(each for each in conditions if each.type != "Ready")
    known = next((each for each in conditions if each.type == "Ready"), NodeCondition(type="Ready"))
    return (replace(known, status=status), *others)


class Decided(msgspec.Struct, frozen=True):
    """What an autoscaler decides in one look at the cluster."""

    round: ScalingRound
    nodes: tuple[NewNode, ...]
    #: The autoscaler, which knows now what it has asked for.
    then: NodeAutoscaler
    caveats: tuple[Caveat, ...] = ()


class NodeAutoscaler(Protocol):
    """An autoscaler with its settings, and what it has asked for; it does not change."""

    @property
    def name(self) -> Autoscaler:
        """Which one it is."""

    @property
    def kind(self) -> str:
        """How it is called in the events of a story."""

    @property
    def delay(self) -> float:
        """After how many seconds it looks at pods that wait."""

    def decide(self, state: State, profiles: Mapping[str, Profile], at: str) -> Decided:
        """What it does for the pods that are marked unschedulable.

        Args:
            state: the cluster, which stays as it is.
            profiles: the scheduler's.
            at: the moment, RFC 3339.
        """

    def with_nodes(self, nodes: Sequence[NewNode]) -> Self:
        """The autoscaler, once these nodes are there."""

    def is_bounded(self, group: str, state: State) -> bool:
        """Whether anything limits how many nodes of the node group, or NodePool, there may be."""


def free_names(prefix: str, state: State, taken: frozenset[str] = frozenset()) -> Iterator[str]:
    """Names for new nodes, `prefix-new-1` and so on, without those in use."""
    number = 0
    while True:
        number += 1
        name = f"{prefix}-new-{number}"
        if name not in taken and state.node(name) is None and state.cluster.get(NodeClaim, name) is None:
            yield name
