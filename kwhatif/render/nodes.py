"""Tables of nodes: the feasible ones with their scores, the rejected ones with all that is said against them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from kwhatif.render.detail import Detail
from kwhatif.render.rejections import nearest_first, objections_of, rejected_groups
from kwhatif.render.sentences import sentence
from kwhatif.render.text import FAINT, GOOD, lines, table, text
from kwhatif.report.nodes import FeasibleRow, RejectedRow
from kwhatif.words.amounts import plural

#: How many feasible nodes, and groups of rejected ones, are shown unless all are asked for.
BEST = 5
GROUPS = 6


def feasible_table(rows: Sequence[FeasibleRow], best: Sequence[str], detail: Detail) -> Table:
    """The best nodes; one column per plugin that scores them differently, or per plugin at all if wide."""
    plugins = list(dict.fromkeys(plugin for row in rows for plugin in row.scores))
    if not detail.wide:
        plugins = [plugin for plugin in plugins if len({row.scores.get(plugin, 0) for row in rows}) > 1]
    shown = rows if detail.wide else rows[: max(BEST, len(best) if len(best) <= 2 * BEST else BEST)]
    made = table("NODE", "SCORE", *plugins, right=("SCORE", *plugins))
    for row in shown:
        style = GOOD if row.node in best else ""
        cells = [text(row.scores.get(plugin, 0)) for plugin in plugins]
        made.add_row(text(detail.names.cut(row.node), style), text(row.score, style), *cells)
    hidden = len(rows) - len(shown)
    if hidden:
        made.add_row(text(f"… {hidden:,} more (-o wide)", FAINT))
    return made


def rejected_table(rows: Sequence[RejectedRow], detail: Detail, *, may_evict: bool = False) -> Table:
    """Rejected nodes, the nearest miss first: those with the same objections in one group, or one by one if wide.

    `may_evict`: what eviction can clear counts less.
    """
    return _each(rows, detail, may_evict=may_evict) if detail.wide else _grouped(rows, detail, may_evict=may_evict)


def _grouped(rows: Sequence[RejectedRow], detail: Detail, *, may_evict: bool) -> Table:
    groups = rejected_groups(rows, may_evict=may_evict)
    made = table("NODES", "REASON", "EVIDENCE", right=("NODES",))
    for group in groups[:GROUPS]:
        *others, last = [(objection.reasons, objection.evidence) for objection in group.objections]
        parts = [*others, (last[0], [*last[1], group.where])]
        _add(made, text(f"{group.size:,}"), parts, detail)
    hidden = groups[GROUPS:]
    if hidden:
        count = sum(group.size for group in hidden)
        made.add_row(text(f"{count:,}", FAINT), text(f"… {plural(len(hidden), 'more group')} (-o wide)", FAINT), "")
    return made


def _each(rows: Sequence[RejectedRow], detail: Detail, *, may_evict: bool) -> Table:
    made = table("NODE", "PLUGIN", "REASON", "EVIDENCE")
    for row in nearest_first(rows, may_evict=may_evict):
        name = text(detail.names.cut(row.node))
        for objection in objections_of(row):
            said = [detail.names.cut(sentence(item)) for item in objection.evidence]
            made.add_row(name, text(objection.plugin), lines(objection.reasons), lines(said))
            name = text("")
    return made


def _add(made: Table, first: Text, parts: Iterable[tuple[Sequence[str], Sequence[str]]], detail: Detail) -> None:
    """A row per objection, so that each reason stands beside its evidence; the first cell only once."""
    for reasons, evidence in parts:
        made.add_row(first, lines(reasons), lines([detail.names.cut(line) for line in evidence]))
        first = text("")
