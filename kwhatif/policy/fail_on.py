"""The conditions of `--fail-on`: when an answer is a "no" for scripts. They have the names of a policy's rules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from kwhatif.kube.matching.field_errors import hinted
from kwhatif.kube.model.caveat import CODES
from kwhatif.policy.schema import CAVEATS
from kwhatif.report import Report
from kwhatif.report.deciders import Landing
from kwhatif.report.decision import Decision, Outcome, WorkloadRow
from kwhatif.report.queue import QueuedPodRow
from kwhatif.report.risks import PREEMPTING, AuditLevel, ThreatKind


def _stays_pending(decision: Decision) -> bool:
    return decision.outcome in ("Unschedulable", "Gated", "Denied")


def _hangs(row: WorkloadRow) -> bool:
    return row.rollout is not None and not row.rollout.completed


def _is_unschedulable(report: Report) -> bool:
    """Whether a pod stays pending, also one that was only counted."""
    of_workloads = any(_hangs(row) or row.unschedulable for row in report.workloads)
    return of_workloads or any(map(_stays_pending, report.decisions))


def _breaks_budget(decision: Decision) -> bool:
    return any(victim.violates for victim in decision.victims)


def _comes_to(outcome: Outcome) -> Callable[[Report], bool]:
    return lambda report: any(decision.outcome == outcome for decision in report.decisions)


def _lands(landing: Landing) -> Callable[[Report], bool]:
    return lambda report: report.deschedule is not None and report.deschedule.landings.get(landing, 0) > 0


def _refuses(report: Report) -> bool:
    return report.autoscaler is not None and any(each.refused for each in report.autoscaler.rounds)


def _adds_nodes(report: Report) -> bool:
    rounds = () if report.autoscaler is None else report.autoscaler.rounds
    return any(each.scale_up or each.new_nodes for each in rounds)


def _removes_nodes(report: Report) -> bool:
    row = report.consolidate
    return row is not None and (bool(row.commands) or any(each.removable for each in row.nodes))


def _fits_but_is_not_requeued(row: QueuedPodRow) -> bool:
    return row.after is not None and row.after.fits_but_is_not_requeued


def _ends(words: Collection[str]) -> Callable[[Report], bool]:
    return lambda report: report.story is not None and report.story.outcome in words


def _has_failed(report: Report) -> bool:
    story = report.story
    if story is None:
        return False
    return any(not row.anyway for row in story.failed) or any(command.ok is False for command in story.commands)


def _leaves_pending(report: Report) -> bool:
    rows = () if report.story is None else report.story.pending
    if any(row.verdict.pending for row in report.scenarios) or any(not row.anyway for row in rows):
        return True
    return _lands("Pending")(report) or (report.deschedule is not None and bool(report.deschedule.displaced))


def _does_harm(report: Report) -> bool:
    verdicts = [row.verdict for row in report.scenarios]
    if report.story is not None and report.story.verdict is not None:
        verdicts.append(report.story.verdict)
    return any(not verdict.ok for verdict in verdicts)


def _misses_target(report: Report) -> bool:
    """Whether fewer fit than the target; without one, whether none fits."""
    row = report.capacity
    if row is None or row.best is None:
        return False
    return not (row.target.met if row.target is not None else row.best.sets)


def _finds(*levels: AuditLevel) -> Callable[[Report], bool]:
    return lambda report: report.audit is not None and any(each.level in levels for each in report.audit.counting)


def _threatens(*kinds: ThreatKind) -> Callable[[Report], bool]:
    return lambda report: report.threats is not None and bool(report.threats.of(*kinds))


def _takes_none(report: Report) -> bool:
    row = report.who_fits
    return row is not None and not (row.fitting(pending=True) or row.fitting(pending=False))


CONDITIONS: Mapping[str, Callable[[Report], bool]] = {
    "unschedulable": _is_unschedulable,
    "rollout": lambda report: any(map(_hangs, report.workloads)),
    "denied": _comes_to("Denied"),
    "gated": _comes_to("Gated"),
    "ignored": lambda report: _comes_to("Ignored")(report) or any(row.ignored for row in report.workloads),
    "preemption": _comes_to("Preempts"),
    "budget-violation": lambda report: any(map(_breaks_budget, report.decisions)),
    "evictions": lambda report: report.deschedule is not None and bool(report.deschedule.evicted),
    "useless": _lands("SameNode"),
    "endless": lambda report: report.deschedule is not None and report.deschedule.course == "Endless",
    "not-requeued": lambda report: report.queue is not None and any(map(_fits_but_is_not_requeued, report.queue.pods)),
    "refused": _refuses,
    "added": _adds_nodes,
    "removed": _removes_nodes,
    CAVEATS: lambda report: bool(report.caveat_details),
    "pending": _leaves_pending,
    "stalled": _ends(("stalled", "rollout-stuck")),
    "cycling": _ends(("cycling", "horizon")),
    "failed": _has_failed,
    "harm": _does_harm,
    "changed": lambda report: report.upgrade is not None and bool(report.upgrade.pending or report.upgrade.workloads),
    "worse": lambda report: report.upgrade is not None and bool(report.upgrade.worse),
    "target": _misses_target,
    "peak": lambda report: report.capacity is not None and bool(report.capacity.peak and report.capacity.peak.pending),
    "high": _finds("high"),
    "medium": _finds("high", "medium"),
    "low": _finds("high", "medium", "low"),
    "unjudged": lambda report: report.audit is not None and bool(report.audit.unjudged),
    "evicting": _threatens("pending"),
    "threatened": _threatens(*PREEMPTING),
    "takes-none": _takes_none,
    "not-resized": lambda report: report.resize is not None and not report.resize.is_resized,
    "answers": lambda report: report.compare is not None and bool(report.compare.answers),
    "changes": lambda report: report.compare is not None and bool(report.compare.changes),
    "missing": lambda report: any(caveat.missing for caveat in report.caveat_details),
}
#: Other spellings: the policy's, kubectl's name for budgets, and an old one that pipelines may still use.
_ALIASES = {"budgetViolation": "budget-violation", "pdb-violation": "budget-violation", "asleep": "not-requeued"}


def parse_fail_on(text: str, allowed: Collection[str] = CONDITIONS) -> tuple[str, ...]:
    """The conditions in a comma-separated list, which may name codes of caveats; `none` stands alone.

    Args:
        text: the list.
        allowed: the conditions that the answer can meet: another one would never be true.

    Raises:
        ValueError: a name that is not a condition.
    """
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    if names == ("none",):
        return ()
    return tuple(_condition(name, allowed) for name in names)


def _condition(name: str, allowed: Collection[str]) -> str:
    found = _ALIASES.get(name, name).removeprefix(f"{CAVEATS}/")
    if found in allowed or found in CODES:
        return found
    choices = f"none, {', '.join(allowed)}, or the code of a caveat"
    if found in CONDITIONS:
        raise ValueError(f"this command never answers {name!r}: choose from {choices}")
    raise ValueError(hinted(f"{name!r} is not one of {choices}", name, [*allowed, *CODES]))


def fails(report: Report, names: tuple[str, ...]) -> bool:
    """Whether the report holds any of the conditions."""
    codes = {caveat.code for caveat in report.caveat_details}
    return any(CONDITIONS[name](report) if name in CONDITIONS else name in codes for name in names)
