"""Rows that several parts of the report share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from kwhatif.admission.plugins import DEFAULT_POLICY
from kwhatif.kube.matching.requests import Resources
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod
from kwhatif.report.decision import (
    CandidateRow,
    Decision,
    FeasibleRow,
    ObjectionRow,
    Outcome,
    PreEnqueueRow,
    QueuedRow,
    RejectedRow,
    RolloutRow,
    UpdateKind,
    WorkloadRow,
)
from kwhatif.report.inputs import SourceRow
from kwhatif.scheduler.batch import ScheduleResult
from kwhatif.scheduler.framework.profile import Profile, scheduler_of
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kwhatif.workloads.counts import allowed_pods


@lru_cache(4096)
def requests_of(resources: Resources) -> dict[str, int]:
    """A pod's requests by resource, without zero requests; one dictionary for all pods that ask for the same."""
    return {name: resources.of(name) for name in resources.asked}


def owner_of(pod: Pod) -> str | None:
    """`Kind namespace/name` of the controller, if the pod has one."""
    owner = controller_of(pod.metadata)
    return f"{owner.kind} {pod.metadata.namespace}/{owner.name}" if owner else None


def decision_about(pod: Pod, outcome: Outcome, **fields: Any) -> Decision:
    """The decision about a pod, with what it says of itself; `fields` are the rest of it."""
    spec = pod.spec
    about = {
        "pod": key_of(pod),
        "owner": owner_of(pod),
        "priority": spec.priority or 0,
        "priority_class_name": spec.priority_class_name,
        "preemption_policy": spec.preemption_policy or DEFAULT_POLICY,
        "scheduler_name": scheduler_of(pod),
    }
    return Decision(outcome=outcome, **about | fields)


def decision_about_result(result: ScheduleResult, **fields: Any) -> Decision:
    """The decision about a pod that was tried; `fields` are what is known besides the result."""
    gated = result.gated
    return decision_about(
        result.pod.pod,
        result.outcome,
        requests=requests_of(result.pod.resources.requested),
        node=result.node,
        ties=result.ties,
        message=result.message,
        pre_enqueue=PreEnqueueRow(plugin=gated.plugin, message=gated.status.message) if gated else None,
        **fields,
    )


def feasible_row(node: str, score: int, scores: Mapping[str, int]) -> FeasibleRow:
    """A node that fits, with its scores by plugin, and their sum."""
    return FeasibleRow(node=node, score=score, scores=dict(scores))


def with_chosen(decision: Decision, change: Callable[[CandidateRow], CandidateRow]) -> Decision:
    """The decision with another row in the place of the candidate that the scheduler takes, if it takes one."""
    preemption = decision.preemption
    chosen = preemption.chosen if preemption is not None else None
    if preemption is None or chosen is None:
        return decision
    changed = change(chosen)
    candidates = tuple(changed if each is chosen else each for each in preemption.candidates)
    return replace(decision, preemption=replace(preemption, candidates=candidates))


def queued_row(decision: Decision) -> QueuedRow:
    """The row about a pod that was tried before those that are asked about."""
    return QueuedRow(
        pod=decision.pod,
        priority=decision.priority,
        outcome=decision.outcome,
        node=decision.node,
        victims=tuple(victim.pod for victim in decision.victims),
    )


def owner_and_workload(pod: Pod) -> tuple[str | None, str | None]:
    """The pod's controller, and the Deployment behind it if there is one, else the controller again.

    The Deployment's controller names its ReplicaSets `<deployment>-<pod-template-hash>`, and labels the pods with that
    hash (`pkg/controller/deployment/sync.go`).
    """
    owner = owner_of(pod)
    suffix = f"-{pod.metadata.labels.get('pod-template-hash')}"
    if owner is not None and owner.startswith("ReplicaSet ") and owner.endswith(suffix):
        return owner, f"Deployment {owner.removeprefix('ReplicaSet ').removesuffix(suffix)}"
    return owner, owner


def rejected_rows(
    objections: Mapping[str, tuple[Verdict, ...]], shown: Mapping[str, int] | None = None
) -> tuple[RejectedRow, ...]:
    """Rows by node name, of the objections to each node.

    Args:
        objections: the scheduler's verdict, and then the others.
        shown: the nodes to make rows of, and how many nodes each stands for besides itself.
    """
    made: dict[int, ObjectionRow] = {}
    counts = dict.fromkeys(objections, 0) if shown is None else shown
    rows = []
    for name in sorted(counts):
        found = objections[name]
        first = found[0]
        status = first.status
        rows.append(
            RejectedRow(
                node=name,
                code=status.code.value,
                plugin=first.plugin,
                reasons=status.reasons,
                evidence=status.evidence,
                objections=tuple([_objection_row(verdict, made) for verdict in found]),
                alike=counts[name],
            )
        )
    return tuple(rows)


def _objection_row(verdict: Verdict, made: dict[int, ObjectionRow]) -> ObjectionRow:
    """Nodes of one class share a status, and so its row; a status belongs to one plugin."""
    status = verdict.status
    row = made.get(id(status))
    if row is None:
        row = made[id(status)] = ObjectionRow(
            plugin=verdict.plugin, code=status.code.value, reasons=status.reasons, evidence=status.evidence
        )
    return row


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
