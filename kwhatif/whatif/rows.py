"""Rows that several parts of the report share."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

from kwhatif.framework.status import Verdict
from kwhatif.model.meta import controller_of
from kwhatif.model.pod import Pod
from kwhatif.report import Decision, QueuedRow, RejectedRow


def owner_of(pod: Pod) -> str | None:
    """`Kind namespace/name` of the controller, if the pod has one."""
    owner = controller_of(pod.metadata)
    return f"{owner.kind} {pod.metadata.namespace}/{owner.name}" if owner else None


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
