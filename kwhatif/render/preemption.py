"""Preemption in blocks: victims and their budgets, candidates and how they are compared, and each step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from kwhatif.render.blocks import Block, Cell, Column, Item, Listing, Span, Table, exact, node, number, words
from kwhatif.render.detail import Detail
from kwhatif.render.nodes import rejected_table
from kwhatif.render.sentences import sentence
from kwhatif.report.decision import CandidateRow, Decision, PreemptionRow, ReprieveRow, VictimRow
from kwhatif.words.amounts import age, plural, some

#: The middle of longer sequences of numbers is left out.
_MOST_STEPS = 5


class VictimGroup(NamedTuple):
    """Victims of one owner and priority, and what their budgets say."""

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
        """Their workload."""
        return self.victims[0].workload or self.victims[0].owner or "-"

    @property
    def violates(self) -> bool:
        """Whether one of them breaks a budget."""
        return any(victim.violates for victim in self.victims)


def victim_groups(candidate: CandidateRow, *, each: bool) -> list[VictimGroup]:
    """The victims in the scheduler's order; those of one owner and priority together, unless `each` is wanted."""
    groups: dict[object, list[VictimRow]] = {}
    for victim in candidate.victims:
        owner = victim.workload or victim.owner
        key = victim.pod if each or not owner else (owner, victim.priority, victim.terminating)
        groups.setdefault(key, []).append(victim)
    left = _disruptions_left(candidate)
    return [VictimGroup(members, _budgets(members, left)) for members in groups.values()]


def _disruptions_left(candidate: CandidateRow) -> Mapping[tuple[str, str], int]:
    """(Budget, pod) -> how many disruptions the budget allows before that pod is evicted.

    Upstream counts a budget down pod by pod; the pods after 0 violate it, so they come last.
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
    """The victims, the most important first."""
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


# --- candidates, and how they were found -----------------------------------------------------------------------------


#: How many candidates are shown unless all are asked for.
BEST = 10

#: How kube-scheduler compares candidates, in order: column, and what makes a candidate better.
_RUNGS = {
    "pdbViolations": ("Victims violating a budget", "fewer victims that violate a budget"),
    "highestPriority": ("Highest priority", "a lower highest victim priority"),
    "prioritySum": ("Priority sum (each + 2^31)", "a lower sum of victim priorities, each raised by 2^31"),
    "victims": ("Victims", "fewer victims"),
    "earliestStart": ("Earliest start", "a later start of its most important victims"),
}


def candidates_table(preemption: PreemptionRow, detail: Detail) -> Table:
    """Candidates, the best first; on each row the number that decides against it is marked."""
    rows = preemption.candidates if detail.wide else preemption.candidates[:BEST]
    rungs = dict.fromkeys(rung for row in preemption.candidates for rung in row.ladder)
    titles = [_RUNGS[rung][0] if rung in _RUNGS else rung for rung in rungs]
    hidden = len(preemption.candidates) - len(rows)
    return Table(
        (node(), *(Column(title, "number", droppable=True) for title in titles)),
        [(Cell(row.node, "good" if row.node in preemption.ties else ""), *_rungs(row)) for row in rows],
        most=None,
        rest=(f"… {hidden:,} more", *[""] * len(titles)) if hidden else None,
    )


def _rungs(row: CandidateRow) -> Iterator[Cell]:
    for rung, value in row.ladder.items():
        content = "now" if rung == "earliestStart" and value is None else str(value)
        if rung == "prioritySum" and isinstance(value, int):
            content = f"{len(row.victims)}*2^31{value:+}"
        if rung == "earliestStart":
            content = content.replace("T", " ")  # a narrow table may break it here
        decides = rung == row.loses_by
        yield Cell(f"◂{content}", "warn") if decides else Cell(content)


def story(decision: Decision, detail: Detail) -> Iterator[Block]:
    """The whole preemption, step by step."""
    preemption = decision.preemption
    if preemption is None:
        return
    if not preemption.eligible:
        yield _section("Eligibility", f"{decision.pod} may not evict: {preemption.message}")
        return
    below = f"pods with a priority below {decision.priority} (preemptionPolicy {decision.preemption_policy})"
    yield _section("Eligibility", f"{decision.pod} may evict {below}.")
    yield from _tried(decision, preemption, detail)
    for row in preemption.candidates[:BEST]:
        yield _candidate_story(row)
    yield from _choice(preemption)


def _section(title: str, *said: str, below: Iterable[Item] = ()) -> Listing:
    items = [Item(each, depth=1) for each in said]
    return Listing([Item(title, tone="strong"), *items, *below], "lines")


def _tried(decision: Decision, preemption: PreemptionRow, detail: Detail) -> Iterator[Block]:
    tried = len(preemption.candidates) + len(preemption.rejected)
    hopeless = len(decision.rejected) - tried
    cannot = f"on {plural(hopeless, 'node')} evicting cannot help (UnschedulableAndUnresolvable)"
    said = [f"{plural(tried, 'node')} tried; {cannot}."]
    if preemption.rejected:
        said.append("Even with all pods of lower priority removed, the pod would not fit:")
    yield _section("Nodes", *said)
    if preemption.rejected:
        yield rejected_table(preemption.rejected, msgspec.structs.replace(detail, wide=False))


def _candidate_story(row: CandidateRow) -> Listing:
    count = plural(len(row.reprieves), "pod")
    said = f"With {count} of lower priority removed, the pod fits. Put back in this order, if it still fits:"
    return _section(f"Candidate {row.node}", said, below=map(_reprieve, row.reprieves))


def _reprieve(step: ReprieveRow) -> Item:
    first = (exact(step.pod), f" (priority {step.priority}) ")
    if step.kept:
        return Item((*first, Span("stays", "good")), depth=2)
    why = "; ".join([sentence(item) for item in step.evidence] or step.reasons)
    return Item((*first, Span("is evicted", "bad"), f": with it, {step.plugin} says {why}"), depth=2)


def _choice(preemption: PreemptionRow) -> Iterator[Block]:
    chosen = preemption.chosen
    if chosen is None:
        return
    said = []
    others = [row for row in preemption.candidates if row.node not in preemption.ties]
    if len(preemption.ties) > 1:
        equal = some(preemption.ties, 5)
        said.append(f"{equal} are equally good: kube-scheduler may take any of them.")
    if others:
        rung = others[0].loses_by
        _, better = _RUNGS.get(rung, ("", rung))
        sums = f" ({_raised(chosen)} against {_raised(others[0])})" if rung == "prioritySum" else ""
        said.append(f"{chosen.node} wins over {others[0].node} by {better}{sums}.")
    elif len(preemption.candidates) == 1:
        said.append(f"{chosen.node} is the only candidate.")
    if preemption.cleared_nominations:
        cleared = some(preemption.cleared_nominations, 10)
        said.append(f"These pods lose their nomination to {chosen.node}: {cleared}")
    yield _section("Choice", *said)


def _raised(row: CandidateRow) -> int:
    """The sum as it is compared: more victims are worse, even if their priorities are negative."""
    return len(row.victims) * 2**31 + int(row.ladder["prioritySum"] or 0)
