"""What is different between two answers to one question that is asked again and again: a line for each change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kwhatif.render.comparison import fate
from kwhatif.render.ends import ends
from kwhatif.report import Report
from kwhatif.report.comparison import Comparison, FateRow


def changes(comparison: Comparison) -> Iterator[str]:
    """The changes in words, the most important first; none where the answers say the same."""
    difference = comparison.difference
    for row in difference.pods:
        yield f"{row.pod}: {fate(row.before)} → {fate(row.after)}"
    for end in difference.ends:
        yield f"{end.subject}: {end.before or '-'} → {end.after or '-'}"
    yield from _scenarios(comparison.before, comparison.after)
    for caveat in difference.new_caveats:
        yield f"now to be known: {caveat}"
    for caveat in difference.gone_caveats:
        yield f"not the case any more: {caveat}"


def _scenarios(before: Report, after: Report) -> Iterator[str]:
    was, now = _verdicts(before), _verdicts(after)
    for name in {**now, **was}:
        if was.get(name) != now.get(name):
            yield f"{name}: {was.get(name, '-')} → {now.get(name, '-')}"


def _verdicts(report: Report) -> Mapping[str, str]:
    return {row.scenario: "yes" if row.verdict.ok else f"no: {row.verdict.why}" for row in report.scenarios}


def summary(report: Report) -> Iterator[str]:
    """What the first answer says, a line for each thing that may change."""
    for subject, said in ends(report):
        yield f"{subject}: {said}"
    if report.command in ("queue", "preempt") and not report.decisions:
        yield "no pod waits for a node"
    for decision in report.decisions if report.capacity is None else ():
        victims = tuple(victim.pod for victim in decision.victims)
        yield f"{decision.pod}: {fate(FateRow(outcome=decision.outcome, node=decision.node, victims=victims))}"
    for name, verdict in _verdicts(report).items():
        yield f"{name}: {verdict}"
