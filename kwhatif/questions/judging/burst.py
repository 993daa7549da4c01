"""`Burst`: evictions that budgets do not count yet.

Victims are deleted asynchronously, and the disruption controller counts them later than the next pods are tried: the
scheduler chooses their victims by what budgets allowed before. What is left of a budget then, only the report knows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from kwhatif.questions.rows import with_chosen
from kwhatif.report.decision import Decision
from kwhatif.report.preemption import CandidateRow
from kwhatif.scheduler.preemption.candidate import Victim
from kwhatif.scheduler.preemption.disruption import counted


class Burst:
    """What has been taken from budgets since their controller has counted."""

    def __init__(self) -> None:
        self._spent: Counter[str] = Counter()

    def add(self, victims: Iterable[Victim]) -> None:
        """These are evicted."""
        self._spent.update(budget for budgets in counted(victims) for budget in budgets)

    def over(self, budget: str) -> None:
        """The controller has counted what was taken from this budget (`namespace/name`)."""
        self._spent.pop(budget, None)

    def as_left(self, decision: Decision) -> Decision:
        """The decision with what is really left of budgets; why its node was chosen stays as the scheduler sees it."""
        return with_chosen(decision, self._as_left) if self._spent else decision

    def _as_left(self, chosen: CandidateRow) -> CandidateRow:
        spent = self._spent
        if not any(row.budget in spent for row in chosen.budgets):
            return chosen
        rows = tuple(
            replace(row, before=row.before - spent[row.budget], after=row.after - spent[row.budget])
            for row in chosen.budgets
        )
        left = {row.budget: row.before for row in rows}
        victims = []
        for victim in chosen.victims:
            budgets = [budget for budget in victim.budgets if budget in left]
            broken = [budget for budget in budgets if left[budget] <= 0]
            left.update((budget, left[budget] - 1) for budget in budgets)
            victims.append(replace(victim, violates=tuple(dict.fromkeys((*victim.violates, *broken)))))
        return replace(chosen, budgets=rows, victims=tuple(victims))
