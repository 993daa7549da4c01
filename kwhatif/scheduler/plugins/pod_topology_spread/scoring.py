"""PreScore, Score and NormalizeScore: soft constraints (`podtopologyspread/scoring.go`)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from typing import NamedTuple, Self

from kwhatif.kube.model.node import Node
from kwhatif.scheduler.framework.by_shape import ByShapeBut
from kwhatif.scheduler.framework.incremental import NO_DOMAINS, Incremental, NormalizesByRange, TopologyDomains
from kwhatif.scheduler.framework.plugin import MAX_NODE_SCORE, NodeScorer
from kwhatif.scheduler.plugins.pod_topology_spread.constraints import (
    HOSTNAME,
    ConstraintMatches,
    Eligibility,
    SpreadConstraint,
    has_all,
)
from kwhatif.scheduler.plugins.pod_topology_spread.domains import (
    Census,
    Upkeep,
    nodes_lacking,
    pods_by_domain,
    pods_by_host,
)
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.shapes import nodes_by_label
from kwhatif.state.state import State


class _Rule(NamedTuple):
    """One constraint, prepared for scoring nodes."""

    topology_key: str
    #: Whether each host is a domain, by node name, regardless of the value of its label.
    by_name: bool
    #: Matching pods by domain; absent domains have none.
    counts: dict[str, int]
    #: Gives few large domains as much weight as many small ones.
    weight: float
    #: Added to all counts, so that small differences between domains matter less.
    tolerance: float


class SpreadScorer(Incremental, ByShapeBut, NormalizesByRange, NodeScorer):
    """The soft constraints of one pod, with the number of matching pods per domain."""

    def __init__(
        self,
        rules: Sequence[_Rule],
        ignored: frozenset[str],
        upkeep: Upkeep,
        unnamed: Sequence[str],
        *,
        by_shape: bool,
    ) -> None:
        self._rules = tuple(rules)
        self._ignored = ignored
        self._upkeep = upkeep
        #: Nodes without a host name.
        self._unnamed = unnamed
        self.by_shape = by_shape

    def score(self, node: NodeInfo) -> int:
        """The weighted number of matching pods in the node's domains: less is better."""
        if node.name in self._ignored:
            return 0
        labels = node.labels
        # Summed in the order of the constraints, as upstream does: with floats the order changes the sum.
        score = 0.0
        for key, by_name, counts, weight, tolerance in self._rules:
            value = labels.get(key)
            if value is not None:
                score += counts.get(node.name if by_name else value, 0) * weight + tolerance
        return round_half_away(score)

    def exceptions(self, nodes: Sequence[NodeInfo]) -> AbstractSet[str]:
        """If each host is a domain: the nodes with matching pods, and those without the label."""
        hosts = [counts for _, by_name, counts, _, _ in self._rules if by_name]
        return {*hosts[0], *self._unnamed} if hosts else frozenset()

    def normalize(self, scores: list[int], nodes: Sequence[NodeInfo]) -> list[int]:
        """Fewer pods give a higher score; nodes without the labels get 0."""
        ignored = self._ignored
        if not ignored:
            return _fewer_are_better(scores)
        counted = [score for score, node in zip(scores, nodes, strict=True) if node.name not in ignored]
        least, most = min(counted, default=0), max(counted, default=0)
        if most <= 0:
            return [0 if node.name in ignored else MAX_NODE_SCORE for node in nodes]
        return [
            0 if node.name in ignored else MAX_NODE_SCORE * (most + least - score) // most
            for score, node in zip(scores, nodes, strict=True)
        ]

    def fork_with(self, state: State) -> Self:
        """A copy with separate counts, to be updated with a fork of the state."""
        other = copy(self)
        other._rules = tuple([rule._replace(counts=rule.counts.copy()) for rule in self._rules])
        other._upkeep = self._upkeep.fork()
        return other

    def apply_pod_change(self, pod: PodInfo, node: NodeInfo, amount: int) -> TopologyDomains:
        """Count or uncount the pod permanently; no other node changes its class."""
        for index in self._upkeep.counted_in(pod, node):
            key, by_name, counts, _, _ = self._rules[index]
            where = node.name if by_name else node.labels.get(key, "")
            counts[where] = counts.get(where, 0) + amount
        return NO_DOMAINS

    def update_feasible_count(self, node: NodeInfo, number: int) -> None:
        """Update the weights: another number of feasible nodes may change the number of domains."""
        if node.name not in self._ignored:
            domains = self._upkeep.update_feasible_count(node, number)
            self._rules = tuple(
                rule._replace(weight=_weight(number)) for rule, number in zip(self._rules, domains, strict=True)
            )

    def apply_node_change(self, before: Node, after: Node) -> bool:
        """With `nodeTaintsPolicy: Honor`, taints decide which nodes count: then it must be compiled again."""
        return not self._upkeep.eligibility.honors_taints

    def node_class(self, node: NodeInfo) -> Hashable:
        """The node's domains; if each host is one, the number of pods on it."""
        if node.name in self._ignored:
            return None
        values: list[str | int | None] = []
        for key, by_name, counts, _, _ in self._rules:
            value = node.labels.get(key)
            values.append(value if value is None or not by_name else counts.get(node.name, 0))
        return tuple(values)


