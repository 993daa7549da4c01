"""`Board`: the best of thousands of feasible nodes, found anew after each placement without looking at all of them.

Scores that are not normalised, and hang on the node and its pods alone, are plain: they are asked once, and again when
a pod comes. All others make up a group: nodes of one group have the same raw scores, so that normalising one node of
each is enough, and within a group the plain scores decide.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from functools import partial
from heapq import heappop, heappush
from itertools import repeat
from typing import NamedTuple

from kwhatif.framework.cycle import Cycle, CycleError, NamedFilter
from kwhatif.framework.plugin import NodeScorer, Reads
from kwhatif.framework.scoring import Scores, weighted
from kwhatif.framework.status import Code, Verdict
from kwhatif.snapshot.node_info import NodeInfo
from kwhatif.whatif.placing.history import History


class _Column(NamedTuple):
    """One plugin's scores."""

    name: str
    scorer: NodeScorer
    weight: int

    @property
    def plain(self) -> bool:
        return self.scorer.reads < Reads.CLUSTER and not self.scorer.normalizes


class _Group:
    """Nodes that only their plain scores tell apart."""

    __slots__ = ("admitted", "heap", "number", "sample", "size")

    def __init__(self, number: int, sample: NodeInfo) -> None:
        self.number = number
        self.size = 0
        #: How many of the nodes the scorers take to be feasible.
        self.admitted = 0
        #: A node that is, or was, in the group.
        self.sample = sample
        #: (sum of plain scores, negated; name): the best first. What is out of date is dropped when it comes up.
        self.heap: list[tuple[int, str]] = []


class _Place(NamedTuple):
    """Where a node stands."""

    group: _Group
    #: The plain scores, and their sum.
    plain: tuple[int, ...]
    total: int


class Best(NamedTuple):
    """The node to take: of equally good ones the first by name."""

    node: str
    score: int
    scores: dict[str, int]
    find_ties: Callable[[], tuple[str, ...]]


