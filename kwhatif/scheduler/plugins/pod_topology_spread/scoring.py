"""PreScore, Score and NormalizeScore: soft constraints (`podtopologyspread/scoring.go`)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from typing import NamedTuple, Self

from kwhatif.kube.model.node import HOSTNAME, Node
from kwhatif.scheduler.framework.filters import ByShapeExcept
from kwhatif.scheduler.framework.incremental import NO_DOMAINS, Incremental, NormalizesByRange, TopologyDomains
from kwhatif.scheduler.framework.plugin import MAX_NODE_SCORE, NodeScorer
from kwhatif.scheduler.plugins.pod_topology_spread.constraints import (
    ConstraintMatches,
    Eligibility,
    SpreadConstraint,
    has_all,
)
from kwhatif.state.node_info import NodeInfo, nodes_by_label
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import NodeRow, State


class Census:
    """The domains of one constraint that have feasible nodes; nodes that are not scored do not count.

    QUIRK: (scoring.go, initPreScoreState) nodes without the label form a domain too, "", which adds to the weight.
    """

    def __init__(self, key: str, scored: Sequence[NodeInfo], unfixed: frozenset[str]) -> None:
        self._key = key
        self.by_host = key == HOSTNAME
        #: Number of nodes by domain; each host is a domain, regardless of its label.
        self._nodes = None if self.by_host else _domains(key, scored, unfixed)
        self.domains = len(scored) if self._nodes is None else len(self._nodes)

    def fork(self) -> Census:
        """An independent copy."""
        other = copy(self)
        other._nodes = None if self._nodes is None else self._nodes.copy()
        return other

    def update_feasible_count(self, node: NodeInfo, number: int) -> int:
        """Add `number` nodes of the same domain as this one, and return the number of domains."""
        if self._nodes is None:
            self.domains += number
        else:
            value = node.labels.get(self._key, "")
            self._nodes[value] += number
            if not self._nodes[value]:
                del self._nodes[value]
            self.domains = len(self._nodes)
        return self.domains


class Upkeep(NamedTuple):
    """What is needed to keep a scorer up to date."""

    matches: ConstraintMatches
    eligibility: Eligibility
    censuses: Sequence[Census]
    #: The topology keys that a node must have to be counted.
    required: Sequence[str]

    def fork(self) -> Upkeep:
        """An independent copy for a fork of the state."""
        return self._replace(matches=self.matches.fork(), censuses=[census.fork() for census in self.censuses])

    def counted_in(self, pod: PodInfo, node: NodeInfo) -> list[int]:
        """The constraints that count the pod on that node; for spread over hosts, the node need not be eligible."""
        counting = self.matches.counting(pod)
        if not counting:
            return []
        eligible = self.eligibility.of(node) if has_all(node.labels, self.required) else ()
        return [index for index in counting if self.censuses[index].by_host or (eligible and eligible[index])]

    def update_feasible_count(self, node: NodeInfo, number: int) -> list[int]:
        """The number of domains of each constraint, after `number` nodes like this one are added."""
        return [census.update_feasible_count(node, number) for census in self.censuses]


def nodes_lacking(required: Sequence[str], state: State, nodes: Sequence[NodeInfo]) -> frozenset[str]:
    """Names of the nodes that lack one of the labels; if two nodes have the same name, the last one counts."""
    if not required:
        return frozenset()
    if state.shapes.unfixed.isdisjoint(required):
        shapes = {**state.of_shape, **{node.shape: node for node in nodes}}.values()
        if all(has_all(node.labels, required) for node in shapes):
            return frozenset()
    lacks = {node.name: not has_all(node.labels, required) for node in (*state.nodes, *nodes)}
    return frozenset(name for name, lacking in lacks.items() if lacking)


def _domains(key: str, nodes: Sequence[NodeInfo], unfixed: frozenset[str]) -> Counter[str]:
    """The number of nodes in each domain; nodes without the label also form a domain."""
    if key in unfixed:
        return Counter([node.labels.get(key, "") for node in nodes])
    found = Counter[str]()
    if isinstance(nodes, NodeRow):
        sizes, samples = nodes.sizes, nodes.samples
    else:
        sizes, samples = Counter([node.shape for node in nodes]), {node.shape: node for node in nodes}
    for shape, node in samples.items():
        found[node.labels.get(key, "")] += sizes[shape]
    return found


def pods_by_domain(
    index: int,
    key: str,
    on_node: Mapping[str, int],
    nodes: Sequence[NodeInfo],
    eligibility: Eligibility,
    state: State,
) -> dict[str, int]:
    """Matching pods per domain of eligible nodes; nodes without the label also form a domain."""
    # Nodes of one shape are in one domain, and few nodes have pods that count.
    by_shape = not eligibility.per_node and key not in state.shapes.unfixed
    is_all = nodes is state.nodes
    shapes = state.of_shape if is_all else {node.shape: node for node in nodes}
    counts = {
        node.labels.get(key, ""): 0 for node in (shapes.values() if by_shape else nodes) if eligibility.of(node)[index]
    }
    names = on_node if is_all else on_node.keys() & {node.name for node in nodes}
    for node in filter(None, map(state.node, names)):
        if eligibility.of(node)[index]:
            counts[node.labels.get(key, "")] += on_node[node.name]
    return counts


def pods_by_host(
    index: int, on_node: dict[str, int], matches: ConstraintMatches, state: State, scored: Sequence[NodeInfo]
) -> dict[str, int]:
    """Matching pods per node, eligible or not. The NodeInfos of an extender may have other pods than the state's."""
    if scored is state.nodes or isinstance(scored, NodeRow):
        return on_node
    by_name = state.by_name
    for node in scored:
        if by_name.get(node.name) is not node:
            on_node[node.name] = matches.on(node)[index]
    return on_node


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


class SpreadScorer(Incremental, ByShapeExcept, NormalizesByRange, NodeScorer):
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
        self._upkeep, self.namespace = upkeep, upkeep.matches.namespace
        #: Nodes without a host name.
        self._unnamed = unnamed
        self.by_shape = by_shape

    def score(self, node: NodeInfo) -> int:
        """The weighted number of matching pods in the node's domains: less is better."""
        if node.name in self._ignored:
            return 0
        labels = node.labels
        # Summed in the order of the constraints, as upstream: the order changes a sum of floats.
        score = 0.0
        for key, by_name, counts, weight, tolerance in self._rules:
            value = labels.get(key)
            if value is not None:
                score += counts.get(node.name if by_name else value, 0) * weight + tolerance
        return round_half_away(score)

    def exceptions(self, nodes: Sequence[NodeInfo]) -> AbstractSet[str]:
        """If each host is a domain: the nodes with matching pods, and the nodes without the label."""
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
        """Add or subtract the pod permanently; no other node changes its class."""
        for index in self._upkeep.counted_in(pod, node):
            key, by_name, counts, _, _ = self._rules[index]
            where = node.name if by_name else node.labels.get(key, "")
            counts[where] = counts.get(where, 0) + amount
        return NO_DOMAINS

    def update_feasible_count(self, node: NodeInfo, number: int) -> None:
        """Update the weights: with more or fewer feasible nodes, the number of domains may change."""
        if node.name not in self._ignored:
            domains = self._upkeep.update_feasible_count(node, number)
            self._rules = tuple(
                rule._replace(weight=_weight(number)) for rule, number in zip(self._rules, domains, strict=True)
            )

    def apply_node_change(self, before: Node, after: Node) -> bool:
        """False with `nodeTaintsPolicy: Honor`: taints decide which nodes count, so compile the scorer again."""
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
