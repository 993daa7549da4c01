"""Scoring strategies of NodeResourcesFit: how good a node is, given how full its resources would be with the pod.

(`pkg/scheduler/framework/plugins/noderesources/`: `resource_allocation.go`, `least_allocated.go`, `most_allocated.go`,
`requested_to_capacity_ratio.go`; `plugins/helper/shape_score.go`.) All operands are non-negative, so that `//` is Go's
division. A resource is compiled once per pod into a `ScoredResource`; scoring a node is then a few integer operations.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from kwhatif.dra.devices import classes_under
from kwhatif.dra.pools import DeviceUsage
from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.matching.requests import CPU, EPHEMERAL_STORAGE, MEMORY, is_scalar_resource, units
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import Model
from kwhatif.scheduler.framework.incremental import SignedScorer
from kwhatif.scheduler.framework.plugin import MAX_NODE_SCORE, NodeScorer, Reads
from kwhatif.state.node_info import NodeInfo

#: (allocatable, used) of one resource on a node, in scheduler units.
NodeUsage = Callable[[NodeInfo], tuple[int, int]]


class ResourceSpec(Model):
    """One resource that a score uses, with its weight; a weight of 0 means 1, as in upstream's defaulting."""

    name: str = ""
    weight: int = 1


#: The resources of both resource plugins if the configuration names none.
DEFAULT_RESOURCES = (ResourceSpec(name=CPU), ResourceSpec(name=MEMORY))


class ScoredResource(NamedTuple):
    """One resource, compiled for one pod: its request, its weight, and how to read a node's usage."""

    requested: int
    weight: int
    usage: NodeUsage
    #: The resource; "" if its usage depends on more than the node.
    local_name: str


def _usage_of(name: str, cluster: Cluster, gates: Gates, *, nonzero: bool) -> NodeUsage:
    if name == CPU:
        if nonzero:
            return lambda node: (node.allocatable.cpu, node.nonzero_cpu)
        return lambda node: (node.allocatable.cpu, node.cpu)
    if name == MEMORY:
        if nonzero:
            return lambda node: (node.allocatable.memory, node.nonzero_memory)
        return lambda node: (node.allocatable.memory, node.memory)
    if name == EPHEMERAL_STORAGE:
        return lambda node: (node.allocatable.ephemeral, node.ephemeral)
    return _scalar_usage(name, cluster, gates)


def _scalar_usage(name: str, cluster: Cluster, gates: Gates) -> NodeUsage:
    device_class = classes_under(gates)(cluster).get(name)
    if device_class is None:
        return lambda node: (node.allocatable.scalar(name), node.scalars.get(name, 0))
    devices = DeviceUsage(cluster, device_class, gates)

    def usage(node: NodeInfo) -> tuple[int, int]:
        """The amount that a device plugin provides on the node; without one, the node's devices of the class."""
        allocatable = node.allocatable.scalar(name)
        return (allocatable, node.scalars.get(name, 0)) if allocatable else devices.on(node)

    return usage


def compile_resources(
    resources: Iterable[ResourceSpec],
    requests: Mapping[str, int],
    cluster: Cluster,
    *,
    nonzero: bool,
    gates: Gates = BASE_GATES,
) -> list[ScoredResource]:
    """The resources that are scored for a pod with these requests (nano-units), in order.

    `nonzero`: pods on the node count with default cpu and memory for containers that request none.
    A scalar that the pod does not request is left out, and for each node what the node does not have.
    """
    entries = []
    for resource in resources:
        requested = units(resource.name, requests.get(resource.name, 0))
        if requested or not is_scalar_resource(resource.name):
            usage = _usage_of(resource.name, cluster, gates, nonzero=nonzero)
            name = "" if resource.name in classes_under(gates)(cluster) else resource.name
            entries.append(ScoredResource(requested, resource.weight or 1, usage, name))
    return entries


def resources_signature(entries: Iterable[ScoredResource]) -> Hashable:
    """All that a node's scores by these entries depend on besides the node; None if that is not known."""
    entries = tuple(entries)
    if not all(entry.local_name for entry in entries):
        return None
    return tuple([(entry.local_name, entry.requested, entry.weight) for entry in entries])


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
    """Makes a pod's scorer from its entries."""
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
