"""Findings: harms of one cause are one, in an order of criteria that can be explained, not by a score.

First the level, then in turn: what happens (`ORDER`), whether it concerns system-critical pods, the highest priority of
the pods that it concerns, how soon it may happen (`SOON`), how many pods, and for how long. At last the identifier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from math import inf

import msgspec

from kwhatif.kube.model.cluster import SYSTEM_PRIORITY_CLASSES, ObjectRef
from kwhatif.policy.violations import Brought
from kwhatif.questions.audit.scenario import AuditOutcome, AuditScenario
from kwhatif.report.risks import AuditFindingRow, AuditHarm, AuditLevel, HarmRow, ProbeName, ShownByRow

# --- order -----------------------------------------------------------------------------------------------------------

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


# --- findings --------------------------------------------------------------------------------------------------------

#: The number of what-ifs and harms of a finding that are named.
_MOST_NAMES, _MOST_HARMS = 12, 20
#: What the next pods do, not the existing ones.
_GROWTH = ("peak", "replica", "arrival")

Key = tuple[str, ...]


def key_of_cause(row: HarmRow) -> Key:
    """What harms of one cause have in common; the identifier of the finding is made from it.

    Full nodes, quotas, rules of a namespace and taints concern many workloads: each is one cause. Every other cause is
    about one workload or budget.
    """
    namespace = ObjectRef.parse(row.subject).namespace
    match row.cause:
        case "room":
            family = "now" if row.probe == "pending" else "growth" if row.probe in _GROWTH else "loss"
            return row.cause, family, *row.about, row.pool
        case "quota":
            return row.cause, namespace, *row.about
        case "limits" | "pod-security" | "admission" | "bare" | "node-silent":
            return row.cause, namespace
        case "asks-too-much" | "asks-too-little":
            return row.cause, namespace, *row.about
        case "release":
            return row.cause, *row.about
        case "taint" | "labels" if row.about:
            return row.cause, *row.about
        case "one-node" | "one-zone":
            return "one-place", row.subject
        case "volume" if row.probe == "restart":  # of the old and the new pod
            return row.cause, "rollout", row.subject
        case "volume" if row.probe == "return":  # it cannot be used where the pod runs, not elsewhere
            return row.cause, "place", row.subject
    return row.cause, row.subject


def identifier(key: Key) -> str:
    """`demands-all-1f2e3d4c`: the cause, and a digest of everything that distinguishes it from others of its kind."""
    return f"{key[0]}-{sha256(chr(0).join(key).encode()).hexdigest()[:8]}"


def findings_of(harms: Iterable[HarmRow], command: Callable[[HarmRow], str]) -> list[AuditFindingRow]:
    """One finding for each cause, the worst first.

    Args:
        harms: in any order.
        command: the one that shows a harm.
    """
    groups: dict[Key, list[HarmRow]] = {}
    for row in harms:
        groups.setdefault(key_of_cause(row), []).append(row)
    return ranked([_finding(key, rows, command) for key, rows in groups.items()])


def _finding(key: Key, rows: list[HarmRow], command: Callable[[HarmRow], str]) -> AuditFindingRow:
    rows.sort(key=lambda row: (rank(row), row.scenario, row.subject))
    worst = rows[0]
    of_each = {(row.probe, row.subject): row for row in reversed(rows)}
    harms = sorted(of_each.values(), key=lambda row: (rank(row), row.scenario, row.subject))
    subjects = tuple(dict.fromkeys(row.subject for row in rows))
    return AuditFindingRow(
        id=identifier(key),
        level=level_of(worst),
        harm=worst.harm,
        cause=worst.cause,
        about=worst.about,
        subjects=subjects,
        namespaces=tuple(sorted({ObjectRef.parse(subject).namespace for subject in subjects})),
        worst=worst,
        harms=tuple(harms[:_MOST_HARMS]),
        shown_by=tuple(_shown_by(rows)),
        command=command(worst),
    )


def _shown_by(rows: Sequence[HarmRow]) -> Iterable[ShownByRow]:
    return _some((row.probe, row.scenario) for row in rows)


def _some(what_ifs: Iterable[tuple[ProbeName, str]]) -> Iterable[ShownByRow]:
    names: dict[ProbeName, dict[str, None]] = {}
    for probe, name in what_ifs:
        names.setdefault(probe, {})[name] = None
    for probe in sorted(names, key=SOON.index):
        found = list(names[probe])
        yield ShownByRow(probe=probe, names=tuple(found[:_MOST_NAMES]), count=len(found))


# --- compared with another cluster -------------------------------------------------------------------------------


class Extent(msgspec.Struct):
    """The extent of a finding: all what-ifs that show it and all subjects, even if its row names only some."""

    level: AuditLevel = "low"
    what_ifs: dict[tuple[ProbeName, str], None] = {}
    subjects: dict[str, None] = {}


def extents(played: Iterable[tuple[AuditScenario, AuditOutcome]]) -> Mapping[str, Extent]:
    """The extent of each finding, by its identifier."""
    found: dict[str, Extent] = {}
    for scenario, outcome in played:
        for row in outcome.harms:
            extent = found.setdefault(identifier(key_of_cause(row)), Extent())
            extent.level = min(extent.level, level_of(row), key=LEVELS.index)
            extent.what_ifs[scenario.probe, scenario.about] = None
            extent.subjects[row.subject] = None
    return found


def worse_than(before: Extent | None, now: Extent, finding: AuditFindingRow) -> Brought | None:
    """The finding, if it is new, or worse now: its level or its extent is larger."""
    if before is None:
        return Brought(finding)
    brought = Brought(
        finding,
        was_level=before.level if LEVELS.index(now.level) < LEVELS.index(before.level) else None,
        what_ifs=tuple(_some(each for each in now.what_ifs if each not in before.what_ifs)),
        subjects=tuple(each for each in now.subjects if each not in before.subjects),
    )
    return brought if brought.is_worse else None
