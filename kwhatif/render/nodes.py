"""Nodes in blocks: the feasible ones with their scores; the rejected ones in groups, the nearest miss first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kwhatif.kube.matching.nodes import UNSCHEDULABLE_TAINT
from kwhatif.render.blocks import Cell, Row, Table, node, number, words
from kwhatif.render.detail import Detail
from kwhatif.render.sentences import sentence, summary
from kwhatif.report.decision import Decision, FeasibleRow, ObjectionRow, RejectedRow
from kwhatif.scheduler.framework.evidence import CordonedNode, InsufficientResource, UntoleratedTaint
from kwhatif.words.amounts import plural, some


class Objection(NamedTuple):
    """The objections of one plugin to all nodes of a group: the scheduler's reasons, and sentences on the evidence."""

    reasons: tuple[str, ...]
    evidence: list[str]


class RejectedGroup(NamedTuple):
    """Nodes with the same objections, the scheduler's own first."""

    #: Known names, and how many nodes they are from.
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


def nearest_first(rows: Sequence[RejectedRow], *, may_evict: bool) -> list[RejectedRow]:
    """The rows one by one, in the same order."""
    return sorted(rows, key=lambda row: (*_nearness([row], may_evict=may_evict), row.node))


def may_evict(decision: Decision) -> bool:
    """Whether preemption was tried for the pod: then obstacles that eviction can remove count less."""
    return decision.preemption is not None and decision.preemption.eligible


def objections_of(row: RejectedRow) -> Sequence[RejectedRow | ObjectionRow]:
    """All objections to the node; only the scheduler's if the others are not known."""
    found = row.objections or (row,)
    if any(isinstance(evidence, CordonedNode) for objection in found for evidence in objection.evidence):
        return [objection for objection in found if not _is_cordon(objection)] or found
    return found


def _is_cordon(objection: RejectedRow | ObjectionRow) -> bool:
    """Whether it is the taint of a cordoned node: the cordon already says that."""
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
    """Sort key, the nearest first: too small, not cleared by eviction, number of objections; then the most nodes."""
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
    """Rejected nodes, the nearest miss first: those with the same objections in one group, or one by one if wide.

    `may_evict`: obstacles that eviction can remove count less.
    """
    if detail.wide:
        return _each(nearest_first(rows, may_evict=may_evict))
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
    """A row per objection, so that each reason is beside its evidence; the first cell only once."""
    for reasons, evidence in parts:
        yield first, reasons, evidence
        first = ""
