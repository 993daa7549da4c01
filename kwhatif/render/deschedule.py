"""`kwhatif deschedule` for people: strategy by strategy whom it evicts, who is spared, and what the nodes gain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from rich.console import RenderableType
from rich.text import Text

from kwhatif.descheduler.attempt import StrategyRow
from kwhatif.render.descheduling import (
    REFUSALS,
    headline,
    landing_sentence,
    node_classes,
    rounds_sentence,
    spared_rules,
    why,
)
from kwhatif.render.detail import Detail
from kwhatif.render.outcomes import QUALITIES
from kwhatif.render.text import BAD, FAINT, GOOD, STRONG, WARN, hidden, signed, table, text
from kwhatif.report.deschedule import DescheduleRow, EvictedRow, EvictionRefusedRow, Landing, NodeUseRow
from kwhatif.words.amounts import plural, some

#: So many rows are shown of each table, unless it is wide.
_MOST_ROWS = 20
#: Cells of a bar: an eighth of a node is as much as one sees at a glance.
_BAR = 8
_STYLES: Mapping[Landing, str] = {
    "Elsewhere": GOOD,
    "SameNode": WARN,
    "Preempts": WARN,
    "Pending": BAD,
    "None": FAINT,
}


def deschedule(row: DescheduleRow, detail: Detail, doubt: str) -> Iterator[RenderableType]:
    """The verdict, with what it depends on, then a table for each strategy."""
    quality, said = headline(row, doubt)
    yield signed(QUALITIES[quality], said)
    if detail.quiet or row.skipped:
        return
    later = rounds_sentence(row)
    if later:
        yield text(later, FAINT if row.course == "Settles" else WARN)
    yield ""
    for strategy in row.plugins:
        yield from _strategy(strategy, row, detail)
    yield from _spared(row, detail)
    yield from _nodes(row, detail)


def _strategy(strategy: StrategyRow, row: DescheduleRow, detail: Detail) -> Iterator[RenderableType]:
    profile = f" of profile {strategy.profile}" if len({each.profile for each in row.plugins}) > 1 else ""
    refused = f", {strategy.refused:,} refused" if strategy.refused else ""
    yield text(f"{strategy.plugin}{profile}: {plural(strategy.evicted, 'eviction')}{refused}", STRONG)
    if strategy.error:
        yield text(f"fails: {strategy.error}", WARN)
    classes = node_classes(strategy, row)
    if classes:
        yield text(classes, FAINT)
    for note in strategy.notes if detail.wide else _distinct(strategy.notes):
        yield text(note, FAINT)
    evicted = [each for each in row.evicted if _is_by(strategy, each)]
    refusals = [each for each in row.refused if _is_by(strategy, each)]
    if not (evicted or refusals):
        yield ""
    else:
        yield from _attempts(sorted([*evicted, *refusals], key=lambda each: each.order), detail)


def _distinct(notes: Sequence[str]) -> Iterator[str]:
    """Of notes that begin alike, the first, and how many more there are."""
    for _, alike in groupby(notes, lambda note: note.partition(":")[0]):
        first, *others = alike
        yield f"{first} (and {len(others):,} more)" if others else first


def _is_by(strategy: StrategyRow, row: EvictedRow | EvictionRefusedRow) -> bool:
    return (row.profile, row.plugin) == (strategy.profile, strategy.plugin)


def _attempts(rows: Sequence[EvictedRow | EvictionRefusedRow], detail: Detail) -> Iterator[RenderableType]:
    made = table("#", "POD", "NODE", "WHY", "THEN", right=("#",))
    shown = rows if detail.wide else rows[:_MOST_ROWS]
    for row in shown:
        made.add_row(
            text(row.order),
            text(row.pod),
            text(detail.names.cut(row.node)),
            text(detail.names.cut(why(row.why))),
            _then(row, detail),
        )
    yield made
    if len(shown) < len(rows):
        yield from hidden(shown, rows)
        yield ""


def _then(row: EvictedRow | EvictionRefusedRow, detail: Detail) -> Text:
    if isinstance(row, EvictionRefusedRow):
        budgets = f": {', '.join(row.budgets)}" if row.budgets else ""
        return text(f"stays: {REFUSALS[row.by]}{budgets}", FAINT)
    if row.replacement is None:
        return text("")
    said = landing_sentence(row.replacement)
    return text(detail.names.cut(said), _STYLES[row.replacement.landing])


def _spared(row: DescheduleRow, detail: Detail) -> Iterator[RenderableType]:
    rules = spared_rules(row)
    if not rules:
        return
    yield text("Spared by the evictor, whatever a strategy wants", STRONG)
    made = table("PODS", "RULE", "FOR EXAMPLE", right=("PODS",))
    for rule, pods in rules.items():
        made.add_row(text(f"{len(pods):,}"), text(rule), text(some(pods, 100 if detail.wide else 2)))
    yield made


def _nodes(row: DescheduleRow, detail: Detail) -> Iterator[RenderableType]:
    changed = [node for node in row.nodes if node.before != node.after]
    if not changed:
        return
    resources = list(dict.fromkeys(name for node in changed for name in node.before))
    yield text("Requested of the nodes, before and after", STRONG)
    made = table("NODE", *(f"{name.upper()} %" for name in resources))
    shown = changed if detail.wide else changed[:_MOST_ROWS]
    for node in shown:
        made.add_row(text(detail.names.cut(node.node)), *(_use(node, name) for name in resources))
    yield made
    if len(shown) < len(changed):
        yield text(f"{len(changed) - len(shown):,} more nodes change (-o wide)", FAINT)


def _use(node: NodeUseRow, name: str) -> Text:
    before, after = node.before.get(name, 0.0), node.after.get(name, 0.0)
    return text(f"{_bar(after)} {before:3.0f} → {after:3.0f}")


def _bar(percent: float) -> str:
    """All of it for a hundred percent."""
    filled = min(_BAR, round(percent / 100 * _BAR))
    return "█" * filled + "░" * (_BAR - filled)
