"""Tables of nodes: the feasible ones with their scores, the rejected ones with all that is said against them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.render.blocks import Cell, Row, Table, node, number, words
from kwhatif.render.detail import Detail
from kwhatif.render.rejections import nearest_first, objections_of, rejected_groups
from kwhatif.render.sentences import sentence
from kwhatif.report.nodes import FeasibleRow, RejectedRow
from kwhatif.words.amounts import plural

#: How many feasible nodes, and groups of rejected ones, are shown unless all are asked for.
_BEST = 5
_GROUPS = 6


def feasible_table(rows: Sequence[FeasibleRow], best: Sequence[str], detail: Detail) -> Table:
    """The best nodes; one column per plugin that scores them differently, or per plugin at all if wide."""
    plugins = list(dict.fromkeys(plugin for row in rows for plugin in row.scores))
    if not detail.wide:
        plugins = [plugin for plugin in plugins if len({row.scores.get(plugin, 0) for row in rows}) > 1]
    shown = rows[: detail.rows(max(_BEST, len(best) if len(best) <= 2 * _BEST else _BEST))]
    equal = set(best)
    columns = (node(), number("Score"), *(number(plugin, named=True) for plugin in plugins))
    hidden = len(rows) - len(shown)
    return Table(
        columns,
        [_feasible(row, plugins, is_best=row.node in equal) for row in shown],
        most=None,
        rest=(f"… {hidden:,} more", *[""] * (len(columns) - 1)) if hidden else None,
    )


def _feasible(row: FeasibleRow, plugins: Sequence[str], *, is_best: bool) -> Row:
    scores = [str(row.scores.get(plugin, 0)) for plugin in plugins]
    if is_best:
        return Cell(row.node, "good"), Cell(str(row.score), "good"), *scores
    return row.node, str(row.score), *scores


def rejected_table(rows: Sequence[RejectedRow], detail: Detail, *, may_evict: bool = False) -> Table:
    """Rejected nodes, the nearest miss first: those with the same objections in one group, or one by one if wide.

    `may_evict`: what eviction can clear counts less.
    """
    if detail.wide:
        return _each(nearest_first(rows, may_evict=may_evict))
    groups = rejected_groups(rows, may_evict=may_evict)
    shown = groups[: detail.rows(_GROUPS)]
    made: list[Row] = []
    for group in shown:
        *others, last = [(objection.reasons, objection.evidence) for objection in group.objections]
        made += _objections(f"{group.size:,}", [*others, (last[0], [*last[1], group.where])])
    hidden = groups[len(shown) :]
    count = f"{sum(group.size for group in hidden):,}"
    return Table(
        (number("Nodes"), words("Reason"), words("Evidence")),
        made,
        most=None,
        rest=(count, f"… {plural(len(hidden), 'more group')}", "") if hidden else None,
    )


def _each(rows: Sequence[RejectedRow]) -> Table:
    made: list[Row] = []
    for row in rows:
        said = [
            (each.plugin, (each.reasons, [sentence(item) for item in each.evidence])) for each in objections_of(row)
        ]
        made += [(row.node if not place else "", plugin, *objection) for place, (plugin, objection) in enumerate(said)]
    return Table((node(), words("Plugin"), words("Reason"), words("Evidence")), made, most=None)


def _objections(first: str, parts: Sequence[tuple[Sequence[str], Sequence[str]]]) -> Iterator[Row]:
    """A row per objection, so that each reason stands beside its evidence; the first cell only once."""
    for reasons, evidence in parts:
        yield first, reasons, evidence
        first = ""
