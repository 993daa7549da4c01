"""PreFilter and Filter: hard constraints (`podtopologyspread/filtering.go`)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from typing import Self

from kwhatif.kube.model.node import Node
from kwhatif.scheduler.framework.evidence import MissingTopologyLabel, SpreadSkew
from kwhatif.scheduler.framework.incremental import NO_DOMAINS, DomainTally, Incremental, Selective, TopologyDomains
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.status import SUCCESS, Status, unresolvable, unschedulable
from kwhatif.scheduler.plugins.pod_topology_spread.constraints import (
    ConstraintMatches,
    Eligibility,
    SpreadConstraint,
    has_all,
)
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

SKEWED = "node(s) didn't match pod topology spread constraints"
NO_LABEL = f"{SKEWED} (missing required label)"

_MAX_INT32 = 2**31 - 1


class CriticalPaths:
    """The domain with the fewest matching pods, and one more domain.

    `least` is the minimum as long as only one domain changes after construction. This holds for preemption, which
    evicts pods of a single node on a separate fork. QUIRK: (filtering.go, criticalPaths) after changes in several
    domains it may be wrong.
    """

    __slots__ = ("_first", "_second", "least", "next_least")

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._first = self._second = ""
        self.least = self.next_least = _MAX_INT32
        for value, count in counts.items():
            self.update(value, count)

    def update(self, value: str, count: int) -> None:
        """Set the count of a domain."""
        if value == self._first:
            self.least = count
            self._swap_if_out_of_order()
        elif value == self._second:
            self.next_least = count
            self._swap_if_out_of_order()
        elif count < self.least:
            self._second, self.next_least = self._first, self.least
            self._first, self.least = value, count
        elif count < self.next_least:
            self._second, self.next_least = value, count

    def _swap_if_out_of_order(self) -> None:
        if self.least > self.next_least:
            self._first, self._second = self._second, self._first
            self.least, self.next_least = self.next_least, self.least

    def least_beside(self, value: str) -> int:
        """The smallest count of the domains other than `value`."""
        return self.next_least if value == self._first else self.least

    def concern(self, value: str, count: int) -> bool:
        """Whether the domain's new count changes one of the two domains."""
        return value in (self._first, self._second) or count < self.next_least

    def fork(self) -> CriticalPaths:
        """An independent copy."""
        other = CriticalPaths.__new__(CriticalPaths)
        other._first = self._first
        other._second = self._second
        other.least = self.least
        other.next_least = self.next_least
        return other


class _Rule:
    """One constraint, prepared for checking nodes; shared by all forks."""

    __slots__ = ("max_skew", "min_domains", "self_match", "too_few_domains", "topology_key")

    def __init__(self, constraint: SpreadConstraint, pod: PodInfo, domains: int) -> None:
        self.topology_key = constraint.topology_key
        self.max_skew = constraint.max_skew
        self.self_match = int(constraint.selector.matches(pod.labels))
        self.min_domains = constraint.min_domains
        #: If there are too few domains, the minimum counts as 0. The number of domains is fixed within a cycle.
        self.too_few_domains = domains < constraint.min_domains

    def with_domains(self, domains: int) -> _Rule:
        """The rule for this number of domains."""
        other = copy(self)
        other.too_few_domains = domains < self.min_domains
        return other


