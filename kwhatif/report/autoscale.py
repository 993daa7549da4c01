"""Nodes that an autoscaler adds or removes: what the commands `autoscale` and `consolidate` add to a report."""

from __future__ import annotations

from kwhatif.autoscaler.answer import Autoscaler, DisruptionCommand, KeptNode, NodeVerdict, ScalingRound
from kwhatif.kube.model.meta import Row


class AutoscaleRow(Row):
    """What the autoscaler adds for the pending pods, round after round."""

    autoscaler: Autoscaler
    #: The moment that ages count to.
    at: str
    rounds: tuple[ScalingRound, ...] = ()


class ConsolidateRow(Row):
    """Which nodes the autoscaler would remove now: `nodes` of the Cluster Autoscaler, the rest of Karpenter."""

    autoscaler: Autoscaler
    at: str
    #: The only node that was asked about; null: all were.
    explained: str | None = None
    nodes: tuple[NodeVerdict, ...] = ()
    commands: tuple[DisruptionCommand, ...] = ()
    kept: tuple[KeptNode, ...] = ()
