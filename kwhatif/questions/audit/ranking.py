"""The order of findings: by criteria that can be explained, not by a score.

First the level, then in turn: what happens (`ORDER`), whether it concerns system-critical pods, the highest priority of
the pods that it concerns, how soon it may happen (`SOON`), how many pods, and for how long. At last the identifier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from kwhatif.kube.model.cluster import SYSTEM_PRIORITY_CLASSES
from kwhatif.report.risks import AuditFindingRow, AuditHarm, AuditLevel, HarmRow, ProbeName

#: What happens, the worst first, and its level.
ORDER: Mapping[AuditHarm, AuditLevel] = {
    "service-lost": "high",
    "data-blocked": "high",
    "budget-broken": "high",
    "pods-pending": "high",
    "pods-refused": "high",
    "restart-hangs": "medium",
    "drain-blocked": "medium",
    "peak-out-of-reach": "medium",
    "evictable": "medium",
    "upgrade-worse": "medium",
    "budget-useless": "low",
    "no-way-back": "low",
    "no-growth": "low",
    "requests-far": "low",
}
LEVELS: Sequence[AuditLevel] = ("high", "medium", "low")
#: What shows it: first what is already true, then what happens most often.
SOON: Sequence[ProbeName] = (
    "pending",
    "outage",
    "drain",
    "restart",
    "budgets",
    "peak",
    "arrival",
    "zone",
    "return",
    "replica",
    "upgrade",
    "usage",
)
_HARMS = tuple(ORDER)
_CRITICAL = SYSTEM_PRIORITY_CLASSES["system-cluster-critical"]


def level_of(row: HarmRow) -> AuditLevel:
    """The level of one harm.

    Pods of negative priority are meant to be evicted, and harms that follow from a gap in the input are not certain:
    API servers write into pods for how long they tolerate the loss of their node. A zone is lost less often than a
    node, and an autoscaler may still help: both are medium at most, unless a service is lost.
    """
    level = ORDER[row.harm]
    if row.priority < 0 or row.cause == "toleration-unknown":
        return "low"
    if level == "high" and row.harm != "service-lost" and (row.probe == "zone" or row.autoscaled):
        return "medium"
    return level


def rank(row: HarmRow) -> tuple[float, ...]:
    """Sort key: the worst harm is the smallest."""
    return (
        LEVELS.index(level_of(row)),
        _HARMS.index(row.harm),
        -(row.priority >= _CRITICAL),
        -row.priority,
        SOON.index(row.probe),
        -row.pods,
        -(inf if row.seconds is None else row.seconds),
    )


def ranked(findings: Sequence[AuditFindingRow]) -> list[AuditFindingRow]:
    """The findings, the worst first."""
    return sorted(findings, key=lambda finding: (rank(finding.worst), finding.id))
