"""`kwhatif.compare`: two answers to one question, and what is different; such as without and with edits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from kwhatif.kube.model.caveat.scheduling import BudgetComputed, BudgetNotComputed
from kwhatif.render.comparison import ends
from kwhatif.report import Report
from kwhatif.report.comparison import (
    Comparison,
    Difference,
    DifferenceRow,
    EndDifferenceRow,
    FateRow,
    PodDifferenceRow,
)
from kwhatif.report.decision import Decision
from kwhatif.report.story import Story, StoryWorkloadRow

T = TypeVar("T")
#: The most important first.
_ORDER: Sequence[Difference] = ("flipped", "victims", "moved", "new", "gone")


def compare(before: Report, after: Report) -> Comparison:
    """What is different between two answers to one question.

    Raises:
        TypeError: one of them is not a report.
    """
    for given in (before, after):
        if not isinstance(given, Report):
            raise TypeError(f"compare() takes two reports; this is of type {type(given).__name__}")
    was, now = _decided(before), _decided(after)
    pods = [row for pod in {**now, **was} if (row := _difference(pod, was.get(pod), now.get(pod))) is not None]
    pods.sort(key=lambda row: _ORDER.index(row.difference))
    findings = [tuple(report.policy.findings) if report.policy else () for report in (before, after)]
    difference = DifferenceRow(
        pods=tuple(pods),
        ends=(
            *_end_differences(_how_it_ends(before, after), _how_it_ends(after, before)),
            *_end_differences(dict(ends(before)), dict(ends(after))),
            *_place_differences(before.story, after.story),
        ),
        unchanged=len({**was, **now}) - len(pods),
        new_findings=tuple(_beyond(findings[1], findings[0])),
        gone_findings=tuple(_beyond(findings[0], findings[1])),
        new_caveats=tuple(_beyond(after.caveats, (*before.caveats, *_of_edits(after)))),
        gone_caveats=tuple(_beyond(before.caveats, after.caveats)),
    )
    return Comparison(command=after.command, before=before, after=after, difference=difference)


def _decided(report: Report) -> Mapping[str, Decision]:
    """By pod; none of those that are counted, whose names are made up."""
    return {decision.pod: decision for decision in report.decisions} if report.capacity is None else {}


def _difference(pod: str, was: Decision | None, now: Decision | None) -> PodDifferenceRow | None:
    before, after = _fate(was), _fate(now)
    if before == after:
        return None
    kind: Difference
    if before is None or after is None:
        kind = "new" if before is None else "gone"
    elif before.outcome != after.outcome:
        kind = "flipped"
    else:
        kind = "moved" if before.victims == after.victims else "victims"
    return PodDifferenceRow(pod=pod, difference=kind, before=before, after=after)


def _fate(decision: Decision | None) -> FateRow | None:
    if decision is None:
        return None
    victims = tuple(victim.pod for victim in decision.victims)
    return FateRow(outcome=decision.outcome, node=decision.node, victims=victims)


def _end_differences(was: Mapping[str, str], now: Mapping[str, str]) -> Iterator[EndDifferenceRow]:
    for subject in {**was, **now}:
        before, after = was.get(subject), now.get(subject)
        if before != after:
            yield EndDifferenceRow(subject=subject, before=before, after=after)


def _how_it_ends(report: Report, other: Report) -> Mapping[str, str]:
    """The worst that can be said: of what was asked, where both answers are about that."""
    if report.story is None or other.story is None:
        return {}
    is_asked = report.story.caused is not None and other.story.caused is not None
    return {"the end": report.story.outcome if is_asked else report.story.settled}


def _place_differences(before: Story | None, after: Story | None) -> Iterator[EndDifferenceRow]:
    """Of each workload the nodes on which another number of its pods is at the end, and how many are pending."""
    was, now = ({row.workload: row for row in story.workloads} if story else {} for story in (before, after))
    for workload in {**was, **now}:
        counts, others = _counts(was.get(workload)), _counts(now.get(workload))
        differ = [node for node in sorted({**counts, **others}) if counts.get(node, 0) != others.get(node, 0)]
        if differ:
            left, right = (_on(differ, each) for each in (counts, others))
            yield EndDifferenceRow(subject=workload, before=left, after=right)


#: Where pods without a node are counted: after all names.
_PENDING = "\uffff"


def _counts(row: StoryWorkloadRow | None) -> Mapping[str, int]:
    return {} if row is None else {**row.after, _PENDING: row.pending}


def _on(nodes: Sequence[str], counts: Mapping[str, int]) -> str | None:
    said = [
        f"{count} pending" if node == _PENDING else f"{node} ({count})"
        for node in nodes
        if (count := counts.get(node, 0))
    ]
    return ", ".join(said) or None


def _of_edits(report: Report) -> Iterator[str]:
    """What is only said because an edit has changed a budget: that is what was asked for."""
    touched = {touched.object for change in report.changes for touched in change.touched}
    for caveat in report.caveat_details:
        if isinstance(caveat, BudgetComputed | BudgetNotComputed) and f"PodDisruptionBudget {caveat.budget}" in touched:
            yield caveat.message


def _beyond(some: Sequence[T], others: Sequence[T]) -> Iterator[T]:
    return (each for each in some if each not in others)
