"""`kwhatif advise` in blocks, and the smallest fixes of a gate."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.render.advice import (
    advice_sentence,
    change_sentence,
    commands,
    counted,
    effect,
    going_cells,
    headline,
    introduction,
    left_sentence,
)
from kwhatif.render.blocks import (
    Block,
    Heading,
    Item,
    Listing,
    Sentence,
    Span,
    Table,
    Verdict,
    exact,
    node,
    number,
    words,
)
from kwhatif.render.detail import Detail
from kwhatif.report import Report
from kwhatif.report.advise import AdvisedRow, AdviseRow
from kwhatif.words.amounts import plural


def advise(report: Report, row: AdviseRow, detail: Detail) -> Iterator[Block]:
    """Workload by workload."""
    if not row.workloads:
        yield from _nothing(report)
        return
    if detail.quiet:
        yield Listing([item for each in row.workloads for item in _in_short(each, report)], "lines")
    for each in () if detail.quiet else row.workloads:
        yield Verdict(headline(each, report), each.outcome, "strong")
        yield from _advice(each)
    yield from _left_out(row)


def _nothing(report: Report) -> Iterator[Block]:
    found = counted(report)
    if found:
        yield Listing([Item(said, tone="strong", sign=outcome) for outcome, said in found], "lines")
    elif report.decisions:
        yield Verdict(f"{plural(len(report.decisions), 'pod')}: nothing to advise, all fit", "Placed")
    else:
        yield Verdict("No pod to advise.", tone="faint")


def _in_short(row: AdvisedRow, report: Report) -> Iterator[Item]:
    yield Item(headline(row, report), tone="strong", sign=row.outcome)
    yield from (Item(advice_sentence(each), depth=1) for each in row.advice[:1])


def _advice(row: AdvisedRow) -> Iterator[Block]:
    yield Sentence(introduction(row), depth=1)
    if row.advice:
        yield Listing([Item(advice_sentence(each), tuple(commands(each))) for each in row.advice], "numbers")
    if row.left:
        yield Listing([Item(left_sentence(left), depth=1) for left in row.left])
    if row.going:
        said = "Others cost less than the pods that the scheduler evicts, if you delete them yourself:"
        yield Sentence(said, depth=1)
        columns = (words("Who goes"), node(), number("Priority"), words("Breaks"), number("Cost"))
        yield Table(columns, [going_cells(each) for each in row.going])


def smallest_fixes(row: AdviseRow) -> Iterator[Block]:
    """For the gate: under each workload that does not fit the cheapest advice."""
    if not row.workloads:
        return
    yield Heading("Smallest fix")
    yield Listing(
        [
            Item(tuple(_fix(each)), [command for advice in each.advice[:1] for command in commands(advice)])
            for each in row.workloads
        ]
    )
    yield from _left_out(row)


def _fix(row: AdvisedRow) -> Iterator[str | Span]:
    yield exact(row.workload)
    yield ": "
    if not row.advice:
        yield " ".join([introduction(row), *map(left_sentence, row.left[:1])])
        return
    for place, change in enumerate(row.advice[0].changes):
        yield from (" and ",) if place else ()
        yield Span(change_sentence(change), "strong")
    yield f"; {effect(row.advice[0])}"


def _left_out(row: AdviseRow) -> Iterator[Block]:
    if row.left_out:
        yield Sentence(f"Not advised: {plural(row.left_out, 'more workload')} that do not fit", "faint")