class SpreadFilter(Selective, Incremental, NodeFilter):
    """The hard constraints of one pod, with the number of matching pods per domain."""

    reads = Reads.CLUSTER

    def __init__(
        self,
        rules: Sequence[_Rule],
        matches: ConstraintMatches,
        eligibility: Eligibility,
        counts: Sequence[dict[str, int]],
        unfixed: frozenset[str],
    ) -> None:
        self._unfixed = unfixed
        self._keys = tuple(rule.topology_key for rule in rules)
        self._matches, self.namespace = matches, matches.namespace
        self._eligibility = eligibility
        self._domains = [
            (rule, DomainTally(count), CriticalPaths(count)) for rule, count in zip(rules, counts, strict=True)
        ]

    def filter(self, node: NodeInfo) -> Status:
        """Reject for the first violated constraint. The domain of a node that is not eligible may have no count."""
        labels = node.labels
        for rule, tally, paths in self._domains:
            value = labels.get(rule.topology_key)
            if value is None:
                return unresolvable(NO_LABEL, MissingTopologyLabel(rule.topology_key))
            minimum = 0 if rule.too_few_domains else paths.least
            matching = tally.count(value)
            if matching + rule.self_match - minimum > rule.max_skew:
                evidence = SpreadSkew(rule.topology_key, value, matching, minimum, rule.self_match, rule.max_skew)
                return unschedulable(SKEWED, evidence)
        return SUCCESS

    def fork_with(self, state: State) -> Self:
        """A copy with separate counts, to be updated with a fork of the state."""
        other = self.fork()
        other._matches, other._eligibility = self._matches.fork(), self._eligibility.fork()
        other._domains = [(rule, tally.copy(), paths.fork()) for rule, tally, paths in self._domains]
        return other

    def fork(self) -> Self:
        """A copy that shares the counts, but not later changes."""
        other = type(self).__new__(type(self))
        other._unfixed = self._unfixed
        other._keys = self._keys
        other._matches = self._matches
        other._eligibility = self._eligibility
        other._domains = [(rule, tally.fork(), paths.fork()) for rule, tally, paths in self._domains]
        return other

    def affected_by(self, pod: PodInfo) -> bool:
        """Whether a constraint matches the pod."""
        return bool(self._matches.of(pod))

    def affected_on(self, node: NodeInfo) -> bool:
        """Whether a constraint matches a pod on the node."""
        return node.name in self._matches.nodes

    def add_pod(self, pod: PodInfo, node: NodeInfo) -> None:
        """Count the pod."""
        self._update(pod, node, 1)

    def remove_pod(self, pod: PodInfo, node: NodeInfo) -> None:
        """Subtract the pod."""
        self._update(pod, node, -1)

    def _update(self, pod: PodInfo, node: NodeInfo, amount: int) -> None:
        # QUIRK: (filtering.go, updateWithPod) a pod that is being deleted, or that an empty selector matches, was not
        # counted in the first place; evicting it makes the count too small, even negative.
        matching = self._matches.of(pod)
        if not matching or not has_all(node.labels, self._keys):
            return
        eligible = self._eligibility.of(node)
        for index in matching:
            if eligible[index]:
                rule, tally, paths = self._domains[index]
                value = node.labels[rule.topology_key]
                paths.update(value, tally.add(value, amount))

    def apply_pod_change(self, pod: PodInfo, node: NodeInfo, amount: int) -> TopologyDomains:
        """Add or subtract the pod permanently, with the same result as a new count of all pods."""
        counting = self._matches.counting(pod)
        if self.affected_by(pod):
            self._matches.nodes.add(node.name)
        if not counting or not has_all(node.labels, self._keys):
            return NO_DOMAINS
        eligible = self._eligibility.of(node)
        touched = set()
        for index in counting:
            if eligible[index]:
                rule, tally, paths = self._domains[index]
                value = node.labels[rule.topology_key]
                if paths.concern(value, tally.settle(value, amount)):
                    self._domains[index] = rule, tally, CriticalPaths(tally.settled)
                if rule.topology_key in self._unfixed:
                    touched.add((rule.topology_key, value))
        return frozenset(touched)

    def apply_node_change(self, before: Node, after: Node) -> bool:
        """False with `nodeTaintsPolicy: Honor`: taints decide which nodes count, so compile the filter again."""
        return not self._eligibility.honors_taints

    def apply_added_node(self, node: NodeInfo) -> bool:
        """Add the node's domains, also domains without pods."""
        labels = node.labels
        if not has_all(labels, self._keys):
            return True
        for index, eligible in enumerate(self._eligibility.of(node)):
            rule, tally, _ = self._domains[index]
            value = labels[rule.topology_key]
            if eligible and value not in tally.settled:
                tally.settle(value, 0)
                self._domains[index] = rule.with_domains(len(tally.settled)), tally, CriticalPaths(tally.settled)
        return True

    def node_class(self, node: NodeInfo) -> Hashable:
        """The node's domains; for a key with a domain per node, the number of pods in it."""
        labels = node.labels
        values: list[str | int | None] = []
        for key, (_, tally, _) in zip(self._keys, self._domains, strict=True):
            value = labels.get(key)
            values.append(value if value is None or key not in self._unfixed else tally.count(value))
        return tuple(values)

    def class_state(self, node: NodeInfo) -> Hashable:
        """For each constraint, the number of pods that would have to leave the node to satisfy it."""
        excess = []
        for rule, tally, paths in self._domains:
            value = node.labels.get(rule.topology_key)
            if value is not None:
                minimum = 0 if rule.too_few_domains else paths.least_beside(value)
                excess.append(max(0, tally.count(value) + rule.self_match - minimum - rule.max_skew))
        return tuple(excess)


def compile_filter(pod: PodInfo, state: State, constraints: Sequence[SpreadConstraint]) -> SpreadFilter:
    """Count the matching pods in every domain of every constraint (`calPreFilterState`)."""
    matches = ConstraintMatches(pod, constraints)
    eligibility = Eligibility(pod, constraints, state.shapes.unfixed)
    keys = tuple(constraint.topology_key for constraint in constraints)
    on_node = matches.by_node(state.index)
    counts: list[dict[str, int]] = [{} for _ in constraints]
    for node in eligibility.candidates(state.nodes):
        labels = node.labels
        if not has_all(labels, keys):
            continue
        name = node.name
        for index, eligible in enumerate(eligibility.of(node)):
            if eligible:
                value, domains = labels[keys[index]], counts[index]
                domains[value] = domains.get(value, 0) + on_node[index].get(name, 0)
    rules = [_Rule(constraint, pod, len(domains)) for constraint, domains in zip(constraints, counts, strict=True)]
    return SpreadFilter(rules, matches, eligibility, counts, state.shapes.unfixed)
