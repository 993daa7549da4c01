"""Scoring strategies of NodeResourcesFit: how good a node is, given how full its resources would be.

(`pkg/scheduler/framework/plugins/noderesources/{least_allocated,most_allocated,requested_to_capacity_ratio}.go`,
`plugins/helper/shape_score.go`.) All operands are non-negative, so that `//` is Go's division.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from kwhatif.kube.model.meta import Model
from kwhatif.scheduler.framework.incremental import SignedScorer
from kwhatif.scheduler.framework.plugin import MAX_NODE_SCORE, NodeScorer, Reads
from kwhatif.scheduler.framework.resource_allocation import ResourceSpec, ScoredResource, resources_signature
from kwhatif.state.node_info import NodeInfo

#: Scores in a shape go up to 10, those of nodes up to 100 (`config.MaxCustomPriorityScore`).
MAX_SHAPE_SCORE = 10


class UtilizationShapePoint(Model):
    """A point of the broken line from utilization (0…100 %) to score (0…10)."""

    utilization: int = 0
    score: int = 0


class RequestedToCapacityRatioParam(Model):
    """`scoringStrategy.requestedToCapacityRatio`."""

    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(Model):
    """`scoringStrategy`; without resources cpu and memory, with equal weights."""

    type: str = "LeastAllocated"
    resources: tuple[ResourceSpec, ...] = ()
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


#: Score of one resource, from what would be requested of it with the pod and what the node has (never 0).
ResourceScore = Callable[[int, int], int]


def least_allocated(requested: int, allocatable: int) -> int:
    """The free share of the resource in percent; 0 when it would be overcommitted."""
    return (allocatable - requested) * MAX_NODE_SCORE // allocatable if requested <= allocatable else 0


def most_allocated(requested: int, allocatable: int) -> int:
    """The used share of the resource in percent; 100 when it would be overcommitted."""
    return requested * MAX_NODE_SCORE // allocatable if requested <= allocatable else MAX_NODE_SCORE


def requested_to_capacity_ratio(shape: Sequence[UtilizationShapePoint]) -> ResourceScore:
    """The score that a broken line gives to the utilization, which is a whole percentage."""
    table = tuple(_on_line(shape, utilization) for utilization in range(101))

    def score(requested: int, allocatable: int) -> int:
        return table[requested * 100 // allocatable if requested <= allocatable else 100]

    return score


def _on_line(shape: Sequence[UtilizationShapePoint], utilization: int) -> int:
    factor = MAX_NODE_SCORE // MAX_SHAPE_SCORE
    first, last = shape[0], shape[-1]
    if utilization <= first.utilization:
        return first.score * factor
    for left, right in pairwise(shape):
        if utilization <= right.utilization:
            rise = (right.score - left.score) * factor * (utilization - left.utilization)
            run = right.utilization - left.utilization
            # Go truncates toward zero, which on a falling line is not where `//` rounds to.
            return left.score * factor + (rise // run if rise >= 0 else -(-rise // run))
    return last.score * factor


class WeightedMean(SignedScorer):
    """The weighted mean of the resources' scores, truncated; 0 for a node that has none of them."""

    reads = Reads.PODS

    def __init__(self, entries: Sequence[ScoredResource], score_of: ResourceScore) -> None:
        self._entries = entries
        self.signature = resources_signature(entries)
        self._score_of = score_of

    def score(self, node: NodeInfo) -> int:
        """The raw score."""
        score_of = self._score_of
        total = weights = 0
        for requested, weight, usage, _ in self._entries:
            allocatable, used = usage(node)
            if allocatable:
                total += score_of(used + requested, allocatable) * weight
                weights += weight
        return total // weights if weights else 0


class WeightedMeanOfPositive(WeightedMean):
    """The weighted mean over resources that score above 0, rounded half up (`RequestedToCapacityRatio`).

    QUIRK: (requested_to_capacity_ratio.go) a resource that scores 0 is not counted as 0 but not counted at all.
    """

    def score(self, node: NodeInfo) -> int:
        """The raw score."""
        score_of = self._score_of
        total = weights = 0
        for requested, weight, usage, _ in self._entries:
            allocatable, used = usage(node)
            if allocatable and (score := score_of(used + requested, allocatable)) > 0:
                total += score * weight
                weights += weight
        return _rounded(total, weights)


def _rounded(total: int, weights: int) -> int:
    # math.Round of the float quotient; both are far too small for the float to hide which side of .5 it is on.
    return (2 * total + weights) // (2 * weights) if weights else 0


def compile_strategy(strategy: ScoringStrategy) -> Callable[[Sequence[ScoredResource]], NodeScorer]:
    """What turns a pod's entries into its scorer."""
    ratio = strategy.requested_to_capacity_ratio
    if ratio is not None:
        on_line = requested_to_capacity_ratio(ratio.shape)
        return lambda entries: WeightedMeanOfPositive(entries, on_line)
    scoring = _SCORINGS[strategy.type]
    return lambda entries: WeightedMean(entries, scoring)


_SCORINGS = {
    "LeastAllocated": least_allocated,
    "MostAllocated": most_allocated,
}
