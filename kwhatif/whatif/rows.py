"""Rows that several parts of the report share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter

from kwhatif.framework.status import Verdict
from kwhatif.model.meta import controller_of
from kwhatif.model.pod import Pod
from kwhatif.report import Decision, ObjectionRow, QueuedRow, RejectedRow


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
    verdicts: Mapping[str, Verdict], objections: Mapping[str, Sequence[Verdict]] | None = None
) -> tuple[RejectedRow, ...]:
    """Rows by node name; `objections` are all that were found, see `RejectedRow`."""
    made: dict[int, ObjectionRow] = {}
    rows = [
        RejectedRow(
            node=name,
            code=verdict.status.code.value,
            plugin=verdict.plugin,
            reasons=verdict.status.reasons,
            evidence=verdict.status.evidence,
            objections=tuple([_objection_row(found, made) for found in objections[name]]) if objections else (),
        )
        for name, verdict in verdicts.items()
    ]
    rows.sort(key=attrgetter("node"))
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
