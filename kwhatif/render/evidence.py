"""The evidence for a decision in blocks: nodes and their scores, rejected groups, victims, candidates, each step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from kwhatif.kube.matching.nodes import UNSCHEDULABLE_TAINT
from kwhatif.render.amounts import age, plural, some
from kwhatif.render.blocks import Block, Cell, Column, Item, Listing, Row, Span, Table, exact, node, number, words
from kwhatif.render.detail import Detail
from kwhatif.render.sentences import sentence, summary
from kwhatif.report.decision import (
    CandidateRow,
    Decision,
    FeasibleRow,
    ObjectionRow,
    PreemptionRow,
    RejectedRow,
    ReprieveRow,
    VictimRow,
)
from kwhatif.scheduler.framework.evidence import CordonedNode, InsufficientResource, UntoleratedTaint


class Objection(NamedTuple):
    """The objections of one plugin to all nodes of a group: the scheduler's reasons, and sentences on the evidence."""

    reasons: tuple[str, ...]
    evidence: list[str]


class RejectedGroup(NamedTuple):
    """Nodes with the same objections, the scheduler's own first."""

    #: The known names, and the total number of nodes.
    nodes: list[str]
    size: int
    objections: list[Objection]

    @property
    def reasons(self) -> list[str]:
        """The reasons of all plugins."""
        return [reason for objection in self.objections for reason in objection.reasons]

    @property
    def evidence(self) -> list[str]:
        """The evidence of all plugins."""
        return [line for objection in self.objections for line in objection.evidence]

    @property
    def where(self) -> str:
        """`on a, b, c and 4 more`."""
        return f"on {some(self.nodes, of=self.size)}"


def rejected_groups(rows: Sequence[RejectedRow], *, may_evict: bool) -> list[RejectedGroup]:
    """The groups; those with the fewest objections come first, see `_distance`."""
    groups: dict[object, list[RejectedRow]] = {}
    for row in rows:
        said = [(each.plugin, each.reasons) for each in objections_of(row)]
        groups.setdefault((_is_too_small(row), *said), []).append(row)
    ordered = sorted(groups.values(), key=lambda group: (*_nearness(group, may_evict=may_evict), group[0].node))
    return [_group(group) for group in ordered]


def may_evict(decision: Decision) -> bool:
    """Whether preemption was tried for the pod: then obstacles count less that an eviction can remove."""
    return decision.preemption is not None and decision.preemption.eligible


def objections_of(row: RejectedRow) -> Sequence[RejectedRow | ObjectionRow]:
    """All objections to the node; only the scheduler's if the others are not known."""
    found = row.objections or (row,)
    if any(isinstance(evidence, CordonedNode) for objection in found for evidence in objection.evidence):
        return [objection for objection in found if not _is_cordon(objection)] or found
    return found


def _is_cordon(objection: RejectedRow | ObjectionRow) -> bool:
    """Whether this is the taint of a cordoned node, which is redundant to the cordon."""
    taints = [evidence for evidence in objection.evidence if isinstance(evidence, UntoleratedTaint)]
    return bool(taints) and all(taint.key == UNSCHEDULABLE_TAINT.key for taint in taints)


def _is_too_small(row: RejectedRow) -> bool:
    """Whether even the empty node has less than the pod requests."""
    return any(
        isinstance(evidence, InsufficientResource) and evidence.requested > evidence.allocatable
        for objection in objections_of(row)
        for evidence in objection.evidence
    )


def _nearness(group: Sequence[RejectedRow], *, may_evict: bool) -> tuple[int, int, int, int]:
    """Sort key, the nearest first: too small, not cleared by eviction, number of objections; then more nodes first."""
    found = objections_of(group[0])
    lasting = sum(objection.code != "Unschedulable" for objection in found) if may_evict else len(found)
    return _is_too_small(group[0]), lasting, len(found), -_size(group)


def _size(rows: Sequence[RejectedRow]) -> int:
    return sum(1 + row.alike for row in rows)


