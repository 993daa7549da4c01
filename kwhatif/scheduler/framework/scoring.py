"""PreScore, Score, NormalizeScore, weights, extenders (`prioritizeNodes` in `pkg/scheduler/schedule_one.go`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import add

import msgspec

from kwhatif.scheduler.framework.cycle import Cycle, CycleError
from kwhatif.scheduler.framework.filters import NodeResultCache, ask_each
from kwhatif.scheduler.framework.plugin import MAX_NODE_SCORE, NodeScorer, ScorePlugin
from kwhatif.scheduler.framework.status import SKIP, Code, Status, error
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.state import State


class InvalidScore(CycleError):
    """A plugin's score of the node at that index is out of range."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


class Scores(msgspec.Struct, frozen=True):
    """Scores of the feasible nodes. All lists are in the order of `nodes`."""

    nodes: tuple[NodeInfo, ...]
    #: Plugin -> normalised score times weight, without plugins that skipped.
    by_plugin: Mapping[str, list[int]]
    #: Sum of all plugins and extenders.
    total: list[int]
    #: The compiled scorers of `by_plugin`, and the scores before normalisation; None if scoring failed.
    scorers: Mapping[str, NodeScorer] | None = None
    raw: Mapping[str, list[int]] = {}

    def best(self) -> list[str]:
        """Names of all nodes with the highest total, sorted: the scheduler may take any of them."""
        if not self.total:
            return []
        highest = max(self.total)
        return sorted(node.name for node, total in zip(self.nodes, self.total, strict=True) if total == highest)

    def first_in_heap(self) -> str:
        """The best node that comes first in the scheduler's heap (`sorted_nodes.go`), if the nodes are in its order.

        QUIRK: (schedule_one.go) only where an extender gives scores is it left to chance which of several it is.
        """
        total = self.total
        heap = list(range(len(total)))
        for parent in reversed(range(len(heap) // 2)):
            _sink(heap, parent, total)
        return self.nodes[heap[0]].name


def _sink(heap: list[int], parent: int, total: Sequence[int]) -> None:
    """Let the entry sink below those that are better: Go's `heap.down`."""
    while (child := 2 * parent + 1) < len(heap):
        if child + 1 < len(heap) and total[heap[child + 1]] > total[heap[child]]:
            child += 1
        if total[heap[child]] <= total[heap[parent]]:
            return
        heap[parent], heap[child] = heap[child], heap[parent]
        parent = child


def default_normalize(scores: Sequence[int], *, reverse: bool = False) -> list[int]:
    """Scale to 0…100 by the largest score (`plugins/helper/normalize_score.go`)."""
    largest = max(scores, default=0)
    if largest <= 0:
        return [MAX_NODE_SCORE] * len(scores) if reverse else list(scores)
    points = {score: MAX_NODE_SCORE * score // largest for score in set(scores)}
    if reverse:
        points = {score: MAX_NODE_SCORE - scaled for score, scaled in points.items()}
    return [points[score] for score in scores]


def score_nodes(cycle: Cycle) -> Scores:
    """Score all feasible nodes of the cycle.

    Raises:
        CycleError: a plugin failed, or its normalised score is not between 0 and 100.
    """
    nodes = cycle.feasible if isinstance(cycle.feasible, tuple) else tuple(cycle.feasible)
    profile = cycle.profile
    scorers: dict[str, NodeScorer] = {}
    has_pre_score = {plugin.name for plugin in profile.pre_score}
    scored = {plugin.name for plugin in profile.score}
    for plugin in profile.pre_score:
        scorer = _compile(plugin, cycle, nodes)
        if scorer is not None and plugin.name in scored:
            scorers[plugin.name] = scorer
    for plugin in profile.score:
        if plugin.name not in has_pre_score:
            scorer = _compile_alone(plugin, cycle, nodes)
            if scorer is not None:
                scorers[plugin.name] = scorer
    scorers = {plugin.name: scorers[plugin.name] for plugin in profile.score if plugin.name in scorers}
    # Extenders may bring NodeInfos of their own, with other pods on them.
    known = None if cycle.extenders.interested else cycle.node_results
    raw = {name: _raw(name, scorer, cycle.state, nodes, known) for name, scorer in scorers.items()}
    by_plugin = _by_plugin(scorers, raw, nodes, profile.weights)
    is_scored = profile.score or profile.extenders
    total = add_columns(by_plugin.values(), len(nodes)) if is_scored else [1] * len(nodes)
    if len(nodes) > 1:  # the scheduler takes a single feasible node without scoring it
        cycle.extenders.prioritize(nodes, total)
    return Scores(nodes, by_plugin, total, scorers, raw)


def add_columns(columns: Iterable[list[int]], size: int) -> list[int]:
    """The element-wise sums of the columns, which have `size` numbers each."""
    everywhere = 0
    total: list[int] | None = None
    for column in columns:
        if _is_even(column):  # many plugins give all nodes the same score
            everywhere += column[0]
        else:
            total = column if total is None else list(map(add, total, column))
    if total is None:
        return [everywhere] * size
    return [each + everywhere for each in total]  # a list of its own: extenders add to it


def _is_even(column: list[int]) -> bool:
    return bool(column) and column.count(column[0]) == len(column)


def _by_plugin(
    scorers: Mapping[str, NodeScorer],
    raw: Mapping[str, list[int]],
    nodes: Sequence[NodeInfo],
    weights: Mapping[str, int],
) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    wrong: list[InvalidScore] = []
    for name, scorer in scorers.items():
        try:
            found[name] = weighted(name, scorer, raw[name], nodes, weights.get(name, 1))
        except InvalidScore as invalid:
            wrong.append(invalid)
    if wrong:  # the scheduler iterates over nodes, then over plugins
        raise min(wrong, key=lambda invalid: invalid.index)
    return found


def _compile(plugin: ScorePlugin, cycle: Cycle, nodes: Sequence[NodeInfo]) -> NodeScorer | None:
    result = plugin.pre_score(cycle.pod, cycle.state, nodes)
    return _unless_skipped(result, cycle, f'running PreScore plugin "{plugin.name}":')


def _compile_alone(plugin: ScorePlugin, cycle: Cycle, nodes: Sequence[NodeInfo]) -> NodeScorer | None:
    """The scorer of a plugin without PreScore: it has none upstream, or it is disabled."""
    result: NodeScorer | Status
    if not getattr(plugin, "scores_what_filter_found", False) or plugin.name in {name for name, _ in cycle.filters}:
        result = getattr(plugin, "without_pre_score", plugin.pre_score)(cycle.pod, cycle.state, nodes)
    else:
        result = SKIP if plugin.name in cycle.asked else error("not found")
    return _unless_skipped(result, cycle, f'running Score plugins: plugin "{plugin.name}" failed with:')


def _unless_skipped(result: NodeScorer | Status, cycle: Cycle, what: str) -> NodeScorer | None:
    if not isinstance(result, Status):
        return result
    if result.code is not Code.SKIP:
        raise CycleError(f"{what} {result.message}")
    cycle.note_skip(result)
    return None


def weighted(name: str, scorer: NodeScorer, raw: list[int], nodes: Sequence[NodeInfo], weight: int) -> list[int]:
    """The raw scores of the nodes normalised, and times the weight.

    Raises:
        InvalidScore: a normalised score is not between 0 and 100.
    """
    scores = scorer.normalize(raw.copy(), nodes) if scorer.normalizes else raw
    if len(scores) == 1 and 0 <= scores[0] <= MAX_NODE_SCORE:  # asked often, as groups of equal nodes have one sample
        return scores if weight == 1 else [scores[0] * weight]
    different = set(scores)  # few, of thousands
    if different and not (min(different) >= 0 and max(different) <= MAX_NODE_SCORE):
        index = next(index for index, score in enumerate(scores) if not 0 <= score <= MAX_NODE_SCORE)
        raise InvalidScore(
            index,
            f'applying score defaultWeights on Score plugins: plugin "{name}" returns an invalid score {scores[index]},'
            f" it should in the range of [0, {MAX_NODE_SCORE}] after normalizing",
        )
    if weight == 1:
        return scores
    points = {score: score * weight for score in different}
    return [*points.values()] * len(scores) if len(points) == 1 else list(map(points.__getitem__, scores))


def _raw(
    name: str, scorer: NodeScorer, state: State, nodes: Sequence[NodeInfo], results: NodeResultCache | None
) -> list[int]:
    known = None if results is None else results.raw(name, scorer, nodes, state)
    return ask_each(nodes, scorer, scorer.score) if known is None else known
