"""The report for people: a verdict per pod, then the tables that back it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
from rich.console import RenderableType
from rich.text import Text

from kwhatif.render.amounts import plural
from kwhatif.render.gate import gate, queued_before
from kwhatif.render.nodes import feasible_table, rejected_table
from kwhatif.render.preemption import candidates_table, story, victims_table
from kwhatif.render.text import FAINT, STRONG, WARN, indented, text
from kwhatif.render.verdict import verdict, workload_verdict
from kwhatif.report import Decision, Outcome, Report, SourceRow, WorkloadRow

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
        yield from _judged(report, detail)
    if not detail.quiet:
        yield from _caveats(report)


def _gate(report: Report, detail: Detail) -> Iterator[RenderableType]:
    yield from gate(report, quiet=detail.quiet)
    if not detail.quiet:
        yield from queued_before(report)
    backed = [decision for decision in report.decisions if decision.rejected] if detail.wide else ()
    for decision in backed:
        yield ""
        yield verdict(decision, report)
        yield from _placement(decision, detail)
        # A gate keeps a few nodes of each kind; the counts are in the scheduler's words.
        hidden = report.snapshot.nodes - len(decision.rejected)
        if hidden > 0:
            yield text(f"Left out: {plural(hidden, 'node')} that {'says' if hidden == 1 else 'say'} the same", FAINT)


def _judged(report: Report, detail: Detail) -> Iterator[RenderableType]:
    """Workload by workload, then the pods that are no workload's."""
    by_source: dict[SourceRow | None, list[Decision]] = {}
    for decision in report.decisions:
        by_source.setdefault(decision.source, []).append(decision)
    parts: list[tuple[WorkloadRow | None, list[Decision]]] = []
    for each in report.workloads:
        decisions = by_source.pop(each.source, [])
        is_itself = len(decisions) == 1 and each.name.endswith(f" {decisions[0].pod}")
        parts.append((None if is_itself else each, decisions))
    parts.extend((None, [decision]) for decisions in by_source.values() for decision in decisions)
    brief = detail.quiet or (len(parts) > MANY and not (detail.wide or detail.explain))
    for number, (row, decisions) in enumerate(parts):
        if number and not brief:
            yield ""
        if row is not None:
            yield workload_verdict(row)
        if row is None or not brief:
            yield from _pods(decisions, report, detail, brief=brief)
    if not parts:
        yield text("No pod is pending: nothing to decide.", FAINT)
    if len(parts) > 1:
        yield _sum(report)
    if not detail.quiet:
        yield from queued_before(report)


def _pods(decisions: Sequence[Decision], report: Report, detail: Detail, *, brief: bool) -> Iterator[RenderableType]:
    """The pods whose decisions say why; with `-o wide`, all."""
    for decision in decisions:
        if decision.detail == "short" and not detail.wide and len(decisions) > 1:
            continue
        if len(decisions) > 1:
            yield ""
        yield verdict(decision, report)
        if not brief and decision.detail != "short":
            yield from (_preemption if report.command == "preempt" else _placement)(decision, detail)


def _sum(report: Report) -> Text:
    counts = Counter(decision.outcome for decision in report.decisions)
    parts = [f"{count} {_one_or_many(outcome, count)}" for outcome, count in counts.items()]
    how = "each judged as if it were the only one" if report.alone else "one after another"
    return text(f"{plural(len(report.decisions), 'pod')}, {how}: {', '.join(parts) or 'none'}", STRONG)


def _one_or_many(outcome: Outcome, count: int) -> str:
    one, many = {
        "Placed": ("fits", "fit"),
        "Preempts": ("would evict", "would evict"),
        "Unschedulable": ("stays pending", "stay pending"),
        "Gated": ("is gated", "are gated"),
        "Denied": ("is refused", "are refused"),
        "Ignored": ("is ignored", "are ignored"),
        "Waits": ("waits", "wait"),
    }[outcome]
    return one if count == 1 else many


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
    if report.caveats:
        yield ""
        yield text("Caveats", STRONG)
        for caveat in report.caveats:
            yield indented(text(f"• {caveat}", WARN))
