"""`FeasibleNodes`: the best of thousands of nodes, found after each placement without evaluating all of them.

Scores that are not normalised, and depend only on the node and its pods, are plain: they are computed once, and again
when a pod is added. All others form a group: nodes of one group have the same raw scores, so it is enough to normalise
one node of each group, and within a group the plain scores decide.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from typing import NamedTuple

from kwhatif.kube.model.overlay import Overlay
from kwhatif.scheduler.batch.ranked_nodes import RankedNodes, all_ties
from kwhatif.scheduler.framework.by_shape import ask_each
from kwhatif.scheduler.framework.cycle import Cycle, CycleError
from kwhatif.scheduler.framework.filters import NamedFilter
from kwhatif.scheduler.framework.incremental import Incremental, node_class
from kwhatif.scheduler.framework.plugin import NodeScorer, Reads
from kwhatif.scheduler.framework.scoring import Scores, add_columns, weighted
from kwhatif.scheduler.framework.status import Code
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.rows import NodeRow
from kwhatif.state.state import State


class _Column(NamedTuple):
    """One plugin's scores."""

    name: str
    scorer: NodeScorer
    weight: int

    @property
    def plain(self) -> bool:
        return self.scorer.reads < Reads.CLUSTER and not self.scorer.normalizes


class _Group:
    """Nodes that differ only in their plain scores."""

    __slots__ = ("counted", "order", "sample")

    def __init__(self, sample: NodeInfo, order: RankedNodes[int]) -> None:
        #: A node that is, or was, in the group.
        self.sample = sample
        #: By the sum of plain scores, negated: the best first.
        self.order = order
        #: The number of nodes that the scorers count as feasible.
        self.counted = 0

    def copy(self) -> _Group:
        """An independent copy."""
        other = _Group(self.sample, self.order.copy())
        other.counted = self.counted
        return other


def node_of(state: State, name: str) -> NodeInfo:
    """The node, which must exist; on a fork this is faster than `by_name`."""
    node = state.node(name)
    assert node is not None, "a batch ends when nodes are added or removed"
    return node


class Best(NamedTuple):
    """The node to choose: of equally good ones the first by name."""

    node: str
    score: int
    scores: dict[str, int]
    find_ties: Callable[[], tuple[str, ...]]
    tied: bool


