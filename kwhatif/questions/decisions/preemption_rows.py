"""From a preemption's outcome to its rows in the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from kwhatif.questions.rows import owner_and_workload, rejected_rows
from kwhatif.report.decision import BudgetRow, CandidateRow, PreemptionRow, RejectedRow, ReprieveRow, VictimRow
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.scheduler.preemption.candidate import Candidate, Preemption, Reprieve, Victim


def preemption_row(preemption: Preemption, *, described: int | None = None) -> PreemptionRow:
    """The outcome as a row of the report; the candidates keep their order, best first.

    The limit of candidates to describe, besides the chosen one; None: all, which is slow for thousands.
    """
    return PreemptionRow(
        eligible=preemption.eligible,
        message=preemption.message,
        node=preemption.node,
        ties=preemption.ties,
        candidates=tuple(_candidate_rows(preemption, described)),
        rejected=_tried_rows(preemption.rejected),
        cleared_nominations=tuple(pod.key for pod in preemption.cleared_nominations),
    )


def _tried_rows(verdicts: Mapping[str, Verdict]) -> tuple[RejectedRow, ...]:
    """Nodes where not even evicting every pod of lower priority helps: only the first objection is known."""
    rows = rejected_rows({name: (verdict,) for name, verdict in verdicts.items()})
    return tuple([replace(row, objections=()) for row in rows])


def _candidate_rows(preemption: Preemption, described: int | None) -> Iterator[CandidateRow]:
    better: Candidate | None = None
    for index, candidate in enumerate(preemption.candidates):
        name = candidate.node
        if described is None or index < described or name == preemption.node:
            yield _candidate_row(preemption, better, candidate)
        else:
            yield CandidateRow(node=name, pdb_violations=candidate.pdb_violations, victims=(), ladder={})
        better = candidate


def _candidate_row(preemption: Preemption, better: Candidate | None, candidate: Candidate) -> CandidateRow:
    ladder: dict[str, int | str | None] = dict(zip(preemption.rungs, candidate.rank, strict=True))
    if "prioritySum" in ladder:  # the rank raises every priority by 2^31; people know the plain sum
        ladder["prioritySum"] = sum(pod.priority for pod in candidate.pods)
    if "earliestStart" in ladder:
        ladder["earliestStart"] = candidate.oldest.pod.status.start_time
    return CandidateRow(
        node=candidate.node,
        pdb_violations=candidate.pdb_violations,
        victims=tuple(map(_victim_row, candidate.victims)),
        ladder=ladder,
        loses_by=preemption.deciding_rung(better, candidate) if better else "",
        budgets=tuple(BudgetRow(budget=use.name, before=use.before, after=use.after) for use in candidate.budgets),
        reprieves=tuple(map(_reprieve_row, candidate.reprieves)),
    )


def _victim_row(victim: Victim) -> VictimRow:
    pod = victim.pod
    owner, workload = owner_and_workload(pod.pod)
    return VictimRow(
        pod=pod.key,
        priority=pod.priority,
        start_time=pod.pod.status.start_time,
        owner=owner,
        workload=workload,
        budgets=victim.budgets,
        violates=victim.violates,
        terminating=pod.terminating,
    )


def _reprieve_row(reprieve: Reprieve) -> ReprieveRow:
    objection = reprieve.objection
    if objection is None:
        return ReprieveRow(reprieve.pod.key, reprieve.pod.priority, True)
    return ReprieveRow(
        pod=reprieve.pod.key,
        priority=reprieve.pod.priority,
        kept=False,
        plugin=objection.plugin,
        reasons=objection.status.reasons,
        evidence=objection.status.evidence,
    )
