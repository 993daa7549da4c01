"""All that keeps a pod from a node, not only what the scheduler names.

kube-scheduler asks the filters one after another, and stops at the first that objects. Whoever wants to help needs the
rest, too: here the other filters are asked as well. The verdict of the cycle stays as it is, and comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.errors import PluginFailed
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.filters import NamedFilter
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.state.node_info import NodeInfo


class Objections:
    """Asks the filters of one cycle about nodes that it has rejected; as long as the snapshot stays as it was.

    Costs one call per filter behind the one that objected; filters that read only a node's shape remember answers.
    """

    def __init__(self, cycle: Cycle) -> None:
        self._cycle = cycle
        filters = cycle.filters
        self._behind = {name: filters[place + 1 :] for place, (name, _) in enumerate(filters)}
        # Whoever narrowed the search to some nodes has spoken for all others already.
        self._open = [named for named in filters if named[1].only_nodes is None]

    def on(self, node: NodeInfo, first: Verdict) -> tuple[Verdict, ...]:
        """Every objection to the node, in the order of the filters; `first` is the scheduler's own.

        Just that one if no filter was asked: PreFilter stopped the cycle, or nobody looked at the node. What fails when
        it is asked after an objection, where the scheduler would not ask, is not an objection.
        """
        cycle = self._cycle
        if cycle.pre_filter_message or not first.status.reasons:
            return (first,)
        if cycle.state.nominated and cycle.nominated_on(node):
            # One that passes the node as it is may object to it with the nominated pods, and the other way round.
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
