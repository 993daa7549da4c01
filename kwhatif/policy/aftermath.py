"""Rules about what follows: after all controllers have reacted, and after a node or a zone has failed."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.policy.schema import AftermathRule, AuditRule
from kwhatif.policy.violations import (
    Audited,
    AuditUnjudged,
    BudgetOverrun,
    Fragile,
    NeverSettles,
    StaysPending,
    StaysRefused,
    Violation,
)
from kwhatif.report.story import PendingRow, RefusedRow, Story

PENDING, LOOP, OVERRUN = NAMES = ("aftermath/pending", "aftermath/loop", "aftermath/budgetOverrun")


def violations_after(rule: AftermathRule | None, story: Story | None) -> Iterator[Violation]:
    """The violations at the end of the simulation, if the policy has rules about it."""
    if rule is None or story is None:
        return
    found = (*_pending(rule, story), *_loop(rule, story), *_overrun(rule, story))
    yield from (each for each in found if each.level in ("fail", "warn"))


def _pending(rule: AftermathRule, story: Story) -> Iterator[Violation]:
    if rule.pending is None:
        return
    by_owner: dict[str, list[PendingRow]] = {}
    for row in story.pending:
        if not _is_of_before(row, story) and row.priority >= rule.pending.min_priority:
            by_owner.setdefault(row.owner or f"Pod {row.pod}", []).append(row)
    least, level = rule.pending.min_priority, rule.pending.level
    for owner, rows in by_owner.items():
        fact = StaysPending(owner, sum(row.count for row in rows), least)
        yield Violation(PENDING, level, fact, pods=tuple(row.pod for row in rows), names=(owner,))
    for refused in story.refused:  # the unknown priority may be the reason
        if not _is_of_before(refused, story):
            yield Violation(PENDING, level, StaysRefused(refused.workload, refused.message), names=(refused.workload,))


def _is_of_before(row: PendingRow | RefusedRow, story: Story) -> bool:
    """Whether the question does not cause it: it happens anyway; without manifests, it existed at the start."""
    return row.anyway or (story.caused is None and row.initial)


def _loop(rule: AftermathRule, story: Story) -> Iterator[Violation]:
    if story.outcome == "cycling":
        yield Violation(LOOP, rule.loop, NeverSettles(() if story.cycle is None else story.cycle.participants))


def _overrun(rule: AftermathRule, story: Story) -> Iterator[Violation]:
    for row in story.budgets:
        overrun = row.overrun - row.overrun_anyway
        if overrun > 0:
            yield Violation(OVERRUN, rule.budget_overrun, BudgetOverrun(row.budget, overrun))


def violation_of(fragile: Fragile) -> Violation:
    """The violation of the rule `survives`."""
    pods = () if fragile.verdict is None else fragile.verdict.pending
    return Violation(f"survives/{fragile.kind}", "fail", fragile, pods=pods)


def violations_of_audit(rule: AuditRule | None, audited: Audited) -> Iterator[Violation]:
    """The violations of the rule `audit`, if the policy has it."""
    if rule is None or rule.level not in ("fail", "warn"):
        return
    if audited.unjudged:
        yield Violation("audit", "fail", AuditUnjudged(audited.unjudged))
    for each in audited.findings:
        yield Violation(f"audit/{each.finding.harm}", rule.level, each, names=each.finding.subjects)