def _fewer_are_better(scores: list[int]) -> list[int]:
    least, most = min(scores, default=0), max(scores, default=0)
    if most <= 0:
        return [MAX_NODE_SCORE] * len(scores)
    points = {score: MAX_NODE_SCORE * (most + least - score) // most for score in set(scores)}
    return [points[score] for score in scores]


def _weight(domains: int) -> float:
    return math.log(domains + 2)


def round_half_away(number: float) -> int:
    """Go's `math.Round`: halves are rounded away from zero, not to the even neighbour."""
    size = abs(number)
    whole = math.floor(size)
    if size - whole >= 0.5:
        whole += 1
    return whole if number >= 0 else -whole


def compile_scorer(
    pod: PodInfo,
    state: State,
    nodes: Sequence[NodeInfo],
    constraints: Sequence[SpreadConstraint],
    *,
    require_all: bool,
) -> SpreadScorer:
    """Count the matching pods in the domains of the feasible nodes, and compute the weights (`initPreScoreState`).

    `nodes` are the feasible nodes. With `require_all`, nodes that lack a topology key are neither scored nor counted.
    """
    keys = tuple(constraint.topology_key for constraint in constraints)
    required = keys if require_all else ()
    unfixed = state.shapes.unfixed
    ignored = nodes_lacking(required, state, nodes)
    scored = [node for node in nodes if node.name not in ignored] if ignored else nodes
    counted = [node for node in state.nodes if has_all(node.labels, required)] if ignored else state.nodes
    matches = ConstraintMatches(pod, constraints)
    on_node = matches.by_node(state.index)
    eligibility = Eligibility(pod, constraints, unfixed)
    rules, censuses = [], []
    for index, constraint in enumerate(constraints):
        key = constraint.topology_key
        if key == HOSTNAME:
            counts = pods_by_host(index, on_node[index], matches, state, scored)
        else:
            counts = pods_by_domain(index, key, on_node[index], eligibility.candidates(counted), eligibility, state)
        census = Census(key, scored, unfixed)
        censuses.append(census)
        weight = _weight(census.domains)
        rules.append(_Rule(key, key == HOSTNAME, counts, weight, float(constraint.max_skew - 1)))
    # Pods are not part of a node's shape, so hosts with pods that count are exceptions.
    by_shape = (unfixed - {HOSTNAME}).isdisjoint(keys)
    upkeep = Upkeep(matches, eligibility, censuses, required)
    unnamed = nodes_by_label(state.cluster).of(HOSTNAME).get(None, ())
    return SpreadScorer(rules, ignored, upkeep, unnamed, by_shape=by_shape)
