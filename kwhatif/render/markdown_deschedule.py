"""`kwhatif deschedule` as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.render.descheduling import (
    REFUSALS,
    headline,
    landing_sentence,
    rounds_sentence,
    spared_rules,
    why,
)
from kwhatif.render.markdown_text import QUALITIES, cell, prose, rows_of
from kwhatif.report.deschedule import DescheduleRow


def deschedule_parts(row: DescheduleRow, doubt: str) -> Iterator[str]:
    """The verdict with what it depends on, the attempts, and the rules that spare pods."""
    quality, said = headline(row, doubt)
    yield f"### {QUALITIES[quality]} {prose(said)}"
    later = rounds_sentence(row)
    yield from ("", prose(later[:1].upper() + later[1:])) if later else ()
    if row.evicted:
        evicted = (
            (
                str(each.order),
                cell(each.pod),
                cell(each.node),
                each.plugin,
                prose(why(each.why)),
                prose(landing_sentence(each.replacement)) if each.replacement else "",
            )
            for each in row.evicted
        )
        yield from ("", *rows_of(("#", "Pod", "Node", "Strategy", "Why", "Then"), evicted))
    if row.refused:
        refused = (
            (str(each.order), cell(each.pod), each.plugin, prose(", ".join((REFUSALS[each.by], *each.budgets))))
            for each in row.refused
        )
        yield from ("", "Not evicted, although a strategy wants to:", "")
        yield from rows_of(("#", "Pod", "Strategy", "Kept by"), refused)
    rules = spared_rules(row)
    if rules:
        yield from ("", "<details><summary>Spared by the evictor</summary>", "")
        yield from rows_of(("Pods", "Rule"), ((f"{len(pods):,}", prose(rule)) for rule, pods in rules.items()))
        yield from ("", "</details>")
