"""Tables of victims: by owner and count, or one by one, with what their eviction does to the budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kwhatif.render.blocks import Cell, Table, exact, number, words
from kwhatif.render.detail import Detail
from kwhatif.report.preemption import CandidateRow, VictimRow
from kwhatif.words.amounts import age

#: Of longer runs of numbers the middle is left out.
_MOST_STEPS = 5


class VictimGroup(NamedTuple):
    """Victims of one owner and priority, and what is said of their budgets."""

    victims: list[VictimRow]
    budgets: list[str]

    @property
    def name(self) -> str:
        """How many pods, or the name of the only one."""
        first = self.victims[0]
        terminating = " (terminating)" if first.terminating else ""
        return (first.pod if len(self.victims) == 1 else f"{len(self.victims)} pods") + terminating

    @property
    def owner(self) -> str:
        """The workload that they belong to."""
        return self.victims[0].workload or self.victims[0].owner or "-"

    @property
    def violates(self) -> bool:
        """Whether one of them breaks a budget."""
        return any(victim.violates for victim in self.victims)


def victim_groups(candidate: CandidateRow, *, each: bool) -> list[VictimGroup]:
    """The victims in the scheduler's order; those of one owner and priority together, unless `each` is to be alone."""
    groups: dict[object, list[VictimRow]] = {}
    for victim in candidate.victims:
        owner = victim.workload or victim.owner
        key = victim.pod if each or not owner else (owner, victim.priority, victim.terminating)
        groups.setdefault(key, []).append(victim)
    left = _disruptions_left(candidate)
    return [VictimGroup(members, _budgets(members, left)) for members in groups.values()]


def _disruptions_left(candidate: CandidateRow) -> Mapping[tuple[str, str], int]:
    """(Budget, pod) -> how many disruptions the budget allows before that pod is evicted.

    Upstream counts a budget down pod by pod, and those for which nothing is left violate it: so they come last.
    """
    left: dict[tuple[str, str], int] = {}
    for row in candidate.budgets:
        allowed = row.before
        for violating in (False, True):
            for victim in candidate.victims:
                if row.budget in victim.budgets and (row.budget in victim.violates) is violating:
                    left[row.budget, victim.pod] = allowed
                    allowed -= 1
    return left


def _budgets(victims: Sequence[VictimRow], left: Mapping[tuple[str, str], int]) -> list[str]:
    """`ml/trainer 1 → 0 → -1 VIOLATED`, for every budget of the victims."""
    said = []
    for budget in dict.fromkeys(budget for victim in victims for budget in victim.budgets):
        counted = [left[budget, victim.pod] for victim in victims if (budget, victim.pod) in left]
        steps = [str(number) for number in sorted({*counted, *(number - 1 for number in counted)}, reverse=True)]
        if len(steps) > _MOST_STEPS:
            steps = [*steps[:2], "…", steps[-1]]
        broken = " VIOLATED" if any(budget in victim.violates for victim in victims) else ""
        said.append(f"{budget} {' → '.join(steps)}".strip() + broken)
    return said


def victims_table(candidate: CandidateRow, detail: Detail) -> Table:
    """Who is evicted, the most important first."""
    columns = (words("Victims"), words("Owner"), number("Priority"), words("Age"), words("Budgets left"))
    groups = victim_groups(candidate, each=detail.wide or detail.explain)
    rows = [
        (
            exact(group.name) if len(group.victims) == 1 else group.name,
            group.owner,
            str(group.victims[0].priority),
            _ages(group.victims, detail.now),
            Cell(group.budgets or ["-"], "bad" if group.violates else ""),
        )
        for group in groups
    ]
    return Table(columns, rows, most=None)


def _ages(victims: Sequence[VictimRow], now: int) -> str:
    """One age, or the youngest and the oldest."""
    started = sorted((victim.start_time for victim in victims if victim.start_time), reverse=True)
    ages = dict.fromkeys([age(started[0], now), age(started[-1], now)] if started else [age(None, now)])
    return " to ".join(ages)
