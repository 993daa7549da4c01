"""Tables of nodes: the feasible ones with their scores, the rejected ones grouped by reason with the evidence."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from kwhatif.render.amounts import plural, some
from kwhatif.render.sentences import sentence, summary
from kwhatif.render.text import FAINT, GOOD, lines, table, text
from kwhatif.report import FeasibleRow, RejectedRow

#: How many feasible nodes are shown unless all are asked for.
BEST = 5


def feasible_table(rows: Sequence[FeasibleRow], best: Sequence[str], *, wide: bool) -> Table:
    """The best nodes; one column per plugin that tells them apart, or per plugin at all if `wide`."""
    plugins = list(dict.fromkeys(plugin for row in rows for plugin in row.scores))
    if not wide:
        plugins = [plugin for plugin in plugins if len({row.scores.get(plugin, 0) for row in rows}) > 1]
    shown = rows if wide else rows[: max(BEST, len(best) if len(best) <= 2 * BEST else BEST)]
    made = table("NODE", "SCORE", *plugins, right=("SCORE", *plugins))
    for row in shown:
        style = GOOD if row.node in best else ""
        cells = [text(row.scores.get(plugin, 0)) for plugin in plugins]
        made.add_row(text(row.node, style), text(row.score, style), *cells)
    hidden = len(rows) - len(shown)
    if hidden:
        made.add_row(text(f"… {plural(hidden, 'more feasible node')} (-o wide)", FAINT))
    return made


def rejected_table(rows: Sequence[RejectedRow], *, wide: bool) -> Table:
    """Rejected nodes: grouped by plugin and reasons, or one line each if `wide`."""
    return _each(rows) if wide else _grouped(rows)


def _grouped(rows: Sequence[RejectedRow]) -> Table:
    groups: dict[tuple[str, tuple[str, ...]], list[RejectedRow]] = {}
    for row in rows:
        groups.setdefault((row.plugin, row.reasons), []).append(row)
    made = table("NODES", "REASON", "EVIDENCE", right=("NODES",))
    for (_, reasons), group in sorted(groups.items(), key=lambda item: -len(item[1])):
        found = [(row.node, evidence) for row in group for evidence in row.evidence]
        made.add_row(
            text(len(group)),
            lines(reasons),
            lines([*summary(found), f"on {some([row.node for row in group])}"]),
        )
    return made


def _each(rows: Sequence[RejectedRow]) -> Table:
    made = table("NODE", "PLUGIN", "REASON", "EVIDENCE")
    for row in rows:
        made.add_row(
            text(row.node), text(row.plugin), lines(row.reasons), lines([sentence(item) for item in row.evidence])
        )
    return made
