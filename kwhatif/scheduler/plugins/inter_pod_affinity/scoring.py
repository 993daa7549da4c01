"""PreScore, Score and NormalizeScore: preferred terms (`interpodaffinity/scoring.go`)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from typing import Self

from kwhatif.kube.matching.pods import AffinityTerms, WeightedTerms
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.node import Node
from kwhatif.scheduler.framework.filters import ByShapeExcept
from kwhatif.scheduler.framework.incremental import Incremental, NormalizesByRange, TopologyDomains
from kwhatif.scheduler.framework.plugin import MAX_NODE_SCORE, NodeScorer
from kwhatif.scheduler.framework.status import SkipUntil, Status
from kwhatif.scheduler.plugins.inter_pod_affinity.filtering import AcceptsNamespace, accepts_namespace, add_by_domain
from kwhatif.state.node_info import NodeInfo, NodesByLabel, nodes_by_label
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: Sums of weights by topology key and value.
DomainWeights = dict[str, dict[str, int]]


class AffinityScorer(Incremental, ByShapeExcept, NormalizesByRange, NodeScorer):
    """The preferred terms between one pod and all others, as sums of weights per topology domain."""

    def __init__(
        self, scores: DomainWeights, preferences: Preferences, unfixed: frozenset[str], nodes: NodesByLabel
    ) -> None:
        self._scores = tuple(scores.items())
        self._by_key = scores
        self._preferences = preferences
        self._unfixed = unfixed
        self._nodes = nodes

    def score(self, node: NodeInfo) -> int:
        """The sum of the weights in all domains of the node."""
        labels = node.labels
        total = 0
        for key, scores in self._scores:
            value = labels.get(key)
            if value is not None:
                total += scores.get(value, 0)
        return total

    def exceptions(self, nodes: Sequence[NodeInfo]) -> AbstractSet[str]:
        """For keys that are not part of a shape: the nodes in domains with a weight."""
        sums = [(self._nodes.of(key), scores) for key, scores in self._scores if key in self._unfixed]
        return {name for names, scores in sums for value in scores for name in names.get(value, ())}

    def normalize(self, scores: list[int], nodes: Sequence[NodeInfo]) -> list[int]:
        """0 for the lowest sum to 100 for the highest; 0 for all nodes if the sums are equal."""
        least, most = min(scores, default=0), max(scores, default=0)
        spread = most - least
        if spread == 0:
            return [0] * len(scores)
        # As upstream: a floating-point division first, then truncation. So 29 of 100 gives 28.
        points = {score: int(MAX_NODE_SCORE * ((score - least) / spread)) for score in set(scores)}
        return [points[score] for score in scores]

    def apply_pod_change(self, pod: PodInfo, node: NodeInfo, amount: int) -> TopologyDomains | None:
        """Add or subtract the weights of the pod's preferred terms, and of terms that match the pod."""
        touched = set()
        for key, weight in self._preferences.with_pod(pod):
            value = node.labels.get(key)
            if value is None:
                continue
            if amount < 0 or key not in self._by_key:
                return None  # the last pod with a preference, or the first pod for a key, changes all nodes
            domains = self._by_key[key]
            domains[value] = domains.get(value, 0) + weight * amount
            if key in self._unfixed:
                touched.add((key, value))
        return frozenset(touched)

    def fork_with(self, state: State) -> Self:
        """A copy with separate sums, to be updated with a fork of the state."""
        other = copy(self)
        other._by_key = {key: sums.copy() for key, sums in self._scores}
        other._scores = tuple(other._by_key.items())
        other._preferences = self._preferences.fork(state.cluster)
        return other

    def apply_node_change(self, before: Node, after: Node) -> bool:
        """True: only labels of nodes matter, not their taints, conditions and cordons."""
        return True

    def node_class(self, node: NodeInfo) -> Hashable:
        """The node's domains; for a key with a domain per node, its sum."""
        labels, unfixed = node.labels, self._unfixed
        return tuple(
            [
                scores.get(value, 0) if (value := labels.get(key)) is not None and key in unfixed else value
                for key, scores in self._scores
            ]
        )


class Preferences:
    """The preferred terms of one pod for other pods, and the terms of other pods for this pod."""

    def __init__(
        self, pod: PodInfo, cluster: Cluster, hard_weight: int, accepts: AcceptsNamespace = accepts_namespace
    ) -> None:
        self._accepts = accepts
        self._pod = pod
        self._cluster = cluster
        self._namespace_labels = cluster.namespace_labels(pod.namespace)
        #: The weight of required affinity terms of other pods.
        self._hard_weight = hard_weight
        own = pod.affinity_terms
        self.weighted: WeightedTerms = (*own.preferred, *((-weight, term) for weight, term in own.preferred_anti))

    def fork(self, cluster: Cluster) -> Preferences:
        """The preferences for another state, which may have other namespaces."""
        other = copy(self)
        other._cluster = cluster
        return other

    def by_their_terms(self, terms: AffinityTerms) -> Iterator[tuple[str, int]]:
        """Topology key and weight of another pod's terms that match this pod."""
        pod, namespace_labels = self._pod, self._namespace_labels
        required = ((self._hard_weight, term) for term in terms.required if self._hard_weight > 0)
        refused = ((-weight, term) for weight, term in terms.preferred_anti)
        for weight, term in (*required, *terms.preferred, *refused):
            if term.matches(pod.namespace, pod.labels, namespace_labels):
                yield term.topology_key, weight

    def about(self, namespace: str) -> WeightedTerms:
        """The pod's own terms that may match pods of that namespace."""
        return tuple(weighted for weighted in self.weighted if self._accepts(weighted[1], namespace, self._cluster))

    def with_pod(self, other: PodInfo) -> Iterator[tuple[str, int]]:
        """Topology key and weight of all terms between this pod and the other pod."""
        if other.has_affinity:
            yield from self.by_their_terms(other.affinity_terms)
        for weight, term in self.about(other.namespace) if self.weighted else ():
            if term.selector.matches(other.labels):
                yield term.topology_key, weight


def compile_scorer(pod: PodInfo, state: State, hard_weight: int, accepts: AcceptsNamespace) -> AffinityScorer | Status:
    """Sum up the weights of all preferred terms, in both directions; SKIP if there are none."""
    scores: DomainWeights = {}
    preferences = Preferences(pod, state.cluster, hard_weight, accepts)
    for terms, pods in state.index.terms.about(pod.namespace):
        for key, weight in preferences.by_their_terms(terms):
            add_by_domain(scores.setdefault(key, {}), key, pods, state, weight)
    for namespace in state.index.labels.namespaces() if preferences.weighted else ():
        for weight, term in preferences.about(namespace):
            for group in state.index.labels.matching(namespace, term.selector):
                add_by_domain(scores.setdefault(term.topology_key, {}), term.topology_key, group.pods, state, weight)
    scores = {key: weights for key, weights in scores.items() if weights}
    if not scores:
        return SkipUntil(concerns=lambda other: any(preferences.with_pod(other)))
    return AffinityScorer(scores, preferences, state.shapes.unfixed, nodes_by_label(state.cluster))
