"""How outcomes are shown: signs, colours, words, and which come first."""

from __future__ import annotations

from kwhatif.render.text import BAD, FAINT, GOOD, WARN
from kwhatif.report import Decision, Outcome, WorkloadRow

SIGNS: dict[Outcome, tuple[str, str]] = {
    "Placed": ("✔", GOOD),
    "Preempts": ("!", WARN),
    "Unschedulable": ("✘", BAD),
    "Gated": ("⏸", WARN),
    "Denied": ("✘", BAD),
    "Ignored": ("-", FAINT),
    "Waits": ("-", FAINT),
}
_VERBS: dict[Outcome, tuple[str, str]] = {
    "Placed": ("fits", "fit"),
    "Preempts": ("would evict", "would evict"),
    "Unschedulable": ("stays pending", "stay pending"),
    "Gated": ("is gated", "are gated"),
    "Denied": ("is refused", "are refused"),
    "Ignored": ("is ignored", "are ignored"),
    "Waits": ("waits", "wait"),
}


def verb(outcome: Outcome, count: int) -> str:
    """`fits`, `stay pending`."""
    one, many = _VERBS[outcome]
    return one if count == 1 else many


def sign_of(row: WorkloadRow) -> tuple[str, str]:
    """Sign and style of what becomes of the workload."""
    if row.unschedulable or row.denied:
        return SIGNS["Unschedulable"]
    return SIGNS["Preempts"] if row.placed < row.replicas else SIGNS["Placed"]


def severity(decision: Decision) -> int:
    """The lowest is the worst: unschedulable, preempting with violations, preempting, not tried, placed."""
    match decision.outcome:
        case "Unschedulable" | "Denied":
            return 0
        case "Preempts":
            return 1 if any(victim.violates for victim in decision.victims) else 2
        case "Placed":
            return 4
        case _:
            return 3


def workload_severity(row: WorkloadRow) -> int:
    """The severity of the worst of its pods."""
    if row.unschedulable or row.denied:
        return 0
    if row.preempting:
        return 1 if row.violations else 2
    return 3 if row.placed < row.replicas else 4
