"""Rules about what follows: after all controllers have reacted, and after a node or a zone has failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.policy.rules import Violation
from kwhatif.policy.schema import AftermathRule, AuditRule
from kwhatif.report.risks import AuditFindingRow, AuditLevel, ShownByRow
from kwhatif.report.story import PendingRow, RefusedRow, Story, VerdictRow
from kwhatif.words.amounts import some
from kwhatif.words.harm import finding_message, new_what_if, why_harmful

PENDING, LOOP, OVERRUN = NAMES = ("aftermath/pending", "aftermath/loop", "aftermath/budgetOverrun")


class Fragile(NamedTuple):
    """The result of the rule `survives`: nodes or zones that must not fail after the manifests are applied.

    `kind` is node or zone, `name` the worst one, `verdict` its result; `more` others must not fail either. `unjudged`:
    why none could be judged.
    """

    kind: str
    name: str = ""
    verdict: VerdictRow | None = None
    more: int = 0
    unjudged: str = ""


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
    for owner, rows in by_owner.items():
        count, pods = sum(row.count for row in rows), tuple(row.pod for row in rows)
        number = f"{count} pods of {owner} are" if count > 1 else f"a pod of {owner} is"
        said = f"{owner} is" if ObjectRef.parse(owner).kind == "Pod" else number
        message = f"{said} pending once all has settled; no pod of priority {rule.pending.min_priority} or more may be"
        yield Violation(PENDING, rule.pending.level, message, pods=pods, names=(owner,))
    for refused in story.refused:  # the unknown priority may be the reason
        if not _is_of_before(refused, story):
            message = f"pods of {refused.workload} are refused once all has settled: {refused.message}"
            yield Violation(PENDING, rule.pending.level, message, names=(refused.workload,))


def _is_of_before(row: PendingRow | RefusedRow, story: Story) -> bool:
    """Whether the question does not cause it: it happens anyway; without manifests, it existed at the start."""
    return row.anyway or (story.caused is None and row.initial)


def _loop(rule: AftermathRule, story: Story) -> Iterator[Violation]:
    if story.outcome == "cycling":
        who = some(story.cycle.participants) if story.cycle is not None else ""
        yield Violation(LOOP, rule.loop, f"it never settles{f': {who} replace each other' if who else ''}")


def _overrun(rule: AftermathRule, story: Story) -> Iterator[Violation]:
    for row in story.budgets:
        overrun = row.overrun - row.overrun_anyway
        if overrun > 0:
            pods = "a healthy pod" if overrun == 1 else f"{overrun} healthy pods"
            yield Violation(OVERRUN, rule.budget_overrun, f"budget {row.budget} falls short of {pods} on the way")


def violation_of(fragile: Fragile) -> Violation:
    """The violation of the rule `survives`."""
    rule, verdict = f"survives/{fragile.kind}", fragile.verdict
    if verdict is None:
        return Violation(rule, "fail", f"cannot be judged: {fragile.unjudged}")
    more = f"; the same for {fragile.more} more" if fragile.more else ""
    message = f"{fragile.kind} {fragile.name} can no longer fail without harm: {why_harmful(verdict)}{more}"
    return Violation(rule, "fail", message, pods=verdict.pending)


class Brought(NamedTuple):
    """A new finding; or one that is worse now, by level, what-ifs and subjects."""

    finding: AuditFindingRow
    was_level: AuditLevel | None = None
    what_ifs: tuple[ShownByRow, ...] = ()
    subjects: tuple[str, ...] = ()

    @property
    def is_worse(self) -> bool:
        """Whether the finding existed before, and was less severe."""
        return bool(self.was_level or self.what_ifs or self.subjects)


class Audited(NamedTuple):
    """The result of the rule `audit`: findings that are new or worse than before; or why nothing could be judged."""

    findings: Sequence[Brought] = ()
    unjudged: str = ""


def violations_of_audit(rule: AuditRule | None, audited: Audited) -> Iterator[Violation]:
    """The violations of the rule `audit`, if the policy has it."""
    if rule is None or rule.level not in ("fail", "warn"):
        return
    if audited.unjudged:
        yield Violation("audit", "fail", f"cannot be judged: {audited.unjudged}")
    for each in audited.findings:
        finding = each.finding
        message = f"{finding_message(finding)}; {_what_is_new(each)}"
        yield Violation(f"audit/{finding.harm}", rule.level, message, names=finding.subjects)


def _what_is_new(brought: Brought) -> str:
    if not brought.is_worse:
        return "it was not so before"
    said = [f"at level {brought.finding.level} ({brought.was_level})"] if brought.was_level is not None else []
    said += map(new_what_if, brought.what_ifs)
    said += [f"for {some(brought.subjects)}"] if brought.subjects else []
    return f"it was so before, but not {'; not '.join(said)}"
