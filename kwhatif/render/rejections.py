"""Rejected nodes in groups that read alike: the nearest miss first. The same for tables and Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kwhatif.kube.matching.tolerations import UNSCHEDULABLE_TAINT
from kwhatif.render.sentences import summary
from kwhatif.report.decision import Decision
from kwhatif.report.nodes import ObjectionRow, RejectedRow
from kwhatif.scheduler.framework.evidence import CordonedNode, InsufficientResource, UntoleratedTaint
from kwhatif.words.amounts import some


class Objection(NamedTuple):
    """What one plugin says to all nodes of a group: the scheduler's reasons, and sentences about the evidence."""

    reasons: tuple[str, ...]
    evidence: list[str]


class RejectedGroup(NamedTuple):
    """Nodes with the same objections, the scheduler's own first."""

    #: The names that are known, and how many nodes they are of.
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
    """Whether preemption was tried for the pod: then what eviction can clear is the lesser obstacle."""
    return decision.preemption is not None and decision.preemption.eligible


def objections_of(row: RejectedRow) -> Sequence[RejectedRow | ObjectionRow]:
    """All objections to the node; the scheduler's alone where the others are not known."""
    found = row.objections or (row,)
    if any(isinstance(evidence, CordonedNode) for objection in found for evidence in objection.evidence):
        return [objection for objection in found if not _is_cordon(objection)] or found
    return found


def _is_cordon(objection: RejectedRow | ObjectionRow) -> bool:
    """Whether it is the taint that a cordoned node gets besides: said once already."""
    taints = [evidence for evidence in objection.evidence if isinstance(evidence, UntoleratedTaint)]
    return bool(taints) and all(taint.key == UNSCHEDULABLE_TAINT.key for taint in taints)


def _is_too_small(row: RejectedRow) -> bool:
    """Whether not even the empty node has as much as the pod asks for."""
    return any(
        isinstance(evidence, InsufficientResource) and evidence.requested > evidence.allocatable
        for objection in objections_of(row)
        for evidence in objection.evidence
    )


def _nearness(group: Sequence[RejectedRow], *, may_evict: bool) -> tuple[int, int, int, int]:
    """The lowest is the nearest: too small, what eviction cannot clear, all objections; then the most nodes."""
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
