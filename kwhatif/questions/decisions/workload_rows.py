"""Summaries: the outcomes of one workload's pods in a row; `words` makes the sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kwhatif.kube.model.cluster import Cluster
from kwhatif.report.decision import Decision, Outcome, RolloutRow, UpdateKind, WorkloadRow
from kwhatif.report.inputs import SourceRow
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kwhatif.workloads.counts import allowed_pods


def workload_row(
    source: SourceRow,
    update: UpdateKind,
    removed: int,
    decisions: Sequence[Decision],
    rollout: RolloutRow | None = None,
    left_out: int = 0,
    room: int | None = None,
) -> WorkloadRow:
    """The row about a workload, from the decisions about its pods in their controller's order.

    Args:
        source: where it stands.
        update: how it changes.
        removed: how many of its pods go.
        decisions: about its pods.
        rollout: how far it gets.
        left_out: how many more pods it asks for, which were not judged one by one.
        room: how many pods all nodes can take; None: any number.
    """
    counts = Counter(decision.outcome for decision in decisions)
    counts.update(_left_out(decisions, left_out, room))
    victims = [victim for decision in decisions for victim in decision.victims]
    return WorkloadRow(
        name=source.object,
        source=source,
        update=update,
        removed=removed,
        replicas=len(decisions) + left_out,
        placed=counts["Placed"],
        preempting=counts["Preempts"],
        unschedulable=counts["Unschedulable"],
        gated=counts["Gated"],
        denied=counts["Denied"],
        ignored=counts["Ignored"],
        waiting=counts["Waits"],
        nodes=dict(sorted(Counter(decision.node for decision in decisions if decision.node).items())),
        victims=tuple(victim.pod for victim in victims),
        violations=tuple(dict.fromkeys(budget for victim in victims for budget in victim.violates)),
        rollout=rollout,
    )


def room_for_pods(profiles: Mapping[str, Profile], cluster: Cluster) -> int | None:
    """How many pods all nodes can take; None where a profile puts any number on a node."""
    counts = (any(isinstance(plugin, NodeResourcesFit) for plugin in each.filter) for each in profiles.values())
    return allowed_pods(cluster) if all(counts) else None


def _left_out(decisions: Sequence[Decision], left_out: int, room: int | None) -> Mapping[Outcome, int]:
    """The outcomes of pods that were not judged: the same as that of the last one that was.

    If that one has a node, the pods that nodes have no room for are pending, and the others are not judged.
    """
    last = decisions[-1].outcome if decisions else "Ignored"
    if not left_out or last not in ("Placed", "Preempts"):
        return {last: left_out}
    on_nodes = sum(decision.outcome in ("Placed", "Preempts") for decision in decisions)
    open_ = left_out if room is None else min(left_out, max(0, room - on_nodes))
    return {"Unschedulable": left_out - open_, "Ignored": open_}
