"""Decisions of other components than the scheduler: rows of `autoscale`, `consolidate`, `deschedule` and `resize`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal

from kwhatif.autoscaler.contract import AddedNode, Autoscaler, DisruptionCommand, KeptNode, NodeVerdict, ScalingRound
from kwhatif.autoscaler.vertical_updater import Act, Why
from kwhatif.descheduler.attempt import NodeClassRow, RefusedBy, SparedRow, StrategyRow, WantedRow
from kwhatif.kube.model.meta import Row
from kwhatif.report.story import Story

# --- autoscalers of nodes --------------------------------------------------------------------------------------------


class AutoscaleRow(Row):
    """What the autoscaler adds for the pending pods, round after round."""

    autoscaler: Autoscaler
    #: The moment for which ages are computed.
    at: str
    rounds: tuple[ScalingRound, ...] = ()

    @property
    def added(self) -> tuple[AddedNode, ...]:
        """The added nodes of all rounds."""
        return tuple(each for found in self.rounds for each in found.added)

    @property
    def cost(self) -> float | None:
        """The price of the added nodes per hour, in the currency of the prices; None if a price is not known."""
        prices = [each.price for each in self.added]
        return None if None in prices or not prices else round(sum(filter(None, prices)), 6)


class LandedRow(Row):
    """How many pods the scheduler places on a node."""

    node: str
    pods: int


class MovedGroupRow(Row):
    """A group of pods on removed nodes: how many of its pods had a node before, and have one afterwards."""

    group: str
    min_count: int
    before: int
    after: int

    @property
    def is_whole(self) -> bool:
        """Whether the group has as many pods as it needs."""
        return self.after >= self.min_count


class DrainedRow(Row):
    """The result of draining nodes that the autoscaler would remove, in a simulation, after the drains before it.

    `pending` are the pods that find no other node, without those that the autoscaler counts as `expendable`; `stays`
    are those that a budget keeps on the node.
    """

    nodes: tuple[str, ...]
    #: The nodes that replace them.
    added: tuple[AddedNode, ...] = ()
    landed: tuple[LandedRow, ...] = ()
    pending: tuple[str, ...] = ()
    expendable: tuple[str, ...] = ()
    stays: tuple[str, ...] = ()
    #: How many pods the scheduler evicts for those that move.
    preempted: int = 0
    groups: tuple[MovedGroupRow, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether all pods get another node, and all groups have as many pods as they need."""
        return not (self.pending or self.stays) and all(each.is_whole for each in self.groups)


class ConsolidateRow(Row):
    """Which nodes the autoscaler would remove now: `nodes` for the Cluster Autoscaler, other fields for Karpenter."""

    autoscaler: Autoscaler
    at: str
    #: The node in question; null: all nodes.
    explained: str | None = None
    nodes: tuple[NodeVerdict, ...] = ()
    commands: tuple[DisruptionCommand, ...] = ()
    kept: tuple[KeptNode, ...] = ()
    #: One for each node, or command, that is removed, in order.
    drains: tuple[DrainedRow, ...] = ()
    #: The total savings per hour, in the currency of the prices; null if a price is not known.
    saved: float | None = None

    @property
    def added(self) -> tuple[AddedNode, ...]:
        """The nodes that replace removed nodes."""
        return tuple(each for drain in self.drains for each in drain.added)


# --- the descheduler -------------------------------------------------------------------------------------------------


Landing = Literal["SameNode", "Elsewhere", "Preempts", "Pending", "None"]


Course = Literal["Settles", "Endless", "Open"]

#: Why a pod is not replaced, why its replacement stays pending, or what happens to it on its node.
ReplacementCause = Literal[
    "static",
    "bare",
    "controller-not-modelled",
    "counted-out",
    "gone-anyway",
    "refused",
    "owner-gone",
    "owner-not-read",
    "enough",
    "no-other",
    "unschedulable",
    "gated",
    "scheduler-not-modelled",
    "not-tried",
    "preempted",
]


