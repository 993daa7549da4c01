"""`NodeAutoscaler`: the interface of both autoscalers, the nodes that they request, and their decisions.

A decision has the form of the report: one round that adds nodes, one plan that removes nodes. Each autoscaler fills the
fields that it knows; those of the other autoscaler stay empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, Protocol, Self

import msgspec
from msgspec.structs import replace

from kwhatif.controllers.taint_eviction import NOT_READY, ready_status
from kwhatif.kube.matching.nodes import NO_SCHEDULE
from kwhatif.kube.matching.requests import resource_nanos, units
from kwhatif.kube.model.bystanders import NodeClaim
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.meta import FrozenMeta
from kwhatif.kube.model.node import ZONE, Node, NodeCondition, Taint
from kwhatif.scheduler.framework.evidence import Evidence
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.state.state import State

_INSTANCE_TYPE, _CAPACITY_TYPE = "node.kubernetes.io/instance-type", "karpenter.sh/capacity-type"
_NOT_READY = Taint(key=NOT_READY, effect=NO_SCHEDULE)


class NewNode(msgspec.Struct, frozen=True, kw_only=True):
    """A machine that was requested."""

    #: The node after it has started.
    node: Node
    #: The node group, or NodePool.
    group: str
    #: Further taints, until it has started.
    startup_taints: tuple[Taint, ...] = ()
    #: The object that represents the machine from its request on.
    claim: NodeClaim | None = None
    #: Objects that are added with the node: its CSINode, mirror pods.
    besides: tuple[KubernetesObject, ...] = ()
    #: The price per hour; None: not known.
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
        """The node after its kubelet has registered it, and before it is ready."""
        node, taints = self.node, (*self.node.spec.taints, *self.startup_taints, _NOT_READY)
        return replace(
            node,
            spec=replace(node.spec, taints=tuple(dict.fromkeys(taints))),
            status=replace(node.status, conditions=_with_ready(node.status.conditions, "False")),
        )

    def started(self, node: Node) -> Node:
        """The registered node after it has started."""
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
    """The decision of one loop of an autoscaler."""

    round: ScalingRound
    nodes: tuple[NewNode, ...]
    #: The autoscaler, with the nodes that it has now requested.
    then: NodeAutoscaler
    caveats: tuple[Caveat, ...] = ()


class NodeAutoscaler(Protocol):
    """An autoscaler with its settings, and the nodes that it has requested; immutable."""

    @property
    def name(self) -> Autoscaler:
        """Which autoscaler it is."""

    @property
    def kind(self) -> str:
        """Its name in the events of a story."""

    @property
    def delay(self) -> float:
        """The seconds after which it processes pending pods."""

    def decide(self, state: State, profiles: Mapping[str, Profile], at: str) -> Decided:
        """Decide which nodes to add for the pods that are marked unschedulable.

        Args:
            state: the cluster, which stays as it is.
            profiles: the scheduler's profiles.
            at: the moment, RFC 3339.
        """

    def with_nodes(self, nodes: Sequence[NewNode]) -> Self:
        """The autoscaler, after these nodes exist."""

    def is_bounded(self, group: str, state: State) -> bool:
        """Whether the number of nodes of the node group or NodePool is limited."""


def free_names(prefix: str, state: State, taken: frozenset[str] = frozenset()) -> Iterator[str]:
    """Names for new nodes, `prefix-new-1` and so on, without those in use."""
    number = 0
    while True:
        number += 1
        name = f"{prefix}-new-{number}"
        if name not in taken and state.node(name) is None and state.cluster.get(NodeClaim, name) is None:
            yield name


# --- decisions ---------------------------------------------------------------------------------------

Autoscaler = Literal["cluster-autoscaler", "karpenter"]


class _Part(msgspec.Struct, metaclass=FrozenMeta, frozen=True, kw_only=True, rename="camel", gc=False):
    """Base of all parts of an answer."""


# --- the Cluster Autoscaler ----------------------------------------------------------------------------------------


class ScaleUpOption(_Part):
    """An option of the expander: a number of new nodes of a group, and the pods (`namespace/name`) that fit on them."""

    group: str
    nodes: int
    pods: tuple[str, ...]


class GroupDelta(_Part):
    """A request to the cloud: more nodes of the group."""

    group: str
    delta: int


class GroupRefusal(_Part):
    """Why a group is not scaled up for a pod, in the autoscaler's words."""

    group: str
    reason: str


