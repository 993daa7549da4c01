"""The report for people: a verdict per pod, then the tables that back it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec
from rich.console import RenderableType
from rich.text import Text

from kwhatif.render.amounts import plural
from kwhatif.render.gate import gate
from kwhatif.render.nodes import feasible_table, rejected_table
from kwhatif.render.preemption import candidates_table, story, victims_table
from kwhatif.render.text import FAINT, STRONG, WARN, indented, text
from kwhatif.render.verdict import verdict
from kwhatif.report import Decision, Report

#: With more pods than this, only verdicts are printed unless details are asked for.
MANY = 10


class Detail(msgspec.Struct, frozen=True):
    """How much to print. `now`: seconds since the epoch, for the age of pods."""

    now: int = 0
    wide: bool = False
    explain: bool = False
    quiet: bool = False


def tables(report: Report, detail: Detail) -> Iterator[RenderableType]:
    """Everything that is printed, top to bottom."""
    if report.command == "gate":
        yield from _gate(report, detail)
    else:
        yield from _judged_alone(report, detail)
    if not detail.quiet:
        yield from _caveats(report)


def _gate(report: Report, detail: Detail) -> Iterator[RenderableType]:
    yield from gate(report, quiet=detail.quiet)
    backed = [decision for decision in report.decisions if decision.rejected] if detail.wide else ()
    for decision in backed:
        yield ""
        yield verdict(decision, report)
        yield from _placement(decision, detail)
        # A gate keeps a few nodes of each kind; the counts are in the scheduler's words.
        hidden = report.snapshot.nodes - len(decision.rejected)
        if hidden > 0:
            yield text(f"Left out: {plural(hidden, 'node')} that {'says' if hidden == 1 else 'say'} the same", FAINT)


def _judged_alone(report: Report, detail: Detail) -> Iterator[RenderableType]:
    decisions = report.decisions
    brief = detail.quiet or (len(decisions) > MANY and not (detail.wide or detail.explain))
    for number, decision in enumerate(decisions):
        if number and not brief:
            yield ""
        yield verdict(decision, report)
        if not brief:
            parts = _preemption if report.command == "preempt" else _placement
            yield from parts(decision, detail)
    if not decisions:
        yield text("No pod is pending: nothing to decide.", FAINT)
    if len(decisions) > 1:
        yield _sum(decisions)


def _sum(decisions: tuple[Decision, ...]) -> Text:
    counts = Counter(decision.outcome for decision in decisions)
    words = {"Placed": "fit", "Preempts": "would evict", "Unschedulable": "stay pending", "Gated": "gated"}
    parts = [f"{count} {words.get(outcome, outcome.lower())}" for outcome, count in counts.items()]
    return text(f"{plural(len(decisions), 'pod')}, each judged on the same snapshot: {', '.join(parts)}", STRONG)


def _placement(decision: Decision, detail: Detail) -> Iterator[RenderableType]:
    if decision.feasible:
        yield feasible_table(decision.feasible, decision.ties, wide=detail.wide)
    if decision.rejected:
        yield rejected_table(decision.rejected, wide=detail.wide)
    yield from _victims(decision, detail)
    yield from _message(decision)


def _preemption(decision: Decision, detail: Detail) -> Iterator[RenderableType]:
    preemption = decision.preemption
    if preemption is not None and preemption.candidates:
        yield candidates_table(preemption, wide=detail.wide)
        yield from _victims(decision, detail)
    elif decision.rejected:
        yield rejected_table(decision.rejected, wide=detail.wide)
    if detail.explain:
        yield from story(decision)
    yield from _message(decision)


def _victims(decision: Decision, detail: Detail) -> Iterator[RenderableType]:
    chosen = decision.preemption.chosen if decision.preemption else None
    if chosen is not None:
        yield text(f"Victims on {chosen.node}", STRONG)
        yield victims_table(chosen.victims, chosen, detail.now)


def _message(decision: Decision) -> Iterator[RenderableType]:
    if decision.message and decision.outcome not in ("Denied", "Ignored"):
        yield text(f"kube-scheduler's words: {decision.message}", FAINT)


def _caveats(report: Report) -> Iterator[RenderableType]:
    found = {finding.message for finding in report.policy.findings} if report.policy else set()
    others = [caveat for caveat in report.caveats if caveat not in found]
    if others:
        yield ""
        yield text("Caveats", STRONG)
        for caveat in others:
            yield indented(text(f"• {caveat}", WARN))