class ReplacementRow(Row):
    """The replacement of an evicted pod, and where it lands.

    `landing` None: it is not replaced, which `message` explains. If it lands on the same node, the eviction was
    useless. `pod` is the name that the simulation gives it, unless the controller keeps names. `message`: why it stays
    pending, or what happens to it on its node. `cause` is the same as data, and `about` its subject: the kind of its
    controller, a scheduler, the pod that evicts it, or a message; `wanted` is how many pods its controller wants, where
    that is the cause.
    """

    landing: Landing
    pod: str | None = None
    node: str | None = None
    #: All equally good nodes, `node` included.
    ties: tuple[str, ...] = ()
    message: str = ""
    victims: tuple[str, ...] = ()
    #: None if there is nothing to explain, and in a report of an earlier kwhatif.
    cause: ReplacementCause | None = None
    about: str = ""
    wanted: int = 0


class EvictedRow(WantedRow):
    """A pod that the policy evicts; `order` is its place among all attempts."""

    #: The pod's owner; of a ReplicaSet that a Deployment has made, the Deployment.
    workload: str | None = None
    replacement: ReplacementRow | None = None


class EvictionRefusedRow(WantedRow):
    """A pod that a plugin wants to evict, and what prevents it; `budgets` are those that do."""

    by: RefusedBy
    message: str = ""
    workload: str | None = None
    budgets: tuple[str, ...] = ()


class NodeUseRow(Row):
    """How much of a node is requested, in percent, before the evictions and after all replacements have landed."""

    node: str
    before: dict[str, float]
    after: dict[str, float]


class RoundRow(Row):
    """One descheduling cycle; the next one begins after the replacements have landed."""

    round: int
    evicted: int
    refused: int
    same_node: int
    elsewhere: int
    preempting: int
    pending: int
    not_replaced: int


class DescheduleRow(Row):
    """What a descheduler with this policy does in one cycle, and the results.

    `course`: whether later cycles end; `Open` if that was not known after the last round.
    """

    #: A file, or `strategy NAME`.
    policy: str
    #: The moment for which ages are computed.
    at: str
    #: Why the descheduler does nothing at all.
    skipped: str | None = None
    evicted: tuple[EvictedRow, ...] = ()
    refused: tuple[EvictionRefusedRow, ...] = ()
    spared: tuple[SparedRow, ...] = ()
    plugins: tuple[StrategyRow, ...] = ()
    node_classes: tuple[NodeClassRow, ...] = ()
    nodes: tuple[NodeUseRow, ...] = ()
    #: Other pods that stay pending because the replacements evicted them.
    displaced: tuple[str, ...] = ()
    rounds: tuple[RoundRow, ...] = ()
    course: Course = "Settles"
    #: What happens in the first cycle; null if nothing is evicted.
    story: Story | None = None

    @property
    def landings(self) -> Mapping[Landing, int]:
        """How many replacements have each kind of landing."""
        return Counter(row.replacement.landing for row in self.evicted if row.replacement is not None)


# --- kubelets, and autoscalers of pods -------------------------------------------------------------------------------


#: `Refused`: by the API server; `Deferred`: its kubelet waits for room; `Infeasible`: its node never has the room.
ResizeDecision = Literal["Fits", "Deferred", "Infeasible", "Refused"]


class UpdaterRow(Row, kw_only=True):
    """What the updater of a VerticalPodAutoscaler does about the pod, and why.

    `waits`: until something changes; `leaves`: it has nothing to do about it. `replicas` are the pods of its group, and
    `needed` how many there must be. `after` are the seconds until it evicts. `refused`: the answer of the Eviction API.
    """

    vpa: str
    mode: str
    acts: Act
    why: Why = ""
    replicas: int = 0
    needed: int = 0
    after: float = 0.0
    refused: str = ""


class ResizeRow(Row, kw_only=True):
    """The decision, and what it costs."""

    pod: str
    node: str
    decision: ResizeDecision
    #: `cpu 1500m to 7`; "" if only limits change, or it is refused.
    change: str = ""
    #: The message of the API server or the kubelet that refuses it.
    message: str = ""
    #: For `Fits`: the containers that the resize restarts, by their `resizePolicy`.
    restarts: tuple[str, ...] = ()
    #: For `Deferred`: pods of the node with no higher priority; the resize fits if all of them are gone, and not with
    #: any of them.
    in_the_way: tuple[str, ...] = ()
    #: For the question what a VerticalPodAutoscaler does.
    updater: UpdaterRow | None = None

    @property
    def is_resized(self) -> bool:
        """Whether the pod gets the requested resources, on its present node."""
        return self.decision == "Fits" and (self.updater is None or self.updater.acts == "resizes")
