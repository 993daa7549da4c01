"""Scoring strategies of NodeResourcesFit for amounts whose products leave 64 bits.

QUIRK: (`least_allocated.go`, `most_allocated.go`, `requested_to_capacity_ratio.go`) nothing bounds a capacity times
100, so that from some 80 PiB on, scores come out wrong, and outside 0…100 too: then scoring fails. This is what Go
computes; `scoring_strategy` does the same for amounts that are not `wide`, and faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kwhatif.framework.plugin import MAX_NODE_SCORE
from kwhatif.framework.resource_allocation import Entry
from kwhatif.model.int64 import divide, wrap
from kwhatif.state.node_info import NodeInfo


class Term(NamedTuple):
    """The score of one resource on a node, and how much it counts."""

    score: int
    weight: int


#: Score of one resource, from what would be requested of it with the pod and what the node has (never 0).
ResourceScore = Callable[[int, int], int]


def terms(entries: Sequence[Entry], node: NodeInfo, score: ResourceScore) -> list[Term]:
    """The scores of the resources that the node has."""
    usages = [(entry, *entry.usage(node)) for entry in entries]
    return [
        Term(score(wrap(used + entry.requested), allocatable), entry.weight)
        for entry, allocatable, used in usages
        if allocatable
    ]


def mean(scores: Sequence[Term]) -> int:
    """The weighted mean, truncated."""
    total = wrap(sum(score * weight for score, weight in scores))
    weights = sum(weight for _, weight in scores)
    return divide(total, weights) if weights else 0


def least_allocated(requested: int, allocatable: int) -> int:
    """The free share of the resource in percent."""
    free = wrap((allocatable - requested) * MAX_NODE_SCORE)
    return divide(free, allocatable) if requested <= allocatable else 0


def most_allocated(requested: int, allocatable: int) -> int:
    """The used share of the resource in percent."""
    return divide(wrap(min(requested, allocatable) * MAX_NODE_SCORE), allocatable)


def utilization(requested: int, allocatable: int) -> int:
    """The used share of the resource in percent, 100 where it would be overcommitted."""
    return divide(wrap(requested * 100), allocatable) if requested <= allocatable else 100
