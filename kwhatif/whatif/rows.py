"""Rows that several parts of the report share."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from kwhatif.admission.priority import DEFAULT_POLICY
from kwhatif.framework.profile import DEFAULT_SCHEDULER
from kwhatif.framework.status import Verdict
from kwhatif.model.cluster import key_of
from kwhatif.model.meta import controller_of
from kwhatif.model.pod import Pod
from kwhatif.report import Decision, Outcome, QueuedRow, RejectedRow


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
        "scheduler_name": spec.scheduler_name or DEFAULT_SCHEDULER,
    }
    return Decision(outcome=outcome, **about | fields)


def queued_row(decision: Decision) -> QueuedRow:
    """A pod that came before those that are asked about."""
    return QueuedRow(
        pod=decision.pod,
        priority=decision.priority,
        outcome=decision.outcome,
        node=decision.node,
        victims=tuple(victim.pod for victim in decision.victims),
    )


def rejected_rows(verdicts: Mapping[str, Verdict]) -> tuple[RejectedRow, ...]:
    """Rows by node name."""
    rows = [
        RejectedRow(
            node=name,
            code=verdict.status.code.value,
            plugin=verdict.plugin,
            reasons=verdict.status.reasons,
            evidence=verdict.status.evidence,
        )
        for name, verdict in verdicts.items()
    ]
    rows.sort(key=attrgetter("node"))
    return tuple(rows)
