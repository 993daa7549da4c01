"""Scoring strategies of NodeResourcesFit: how good a node is, given how full its resources would be.

(`pkg/scheduler/framework/plugins/noderesources/{least_allocated,most_allocated,requested_to_capacity_ratio}.go`,
`plugins/helper/shape_score.go`.) All operands are non-negative, so that `//` is Go's division; where amounts are so
large that this does not hold, `scoring_overflow` scores the node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from kwhatif.framework import scoring_overflow as overflow
from kwhatif.framework.incremental import SignedScorer
from kwhatif.framework.plugin import MAX_NODE_SCORE, NodeScorer, Reads
from kwhatif.framework.resource_allocation import Entry, ResourceSpec, entries_signature
from kwhatif.framework.scoring_overflow import ResourceScore
from kwhatif.model.meta import Model
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


class Scoring(NamedTuple):
    """How a strategy scores one resource: amounts of the usual size, and such that leave 64 bits."""

    usual: ResourceScore
    wide: ResourceScore


def least_allocated(requested: int, allocatable: int) -> int:
    """The free share of the resource in percent; 0 when it would be overcommitted."""
    return (allocatable - requested) * MAX_NODE_SCORE // allocatable if requested <= allocatable else 0


def most_allocated(requested: int, allocatable: int) -> int:
    """The used share of the resource in percent; 100 when it would be overcommitted."""
    return requested * MAX_NODE_SCORE // allocatable if requested <= allocatable else MAX_NODE_SCORE


def requested_to_capacity_ratio(shape: Sequence[UtilizationShapePoint]) -> Scoring:
    """The score that a broken line gives to the utilization, which is a whole percentage."""
    table = tuple(_on_line(shape, utilization) for utilization in range(101))

    def usual(requested: int, allocatable: int) -> int:
        return table[requested * 100 // allocatable if requested <= allocatable else 100]

    def wide(requested: int, allocatable: int) -> int:
        return table[min(max(0, overflow.utilization(requested, allocatable)), 100)]

    return Scoring(usual, wide)


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

    def __init__(self, entries: Sequence[Entry], scoring: Scoring) -> None:
        self._entries = entries
        self.signature = entries_signature(entries)
        self._usual, self._wide = scoring
        self._always_wide = any(entry.is_wide for entry in entries)

    def score(self, node: NodeInfo) -> int:
        """The raw score."""
        if node.wide or self._always_wide:
            return self._mean(overflow.terms(self._entries, node, self._wide))
        score_of = self._usual
        total = weights = 0
        for requested, weight, usage, _ in self._entries:
            allocatable, used = usage(node)
            if allocatable:
                total += score_of(used + requested, allocatable) * weight
                weights += weight
        return total // weights if weights else 0

    def _mean(self, terms: Sequence[overflow.Term]) -> int:
        return overflow.mean(terms)


class WeightedMeanOfPositive(WeightedMean):
    """The weighted mean over resources that score above 0, rounded half up (`RequestedToCapacityRatio`).

    QUIRK: (requested_to_capacity_ratio.go) a resource that scores 0 is not counted as 0 but not counted at all.
    """

    def score(self, node: NodeInfo) -> int:
        """The raw score."""
        if node.wide or self._always_wide:
            return super().score(node)
        score_of = self._usual
        total = weights = 0
        for requested, weight, usage, _ in self._entries:
            allocatable, used = usage(node)
            if allocatable and (score := score_of(used + requested, allocatable)) > 0:
                total += score * weight
                weights += weight
        return _rounded(total, weights)

    def _mean(self, terms: Sequence[overflow.Term]) -> int:
        positive = [term for term in terms if term.score > 0]
        return _rounded(sum(term.score * term.weight for term in positive), sum(term.weight for term in positive))


def _rounded(total: int, weights: int) -> int:
    # math.Round of the float quotient; both are far too small for the float to hide which side of .5 it is on.
    return (2 * total + weights) // (2 * weights) if weights else 0


def compile_strategy(strategy: ScoringStrategy) -> Callable[[Sequence[Entry]], NodeScorer]:
    """What turns a pod's entries into its scorer."""
    ratio = strategy.requested_to_capacity_ratio
    if ratio is not None:
        on_line = requested_to_capacity_ratio(ratio.shape)
        return lambda entries: WeightedMeanOfPositive(entries, on_line)
    scoring = _SCORINGS[strategy.type]
    return lambda entries: WeightedMean(entries, scoring)


_SCORINGS = {
    "LeastAllocated": Scoring(least_allocated, overflow.least_allocated),
    "MostAllocated": Scoring(most_allocated, overflow.most_allocated),
}