class Board:
    """The nodes that pass all filters that look at nothing beyond a node, with their scores."""

    def __init__(self, cycle: Cycle, scores: Scores, moved: Collection[str] = ()) -> None:
        """Set up.

        Args:
            cycle: the filters, which have followed all placements.
            scores: of all nodes that were feasible; the scorers have followed all placements, too.
            moved: nodes where pods have come or gone since.

        Raises:
            CycleError: a plugin failed.
        """
        self._cycle = cycle
        weights = cycle.profile.weights
        columns = [_Column(name, scorer, weights.get(name, 1)) for name, scorer in (scores.scorers or {}).items()]
        self._columns = columns
        self._plain = [column for column in columns if column.plain]
        self._graded = [column for column in columns if not column.plain]
        self._local = [named for named in cycle.filters if named[1].reads < Reads.CLUSTER]
        self._shared = [named for named in cycle.filters if named[1].reads is Reads.CLUSTER]
        #: What every node has, whatever the plugins say.
        self._floor = scores.total[0] - sum(column[0] for column in scores.by_plugin.values())
        self._groups: dict[Hashable, _Group] = {}
        self._made = 0
        self._places: dict[str, _Place] = {}
        self._fill(scores, moved)
        self._history = History({name: (place.group.number, place.total) for name, place in self._places.items()})

    def _fill(self, scores: Scores, moved: Collection[str]) -> None:
        raw = [scores.raw[column.name] for column in self._columns]
        rows = zip(*raw, strict=True) if raw else repeat(())
        for node, row in zip(scores.nodes, rows, strict=False):
            place = self._judge(node.name) if node.name in moved else self._locate(node, row)
            self._put(node.name, place)
            if place is not None:
                place.group.admitted += 1
            else:
                for column in self._graded:
                    column.scorer.admit(node, -1)
        for node in self._cycle.snapshot.nodes if self._shared else ():
            if node.name not in self._places:
                self._put(node.name, self._judge(node.name))

    def refresh(self, names: Iterable[str]) -> None:
        """Pods have come to these nodes or gone, or may else have moved them to other cells.

        Raises:
            CycleError: a plugin failed.
        """
        for name in names:
            before = self._places.get(name)
            self._put(name, self._judge(name))
            after = self._places.get(name)
            if before is not after:
                self._history.note(name, (after.group.number, after.total) if after else None)

    def _put(self, name: str, place: _Place | None) -> None:
        before = self._places.pop(name, None)
        if before is not None:
            before.group.size -= 1
        if place is not None:
            place.group.size += 1
            heappush(place.group.heap, (-place.total, name))
            self._places[name] = place

    def _judge(self, name: str) -> _Place | None:
        """The place of a node, if it has one."""
        node = self._cycle.snapshot.by_name[name]
        if self._cycle.node_set is not None and name not in self._cycle.node_set:
            return None
        return self._locate(node) if self._passes(node, self._local) else None

    def _passes(self, node: NodeInfo, filters: Sequence[NamedFilter]) -> bool:
        objection = self._cycle.check(node, filters)
        if objection is not None and objection.status.code is Code.ERROR:
            raise CycleError(_failed(objection))
        return objection is None

    def _locate(self, node: NodeInfo, row: Sequence[int] | None = None) -> _Place:
        """The place of a node that passes the filters; `row` are its raw scores, where they are known."""
        cells: list[Hashable] = [filter_.cell(node) for _, filter_ in self._shared]
        if self._cycle.nominated_on(node):
            cells.append(node.name)
        plain = []
        for index, column in enumerate(self._columns):
            scorer = column.scorer
            if scorer.reads is Reads.CLUSTER:
                cells.append(scorer.cell(node))
                continue
            raw = scorer.score(node) if row is None else row[index]
            if scorer.normalizes:
                cells.append(raw)
            else:
                plain += weighted(column.name, scorer, [raw], [node], column.weight)
        return _Place(self._group(tuple(cells), node), tuple(plain), sum(plain))

    def _group(self, key: Hashable, node: NodeInfo) -> _Group:
        group = self._groups.get(key)
        if group is None:
            self._made += 1
            group = self._groups[key] = _Group(self._made, node)
        return group

    # --- the best ------------------------------------------------------------------------------------

    def best(self) -> Best | None:
        """The node to take next; None when no node is feasible.

        Raises:
            CycleError: a plugin failed.
        """
        feasible = self._feasible()
        if not feasible:
            return None
        nodes = [node for _, node in feasible]
        by_plugin = {
            name: weighted(name, scorer, [scorer.score(node) for node in nodes], nodes, weight)
            for name, scorer, weight in self._graded
        }
        rows = list(zip(*by_plugin.values(), strict=True)) or [()] * len(nodes)
        totals = [self._floor + sum(row) - group.heap[0][0] for (group, _), row in zip(feasible, rows, strict=True)]
        highest = max(totals)
        winners = [index for index, total in enumerate(totals) if total == highest]
        first = min(winners, key=lambda index: nodes[index].name)
        node = nodes[first]
        plain = dict(zip([column.name for column in self._plain], self._places[node.name].plain, strict=True))
        scores = {name: by_plugin[name][first] if name in by_plugin else plain[name] for name, _, _ in self._columns}
        places = [(group.number, -group.heap[0][0]) for group, _ in map(feasible.__getitem__, winners)]
        return Best(node.name, highest, scores, partial(self._history.at, self._history.now, places))

    def _feasible(self) -> list[tuple[_Group, NodeInfo]]:
        """The groups whose nodes pass the filters that look beyond a node, each with its first node."""
        feasible = []
        for key, group in list(self._groups.items()):
            node = self._first_of(group)
            passes = node is not None and (not self._shared or self._passes(node, self._shared))
            self._admit(group, group.size if passes else 0)
            if node is None:
                del self._groups[key]
            elif passes:
                feasible.append((group, node))
        return feasible

    def _admit(self, group: _Group, size: int) -> None:
        if size != group.admitted:
            for column in self._graded:
                column.scorer.admit(group.sample, size - group.admitted)
            group.admitted = size

    def _first_of(self, group: _Group) -> NodeInfo | None:
        heap = group.heap
        while heap:
            total, name = heap[0]
            place = self._places.get(name)
            if place is not None and place.group is group and place.total == -total:
                return self._cycle.snapshot.by_name[name]
            heappop(heap)
        return None


def _failed(objection: Verdict) -> str:
    return f'running "{objection.plugin}" filter plugin: {objection.status.message}'
