"""What an autoscaler decides, as the report shows it: one round that adds nodes, one plan that removes some.

Each autoscaler fills the fields that it has words for; those of the other stay empty.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from kwhatif.kube.model.meta import FrozenMeta
from kwhatif.scheduler.framework.evidence import Evidence

Autoscaler = Literal["cluster-autoscaler", "karpenter"]


class _Part(msgspec.Struct, metaclass=FrozenMeta, frozen=True, kw_only=True, rename="camel", gc=False):
    """Base of all parts of an answer."""


# --- the Cluster Autoscaler ----------------------------------------------------------------------------------------


class ScaleUpOption(_Part):
    """What the expander chooses among: that many new nodes of a group help these pods (`namespace/name`)."""

    group: str
    nodes: int
    pods: tuple[str, ...]


class GroupDelta(_Part):
    """A request to the cloud: more nodes of the group."""

    group: str
    delta: int


class GroupRefusal(_Part):
    """Why a group does not help a pod, in the autoscaler's words."""

    group: str
    reason: str


class NearestGroup(_Part):
    """The group that comes closest to taking a pod: what the filter objects to, and by how much."""

    group: str
    #: The plugin that objects; "" where the group itself is not to be scaled up.
    plugin: str = ""
    reasons: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


# --- Karpenter -----------------------------------------------------------------------------------------------------


class NewNodeClaim(_Part):
    """A NodeClaim that is made: `group` is its NodePool, `instance_types` are all that remain, by name.

    `requirements` are sorted texts, `key operator [values]`, with ` minValues=N`. `cheapest` is `type zone capacityType
    price` of the cheapest offering that is available; "" where there is none.
    """

    group: str
    instance_types: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    cheapest: str = ""
    pods: tuple[str, ...] = ()


class AddedNode(_Part):
    """A node that comes: its group or NodePool, and what it has, in milli-CPU, bytes and units.

    `price`: what it costs an hour; null where that is not known.
    """

    node: str
    group: str
    instance_type: str = ""
    zone: str = ""
    capacity_type: str = ""
    price: float | None = None
    allocatable: dict[str, int] = {}


class ExistingNode(_Part):
    """A node, standing or on its way, that gets these pods."""

    node: str
    pods: tuple[str, ...]


class IgnoredPod(_Part):
    """A pod that is not looked at in this round; `reason` is "" where none is given."""

    pod: str
    reason: str = ""


class DisruptionCommand(_Part):
    """Nodes that go together, and what comes in their place.

    `saved` is what that saves an hour; null where a price is not known.
    """

    reason: str
    nodes: tuple[str, ...]
    replacements: tuple[NewNodeClaim, ...] = ()
    saved: float | None = None


class KeptNode(_Part):
    """A node that stays, with the words of Karpenter's events about it."""

    node: str
    messages: tuple[str, ...]


# --- both ----------------------------------------------------------------------------------------------------------


class RefusedPod(_Part):
    """A pod for which nothing can be added: Karpenter's message, or what each group objects to."""

    pod: str
    message: str = ""
    reasons: tuple[GroupRefusal, ...] = ()
    nearest: NearestGroup | None = None


class Destination(_Part):
    """Where a pod lands, or would."""

    pod: str
    node: str


class ScalingRound(_Part):
    """What is added in one loop of the autoscaler; `placed`: where the scheduler puts pods once the nodes are there."""

    options: tuple[ScaleUpOption, ...] = ()
    scale_up: tuple[GroupDelta, ...] = ()
    new_nodes: tuple[NewNodeClaim, ...] = ()
    existing: tuple[ExistingNode, ...] = ()
    refused: tuple[RefusedPod, ...] = ()
    ignored: tuple[IgnoredPod, ...] = ()
    placed: tuple[Destination, ...] = ()
    #: The nodes that come.
    added: tuple[AddedNode, ...] = ()


class NearestNode(_Part):
    """The node that comes closest to taking a pod: what the filter objects to, and by how much."""

    node: str
    plugin: str
    reasons: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


class NodeVerdict(_Part):
    """Whether the Cluster Autoscaler would remove a node; else its reason, and the pod that keeps the node.

    `destinations` are those of the pods of a removable node. `unplaced` is the first pod that fits on none of the
    others, and `nearest` the one of them that lacks the least. `budgets` are those that allow no disruption of `pod`.
    `utilization` is the largest part of a resource that is requested (0.5: half of it), and `threshold` what it may be
    at most; both null where that was not looked at.
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
    #: What its removal saves an hour, where the group has a price.
    saved: float | None = None


class ScalingPlan(_Part):
    """What would be removed now: `nodes` of the Cluster Autoscaler, `commands` and `kept` of Karpenter."""

    nodes: tuple[NodeVerdict, ...] = ()
    commands: tuple[DisruptionCommand, ...] = ()
    kept: tuple[KeptNode, ...] = ()
