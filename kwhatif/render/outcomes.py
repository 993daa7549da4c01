"""Outcomes: their words, their quality, and their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from kwhatif.render.workloads import decisions_by_workload
from kwhatif.report import Report
from kwhatif.report.decision import Decision, Outcome, PolicyVerdict, WorkloadRow

#: A workload with the decisions about its pods; a pod without a workload, or that was applied itself, has no row.
Part = tuple[WorkloadRow | None, list[Decision]]

_VERBS: dict[Outcome, tuple[str, str]] = {
    "Placed": ("fits", "fit"),
    "Preempts": ("would evict", "would evict"),
    "Unschedulable": ("stays pending", "stay pending"),
    "Gated": ("is gated", "are gated"),
    "Denied": ("is refused", "are refused"),
    "Ignored": ("is ignored", "are ignored"),
    "Waits": ("waits", "wait"),
}

#: How good an answer about several pods is.
Quality = Literal["good", "doubtful", "bad"]

#: How good the verdict of a gate is, and its verb.
GATE: dict[PolicyVerdict, tuple[Quality, str]] = {
    "pass": ("good", "passes"),
    "warn": ("doubtful", "passes with warnings"),
    "fail": ("bad", "fails"),
}

#: The least severity.
_PLACED = 4


def verb(outcome: Outcome, count: int) -> str:
    """`fits`, `stay pending`."""
    one, many = _VERBS[outcome]
    return one if count == 1 else many


def doubted(quality: Quality, doubt: str) -> Quality:
    """The quality; a good outcome is doubtful if it depends on unknown facts."""
    return "doubtful" if quality == "good" and doubt else quality


def sign_of(row: WorkloadRow) -> Outcome:
    """The outcome that represents the workload."""
    if row.unschedulable or row.denied or (row.rollout is not None and not row.rollout.completed):
        return "Unschedulable"
    return "Preempts" if row.placed < row.replicas else "Placed"


def severity(decision: Decision) -> int:
    """The lowest is the worst: unschedulable, preempting with violations, preempting, not tried, placed."""
    match decision.outcome:
        case "Unschedulable" | "Denied":
            return 0
        case "Preempts":
            return 1 if any(victim.violates for victim in decision.victims) else 2
        case "Placed":
            return _PLACED
        case _:
            return 3


def workload_severity(row: WorkloadRow) -> int:
    """The severity of the worst of its pods."""
    if row.unschedulable or row.denied:
        return 0
    if row.preempting:
        return 1 if row.violations else 2
    return 3 if row.placed < row.replicas else _PLACED


def parts_of(report: Report) -> list[Part]:
    """Workload by workload, then pods without a workload: the worst first, but pending pods in queue order."""
    by_workload, others = decisions_by_workload(report)
    parts: list[Part] = []
    for row, decisions in by_workload:
        is_itself = len(decisions) == 1 and row.name.endswith(f" {decisions[0].pod}")
        parts.append((None if is_itself else row, decisions))
    parts.extend((None, [decision]) for decision in others)
    if report.command != "preempt":
        parts.sort(key=lambda part: min(map(severity, part[1]), default=_PLACED))
    return parts


def workload_groups(rows: Sequence[WorkloadRow], many: int) -> list[list[WorkloadRow]]:
    """The workloads, the worst first; if more than `many`, those with equal results are together."""
    groups: dict[object, list[WorkloadRow]] = {}
    for row in sorted(rows, key=workload_severity):
        result: object = row.source
        if len(rows) > many:
            result = row.message if row.placed < row.replicas or not row.replicas else True
        groups.setdefault(result, []).append(row)
    return list(groups.values())
