"""`kwhatif.compare`: two answers to one question, and what is different; such as without and with edits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from kwhatif.render.ends import ends
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
        ends=tuple(_end_differences(dict(ends(before)), dict(ends(after)))),
        unchanged=len({**was, **now}) - len(pods),
        new_findings=tuple(_beyond(findings[1], findings[0])),
        gone_findings=tuple(_beyond(findings[0], findings[1])),
        new_caveats=tuple(_beyond(after.caveats, before.caveats)),
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


def _beyond(some: Sequence[T], others: Sequence[T]) -> Iterator[T]:
    return (each for each in some if each not in others)
