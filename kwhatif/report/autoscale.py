"""Nodes that an autoscaler adds or removes: what the commands `autoscale` and `consolidate` add to a report."""

from __future__ import annotations

from kwhatif.autoscaler.answer import AddedNode, Autoscaler, DisruptionCommand, KeptNode, NodeVerdict, ScalingRound
from kwhatif.kube.model.meta import Row


class AutoscaleRow(Row):
    """What the autoscaler adds for the pending pods, round after round."""

    autoscaler: Autoscaler
    #: The moment that ages count to.
    at: str
    rounds: tuple[ScalingRound, ...] = ()

    @property
    def added(self) -> tuple[AddedNode, ...]:
        """The nodes of all rounds."""
        return tuple(each for found in self.rounds for each in found.added)

    @property
    def cost(self) -> float | None:
        """What they cost an hour, in the currency of the prices; None where a price is not known."""
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
        """Whether it has as many pods as it needs."""
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
        """Whether all pods get another node, and groups have all that they need."""
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
        """The nodes that replace others."""
        return tuple(each for drain in self.drains for each in drain.added)
