"""All reasons why a pod does not fit on a node, not only the one that the scheduler names.

kube-scheduler runs the filters in order, and stops at the first rejection. To help a user, the rest is needed too, so
the other filters run here as well. The verdict of the cycle is unchanged, and comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.errors import PluginFailed
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.filters import NamedFilter
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.state.node_info import NodeInfo


class Objections:
    """Runs the filters of one cycle on nodes that it has rejected, while the state is unchanged.

    Costs one call per filter after the one that rejected; answers of filters that read only a node's shape are kept.
    """

    def __init__(self, cycle: Cycle) -> None:
        self._cycle = cycle
        filters = cycle.filters
        self._behind = {name: filters[place + 1 :] for place, (name, _) in enumerate(filters)}
        # A filter that narrowed the search to some nodes has already rejected all others.
        self._open = [named for named in filters if named[1].only_nodes is None]

    def on(self, node: NodeInfo, first: Verdict) -> tuple[Verdict, ...]:
        """Every rejection of the node, in the order of the filters; `first` is the scheduler's own.

        Only that one if no filter ran: PreFilter stopped the cycle, or the node was not evaluated. A filter that fails
        after a rejection, where the scheduler would not run it, does not count.
        """
        cycle = self._cycle
        if cycle.pre_filter_message or not first.status.reasons:
            return (first,)
        if cycle.state.nominated and cycle.nominated_on(node):
            # A filter that passes the node may reject it with the nominated pods, and the other way round.
            others: Sequence[NamedFilter] = [named for named in cycle.filters if named[0] != first.plugin]
        else:
            others = self._behind.get(first.plugin, self._open)
        found = tuple(self._ask(node, others))
        return (first, *found) if found else (first,)

    def _ask(self, node: NodeInfo, filters: Sequence[NamedFilter]) -> Iterator[Verdict]:
        for named in filters:
            try:
                verdict = self._cycle.check(node, (named,))
            except PluginFailed:
                continue
            if verdict is not None and verdict.status.rejected:
                yield verdict