class NearestGroup(_Part):
    """The group that comes closest to accepting a pod, and the filter's objection with its evidence."""

    group: str
    #: The plugin that objects; "" if the group itself must not be scaled up.
    plugin: str = ""
    reasons: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


# --- Karpenter -----------------------------------------------------------------------------------------------------


class NewNodeClaim(_Part):
    """A new NodeClaim: `group` is its NodePool, `instance_types` are all remaining types, by name.

    `requirements` are sorted texts, `key operator [values]`, with ` minValues=N`. `cheapest` is `type zone capacityType
    price` of the cheapest available offering; "" if there is none.
    """

    group: str
    instance_types: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    cheapest: str = ""
    pods: tuple[str, ...] = ()


class AddedNode(_Part):
    """A node that is added: its group or NodePool, and its resources, in milli-CPU, bytes and units.

    `price`: the price per hour; null if it is not known.
    """

    node: str
    group: str
    instance_type: str = ""
    zone: str = ""
    capacity_type: str = ""
    price: float | None = None
    allocatable: dict[str, int] = {}


class ExistingNode(_Part):
    """An existing or starting node that gets these pods."""

    node: str
    pods: tuple[str, ...]


class IgnoredPod(_Part):
    """A pod that this round ignores; `reason` is "" if none is given."""

    pod: str
    reason: str = ""


class DisruptionCommand(_Part):
    """Nodes that are removed together, and their replacements.

    `saved` is the savings per hour; null if a price is not known.
    """

    reason: str
    nodes: tuple[str, ...]
    replacements: tuple[NewNodeClaim, ...] = ()
    saved: float | None = None


class KeptNode(_Part):
    """A node that is not removed, with Karpenter's events about it."""

    node: str
    messages: tuple[str, ...]


# --- both ----------------------------------------------------------------------------------------------------------


class RefusedPod(_Part):
    """A pod for which no node can be added: Karpenter's message, or the objection of each group."""

    pod: str
    message: str = ""
    reasons: tuple[GroupRefusal, ...] = ()
    nearest: NearestGroup | None = None


class Destination(_Part):
    """The node of a pod."""

    pod: str
    node: str


class ScalingRound(_Part):
    """The additions of one loop of the autoscaler; `placed`: the pods that the scheduler then places."""

    options: tuple[ScaleUpOption, ...] = ()
    scale_up: tuple[GroupDelta, ...] = ()
    new_nodes: tuple[NewNodeClaim, ...] = ()
    existing: tuple[ExistingNode, ...] = ()
    refused: tuple[RefusedPod, ...] = ()
    ignored: tuple[IgnoredPod, ...] = ()
    placed: tuple[Destination, ...] = ()
    #: The new nodes.
    added: tuple[AddedNode, ...] = ()


class NearestNode(_Part):
    """The node that comes closest to accepting a pod, and the filter's objection with its evidence."""

    node: str
    plugin: str
    reasons: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


class NodeVerdict(_Part):
    """Whether the Cluster Autoscaler would remove a node; otherwise its reason, and the pod that prevents the removal.

    `destinations` are the new nodes of the pods of a removable node. `unplaced` is the first pod that fits on no other
    node, and `nearest` the node that lacks the least for it. `budgets` are the budgets that allow no disruption of
    `pod`. `utilization` is the largest requested share of a resource (0.5: half of it), and `threshold` its maximum;
    both are null if they were not checked.
    """

    node: str
    removable: bool
    reason: str | None = None
    pod: str | None = None
    group: str | None = None
    destinations: tuple[Destination, ...] = ()
    unplaced: str | None = None
    nearest: NearestNode | None = None
    budgets: tuple[str, ...] = ()
    utilization: float | None = None
    threshold: float | None = None
    resource: str | None = None
    #: The savings per hour of its removal, if the group has a price.
    saved: float | None = None


class ScalingPlan(_Part):
    """The removals of one loop: `nodes` of the Cluster Autoscaler, `commands` and `kept` of Karpenter."""

    nodes: tuple[NodeVerdict, ...] = ()
    commands: tuple[DisruptionCommand, ...] = ()
    kept: tuple[KeptNode, ...] = ()
