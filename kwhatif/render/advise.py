"""`kwhatif advise` for people."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from kwhatif.render.advice import (
    GOING,
    GOING_TITLE,
    advice_sentence,
    commands,
    counted,
    going_cells,
    headline,
    introduction,
    left_sentence,
)
from kwhatif.render.detail import Detail
from kwhatif.render.outcomes import SIGNS
from kwhatif.render.text import FAINT, STRONG, indented, signed, table, text, whole
from kwhatif.report import Report
from kwhatif.report.advise import AdvisedRow, AdviseRow
from kwhatif.words.amounts import plural


def advise(report: Report, row: AdviseRow, detail: Detail) -> Iterator[RenderableType]:
    """Workload by workload."""
    if not row.workloads:
        found = counted(report)
        for outcome, said in found:
            yield signed(SIGNS[outcome], said, STRONG)
        if found:
            return
        said = f"{plural(len(report.decisions), 'pod')}: nothing to advise, all fit"
        yield signed(SIGNS["Placed"], said) if report.decisions else text("No pod to advise.", FAINT)
        return
    for number, each in enumerate(row.workloads):
        if number and not detail.quiet:
            yield ""
        yield from _workload(each, report, detail)
    if row.left_out:
        yield text(f"Not advised: {plural(row.left_out, 'more workload')} that do not fit", FAINT)


def _workload(row: AdvisedRow, report: Report, detail: Detail) -> Iterator[RenderableType]:
    yield signed(SIGNS[row.outcome], detail.names.cut(headline(row, report)), STRONG)
    if detail.quiet:
        yield from (indented(text(detail.names.cut(advice_sentence(each)))) for each in row.advice[:1])
        return
    yield indented(text(detail.names.cut(introduction(row))))
    for place, advice in enumerate(row.advice, 1):
        yield indented(Text.assemble(f"{place}. ", text(detail.names.cut(advice_sentence(advice)))), 2)
        yield from (whole(command, FAINT, 5) for command in commands(advice))
    yield from (indented(Text.assemble("• ", text(detail.names.cut(left_sentence(left)))), 4) for left in row.left)
    if row.going:
        yield indented(text(GOING_TITLE))
        made = table(*GOING, right=("PRIORITY", "COST"))
        for each in row.going:
            made.add_row(*(text(detail.names.cut(cell)) for cell in going_cells(each)))
        yield made
