"""Advice in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.render.advice import (
    GOING,
    GOING_TITLE,
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
from kwhatif.render.markdown_text import SIGNS, code, prose, rows_of
from kwhatif.report import Report
from kwhatif.report.advise import AdvisedRow, AdviseRow
from kwhatif.words.amounts import plural


def advise_parts(row: AdviseRow, report: Report) -> Iterator[str]:
    """A heading and a list for each workload."""
    if not row.workloads:
        found = counted(report)
        yield from (f"### {SIGNS[outcome]} {prose(said)}" for outcome, said in found)
        yield from ([] if found else ["### Nothing to advise: all pods fit"])
        return
    for number, each in enumerate(row.workloads):
        yield from ([""] if number else [])
        yield from (f"### {SIGNS[each.outcome]} {prose(headline(each, report))}", "", prose(introduction(each)), "")
        for place, advice in enumerate(each.advice, 1):
            yield f"{place}. {prose(advice_sentence(advice))}"
            yield from (f"   - {code(command)}" for command in commands(advice))
        yield from (f"- {prose(left_sentence(left))}" for left in each.left)
        if each.going:
            rows = (tuple(map(prose, going_cells(going))) for going in each.going)
            yield from ("", GOING_TITLE, "", *rows_of([title.capitalize() for title in GOING], rows))
    yield from _left_out(row)


def smallest_fixes(row: AdviseRow) -> Iterator[str]:
    """For the gate: under each workload that does not fit the cheapest advice."""
    if not row.workloads:
        return
    yield from ("", "#### Smallest fix", "")
    for each in row.workloads:
        yield f"- {code(each.workload)}: {_fix(each)}"
        yield from (f"  - {code(command)}" for advice in each.advice[:1] for command in commands(advice))
    yield from _left_out(row)


def _fix(row: AdvisedRow) -> str:
    if not row.advice:
        return prose(" ".join([introduction(row), *map(left_sentence, row.left[:1])]))
    advice = row.advice[0]
    changes = " and ".join(f"**{prose(change_sentence(change))}**" for change in advice.changes)
    return f"{changes}; {prose(effect(advice))}"


def _left_out(row: AdviseRow) -> Iterator[str]:
    if row.left_out:
        yield from ("", f"Not advised: {plural(row.left_out, 'more workload')} that do not fit")