def _group(rows: Sequence[RejectedRow]) -> RejectedGroup:
    per_row = [objections_of(row) for row in rows]
    objections = []
    for place, first in enumerate(per_row[0]):
        found = [
            (row.node, evidence)
            for row, objections in zip(rows, per_row, strict=True)
            for evidence in objections[place].evidence
        ]
        objections.append(Objection(first.reasons, summary(found, counted=all(not row.alike for row in rows))))
    return RejectedGroup([row.node for row in rows], _size(rows), objections)


# --- tables of nodes -------------------------------------------------------------------------------------------------


#: How many feasible nodes, and groups of rejected ones, are shown unless all are wanted.
_BEST = 5
_GROUPS = 6


def feasible_table(rows: Sequence[FeasibleRow], best: Sequence[str], detail: Detail) -> Table:
    """The best nodes; one column per plugin that scores them differently, or all plugins if wide."""
    plugins = list(dict.fromkeys(plugin for row in rows for plugin in row.scores))
    if not detail.wide:
        plugins = [plugin for plugin in plugins if len({row.scores.get(plugin, 0) for row in rows}) > 1]
    shown = rows[: detail.rows(max(_BEST, len(best) if len(best) <= 2 * _BEST else _BEST))]
    equal = set(best)
    columns = (node(), number("Score"), *(number(plugin, named=True) for plugin in plugins))
    hidden = len(rows) - len(shown)
    return Table(
        columns,
        [_feasible(row, plugins, is_best=row.node in equal) for row in shown],
        most=None,
        rest=(f"… {hidden:,} more", *[""] * (len(columns) - 1)) if hidden else None,
    )


def _feasible(row: FeasibleRow, plugins: Sequence[str], *, is_best: bool) -> Row:
    scores = [str(row.scores.get(plugin, 0)) for plugin in plugins]
    if is_best:
        return Cell(row.node, "good"), Cell(str(row.score), "good"), *scores
    return row.node, str(row.score), *scores


def rejected_table(rows: Sequence[RejectedRow], detail: Detail, *, may_evict: bool = False) -> Table:
    """Rejected nodes, the nearest first: nodes with the same objections in one group, or if wide, each in its own row.

    `may_evict`: obstacles that eviction can remove count less.
    """
    if detail.wide:
        return _each(sorted(rows, key=lambda row: (*_nearness([row], may_evict=may_evict), row.node)))
    groups = rejected_groups(rows, may_evict=may_evict)
    shown = groups[: detail.rows(_GROUPS)]
    made: list[Row] = []
    for group in shown:
        *others, last = [(objection.reasons, objection.evidence) for objection in group.objections]
        made += _objections(f"{group.size:,}", [*others, (last[0], [*last[1], group.where])])
    hidden = groups[len(shown) :]
    count = f"{sum(group.size for group in hidden):,}"
    return Table(
        (number("Nodes"), words("Reason"), words("Evidence")),
        made,
        most=None,
        rest=(count, f"… {plural(len(hidden), 'more group')}", "") if hidden else None,
    )


def _each(rows: Sequence[RejectedRow]) -> Table:
    made: list[Row] = []
    for row in rows:
        said = [
            (each.plugin, (each.reasons, [sentence(item) for item in each.evidence])) for each in objections_of(row)
        ]
        made += [(row.node if not place else "", plugin, *objection) for place, (plugin, objection) in enumerate(said)]
    return Table((node(), words("Plugin"), words("Reason"), words("Evidence")), made, most=None)


def _objections(first: str, parts: Sequence[tuple[Sequence[str], Sequence[str]]]) -> Iterator[Row]:
    """A row per objection, so that each reason is beside its evidence; only the first row has the first cell."""
    for reasons, evidence in parts:
        yield first, reasons, evidence
        first = ""


# --- victims and their budgets ---------------------------------------------------------------------------------------


#: The middle of longer sequences of numbers is left out.
_MOST_STEPS = 5


class VictimGroup(NamedTuple):
    """Victims of one owner and priority, and their budgets."""

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
    """The victims in the scheduler's order, grouped by owner and priority; with `each`, one pod per group."""
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


#: The number of candidates that are shown, unless all are wanted.
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
