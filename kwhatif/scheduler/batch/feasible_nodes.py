"""`FeasibleNodes`: the best of thousands of nodes, found after each placement without evaluating all of them.

Scores that are not normalised, and depend only on the node and its pods, are plain: they are computed once, and again
when a pod is added. All others form a group: nodes of one group have the same raw scores, so it is enough to normalise
one node of each group, and within a group the plain scores decide.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from heapq import heapify, heappop, heappush, merge
from operator import itemgetter
from typing import Generic, NamedTuple, TypeVar

from kwhatif.kube.model.overlay import Overlay
from kwhatif.scheduler.framework.cycle import Cycle, CycleError
from kwhatif.scheduler.framework.filters import NamedFilter, ask_each
from kwhatif.scheduler.framework.incremental import Incremental, node_class
from kwhatif.scheduler.framework.plugin import NodeScorer, Reads
from kwhatif.scheduler.framework.scoring import Scores, add_columns, weighted
from kwhatif.scheduler.framework.status import Code
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.state import NodeRow, State

AnyRank = TypeVar("AnyRank", int, tuple[int, ...])


class RankedNodes(Generic[AnyRank]):
    """Nodes by rank; the lowest rank is the best, and of equally good nodes the first by name.

    Thousands of pods may each have ties of thousands of nodes. So ties are computed on demand from the changes since
    the start, which is fast if they are requested in order. A copy shares everything that does not change, so it is
    cheap for any number of nodes.
    """

    def __init__(self, ranks: dict[str, AnyRank]) -> None:
        """`ranks`: rank by node name; this object takes over the dictionary."""
        #: All initial ranks as a heap that is never changed again: copies share it.
        self._heap: list[tuple[AnyRank, str]] = [(rank, name) for name, rank in ranks.items()]
        heapify(self._heap)
        #: The rest of the heap: the best of each part, and its index.
        self._front: list[tuple[AnyRank, str, int]] = [(rank, name, 0) for rank, name in self._heap[:1]]
        #: Later ranks, as a heap. Outdated entries are dropped when they are at the top, as above.
        self._later: list[tuple[AnyRank, str]] = []
        #: The number of nodes by rank, without zeros.
        self._numbers: Overlay[AnyRank, int] = Overlay(Counter(ranks.values()))
        self._begin(Overlay(ranks))

    def _begin(self, ranks: Overlay[str, AnyRank]) -> None:
        """Start recording: this is the earliest moment for ties."""
        self._ranks: Overlay[str, AnyRank] = ranks
        self._start: Overlay[str, AnyRank] = ranks.fork()
        self._changes: list[tuple[str, AnyRank | None]] = []
        #: The number of applied changes, and the sorted nodes of each rank at that moment.
        self._played = 0
        self._then: dict[str, AnyRank] = {}
        self._equals: dict[AnyRank, list[str]] | None = None

    def copy(self) -> RankedNodes[AnyRank]:
        """An independent copy; earlier moments stay with this one."""
        other: RankedNodes[AnyRank] = copy(self)
        other._front, other._later = self._front.copy(), self._later.copy()
        other._numbers = self._numbers.fork()
        other._begin(self._ranks.fork())
        return other

    def __len__(self) -> int:
        """The number of nodes that have a rank."""
        return len(self._ranks)

    def put(self, name: str, rank: AnyRank | None) -> None:
        """Set the rank of the node; None removes it."""
        before = self._ranks.get(name)
        if rank == before:
            return
        self._changes.append((name, rank))
        if before is not None:
            self._count(before, -1)
        if rank is None:
            self._ranks.pop(name)
        else:
            self._count(rank, 1)
            self._ranks.put(name, rank)
            heappush(self._later, (rank, name))

    def _count(self, rank: AnyRank, amount: int) -> None:
        number = self._numbers.get(rank, 0) + amount
        if number:
            self._numbers.put(rank, number)
        else:
            self._numbers.pop(rank)

    def best(self) -> tuple[AnyRank, str] | None:
        """The best rank, and the first node that has it."""
        front, later, ranks = self._front, self._later, self._ranks
        while front and ranks.get(front[0][1]) != front[0][0]:
            index = heappop(front)[2]
            for child in range(2 * index + 1, min(2 * index + 3, len(self._heap))):
                rank, name = self._heap[child]
                heappush(front, (rank, name, child))
        while later and ranks.get(later[0][1]) != later[0][0]:
            heappop(later)
        if not front:
            return later[0] if later else None
        rank, name, _ = front[0]
        return min((rank, name), later[0]) if later else (rank, name)

    def is_tied(self) -> bool:
        """Whether more than one node has the best rank."""
        best = self.best()
        return best is not None and self._numbers[best[0]] > 1

    # --- ties ----------------------------------------------------------------------------------------

    def ties(self, rank: AnyRank) -> Callable[[], list[str]]:
        """A function that computes, at any later time, which nodes have the rank now; sorted."""
        return partial(self._at, len(self._changes), rank)

    def _at(self, moment: int, rank: AnyRank) -> list[str]:
        if self._equals is None or moment < self._played:
            self._equals = self._rewind()
        for name, after in self._changes[self._played : moment]:
            before = self._then.pop(name, None)
            if before is not None:
                left = self._equals[before]
                del left[bisect_left(left, name)]
            if after is not None:
                self._then[name] = after
                insort(self._equals.setdefault(after, []), name)
        self._played = moment
        return self._equals.get(rank, [])

    def _rewind(self) -> dict[AnyRank, list[str]]:
        """Go back to the start."""
        self._played = 0
        self._then = dict(self._start.items())
        equals: dict[AnyRank, list[str]] = {}
        for name, rank in sorted(self._start.items(), key=itemgetter(0)):
            equals.setdefault(rank, []).append(name)
        return equals


def all_ties(ranked: Iterable[tuple[RankedNodes[AnyRank], AnyRank]]) -> Callable[[], tuple[str, ...]]:
    """A function that computes, at any later time, which nodes have these ranks now; sorted."""
    return partial(_merged, [nodes.ties(rank) for nodes, rank in ranked])


def _merged(ties: list[Callable[[], list[str]]]) -> tuple[str, ...]:
    return tuple(merge(*(tied() for tied in ties))) if len(ties) > 1 else tuple(ties[0]())


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