class FeasibleNodes:
    """The nodes that pass all filters that read only the node, with their scores."""

    def __init__(self, cycle: Cycle, scores: Scores, moved: Collection[str]) -> None:
        """Set up.

        Args:
            cycle: has the filters, which are up to date.
            scores: the scores of all nodes that were feasible; the scorers are up to date, too.
            moved: nodes where pods were added or removed since.

        Raises:
            CycleError: a plugin failed.
        """
        self._use(cycle, scores)
        #: The part of the total that does not depend on plugins.
        self._floor = scores.total[0] - sum(column[0] for column in scores.by_plugin.values())
        #: Name of a node -> the key of its group.
        self._key_of: Overlay[str, Hashable] = Overlay()
        self._groups: dict[Hashable, _Group] = {}
        self._fill(scores)
        self.refresh(moved)
        if self._has_shared:
            # If a filter that reads only the node rejects it, the others do not matter.
            local = {name for name, _ in self._filters(local=True)}
            kept_out = {name for name, verdict in cycle.verdicts.items() if verdict.plugin in local}.difference(moved)
            placed = kept_out.union(self._key_of)
            self.refresh([node.name for node in cycle.state.nodes if node.name not in placed])

    def _use(self, cycle: Cycle, scores: Scores) -> None:
        self._cycle = cycle
        weights = cycle.profile.weights
        self._columns = [_Column(name, scorer, weights.get(name, 1)) for name, scorer in (scores.scorers or {}).items()]
        self._plain = [column for column in self._columns if column.plain]
        self._graded = [column for column in self._columns if not column.plain]
        self._has_shared = bool(self._filters(local=False))

    def _filters(self, *, local: bool) -> list[NamedFilter]:
        """The filters that read only the node (`local`), or the others."""
        return [named for named in self._cycle.filters if (named[1].reads < Reads.CLUSTER) is local]

    def fork(self, cycle: Cycle, scores: Scores) -> FeasibleNodes:
        """An independent copy, with the filters and scorers of a fork of the state."""
        other = copy(self)
        other._use(cycle, scores)
        other._key_of = self._key_of.fork()
        other._groups = {key: group.copy() for key, group in self._groups.items()}
        return other

    def _fill(self, scores: Scores) -> None:
        nodes = scores.nodes
        names = nodes.names if isinstance(nodes, NodeRow) else [node.name for node in nodes]
        numbers: dict[Hashable, int] = {}  # hashing a key takes as long as all the rest
        number_of = [numbers.setdefault(key, len(numbers)) for key in self._keys(nodes, scores.raw)]
        keys = list(numbers)
        plain = add_columns((scores.by_plugin[column.name] for column in self._plain), len(nodes))
        self._key_of = Overlay(dict(zip(names, map(keys.__getitem__, number_of), strict=True)))
        members: list[dict[str, int]] = [{} for _ in keys]
        for name, number, score in zip(names, number_of, plain, strict=True):
            members[number][name] = -score
        samples = dict(zip(number_of, nodes, strict=True))
        for number, ranks in enumerate(members):
            group = self._groups[keys[number]] = _Group(samples[number], RankedNodes(ranks))
            group.counted = len(ranks)

    def refresh(self, names: Iterable[str]) -> None:
        """Update after pods of these nodes have changed, or pods elsewhere may have moved them to other classes.

        Raises:
            CycleError: a plugin failed.
        """
        for name in names:
            node = node_of(self._cycle.state, name)
            before, found = self._key_of.pop(name), self._judge(node)
            if before is not None and (found is None or before != found[0]):
                self._groups[before].order.put(name, None)
            if found is not None:
                key, rank = found
                self._key_of.put(name, key)
                if key not in self._groups:
                    self._groups[key] = _Group(node, RankedNodes({}))
                self._groups[key].order.put(name, rank)

    def _judge(self, node: NodeInfo) -> tuple[Hashable, int] | None:
        """The key of the node's group, and its rank in it; None: it is not feasible."""
        if self._cycle.node_set is not None and node.name not in self._cycle.node_set:
            return None
        if not self._passes(node, self._filters(local=True)):
            return None
        raw = {name: [scorer.score(node)] for name, scorer, _ in self._columns if scorer.reads < Reads.CLUSTER}
        plain = [weighted(name, scorer, raw[name], [node], weight)[0] for name, scorer, weight in self._plain]
        return next(iter(self._keys([node], raw))), -sum(plain)

    def _passes(self, node: NodeInfo, filters: Sequence[NamedFilter]) -> bool:
        objection = self._cycle.check(node, filters)
        if objection is not None and objection.status.code is Code.ERROR:
            raise CycleError(f'running "{objection.plugin}" filter plugin: {objection.status.message}')
        return objection is None

    def _keys(self, nodes: Sequence[NodeInfo], raw: Mapping[str, list[int]]) -> Iterable[Hashable]:
        """The groups of nodes that pass the filters; `raw` are their scores that do not depend on other nodes."""
        classes: list[Iterable[Hashable]] = [
            ask_each(nodes, filter_, partial(node_class, filter_)) for _, filter_ in self._filters(local=False)
        ]
        nominated = self._cycle.state.nominated
        if nominated:
            on_node = self._cycle.nominated_on
            classes.append([node.name if node.name in nominated and on_node(node) else "" for node in nodes])
        for name, scorer, _ in self._graded:
            by_class = scorer.reads is Reads.CLUSTER
            classes.append(ask_each(nodes, scorer, partial(node_class, scorer)) if by_class else raw[name])
        return zip(*classes, strict=True) if classes else [()] * len(nodes)

    # --- the best ------------------------------------------------------------------------------------

    def best(self) -> Best | None:
        """The node to choose next; None if no node is feasible.

        Raises:
            CycleError: a plugin failed.
        """
        feasible = list(self._feasible())
        if not feasible:
            return None
        nodes = [node for _, _, node in feasible]
        by_plugin = {
            name: weighted(name, scorer, [scorer.score(node) for node in nodes], nodes, weight)
            for name, scorer, weight in self._graded
        }
        rows = list(zip(*by_plugin.values(), strict=True)) or [()] * len(nodes)
        totals = [self._floor + sum(row) - rank for (_, rank, _), row in zip(feasible, rows, strict=True)]
        highest = max(totals)
        winners = [index for index, total in enumerate(totals) if total == highest]
        first = min(winners, key=lambda index: nodes[index].name)
        node = nodes[first]
        plain = {
            name: weighted(name, scorer, [scorer.score(node)], [node], weight) for name, scorer, weight in self._plain
        }
        scores = {name: by_plugin[name][first] if name in by_plugin else plain[name][0] for name, _, _ in self._columns}
        find_ties = all_ties((feasible[index][0].order, feasible[index][1]) for index in winners)
        tied = len(winners) > 1 or feasible[first][0].order.is_tied()
        return Best(node.name, highest, scores, find_ties, tied)

    def _feasible(self) -> Iterator[tuple[_Group, int, NodeInfo]]:
        """The groups whose nodes pass the filters that read more than a node, with their best rank and first node."""
        shared = self._filters(local=False)
        for key, group in list(self._groups.items()):
            best = group.order.best()
            node = None if best is None else node_of(self._cycle.state, best[1])
            passes = node is not None and (not shared or self._passes(node, shared))
            self._count(group, len(group.order) if passes else 0)
            if best is None:
                del self._groups[key]
            elif node is not None and passes:
                yield group, best[0], node

    def _count(self, group: _Group, size: int) -> None:
        if size != group.counted:
            for column in self._graded:
                if isinstance(column.scorer, Incremental):
                    column.scorer.update_feasible_count(group.sample, size - group.counted)
            group.counted = size
