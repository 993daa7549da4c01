"""The terms of the incoming pod, and PreFilter and Filter for required terms (`interpodaffinity/filtering.go`)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from typing import NamedTuple, Self

from kwhatif.kube.matching.labels import Labels
from kwhatif.kube.matching.pods import AffinityTerm, AffinityTerms
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.node import Node
from kwhatif.scheduler.framework.evidence import ExistingAntiAffinity, PodAffinityUnmatched, PodAntiAffinityMatched
from kwhatif.scheduler.framework.filters import ByShapeExcept
from kwhatif.scheduler.framework.incremental import DomainTally, Incremental, Selective, Sparing, TopologyDomains
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.status import SUCCESS, SkipUntil, Status, unresolvable, unschedulable
from kwhatif.state.node_info import NodeInfo, nodes_by_label
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

_NO_LABELS: Labels = {}
#: Whether a term of the incoming pod matches pods of a namespace.
AcceptsNamespace = Callable[[AffinityTerm, str, Cluster], bool]


def accepts_namespace(term: AffinityTerm, namespace: str, cluster: Cluster) -> bool:
    """Whether a term of the incoming pod matches pods of that namespace.

    Upstream adds the namespaces that the selector matches to the listed namespaces, and then matches other pods without
    the labels of their namespace. QUIRK: (plugin.go, mergeAffinityTermNamespacesIfNotEmpty) it should then remove the
    selector, but removes it only from a copy. So a selector that matches empty labels (only `NotIn`, for example)
    accepts all namespaces.
    """
    return accepts_only_selected(term, namespace, cluster) or term.namespace_selector.matches(_NO_LABELS)


def accepts_only_selected(term: AffinityTerm, namespace: str, cluster: Cluster) -> bool:
    """Up to 1.33 and since 1.37: the term lists the namespace, or its selector matches the labels of the namespace."""
    return namespace in term.namespaces or term.namespace_selector.matches(cluster.namespace_labels(namespace))


class Match(NamedTuple):
    """How another pod matches the terms of the incoming one."""

    #: Whether the other pod matches all required affinity terms.
    wanted: bool
    #: The indexes of the required anti-affinity terms that the other pod matches.
    refused: tuple[int, ...]


class Incoming:
    """The required terms of the incoming pod; shared by all forks."""

    def __init__(self, pod: PodInfo, cluster: Cluster, accepts: AcceptsNamespace = accepts_namespace) -> None:
        self._accepts = accepts
        self.terms = pod.affinity_terms
        #: Several terms with the same key count the same pods: one count per key is equivalent to upstream's sum.
        self.affinity_keys = tuple(dict.fromkeys(term.topology_key for term in self.terms.required))
        #: Whether the pod has any required terms.
        self.speaks = bool(self.terms.required or self.terms.required_anti)
        self._pod = pod
        self._cluster = cluster
        self._namespace_labels = cluster.namespace_labels(pod.namespace)
        self._refusals: dict[AffinityTerms, tuple[str, ...]] = {}
        self._concerns: dict[str, bool] = {}
        self._matches: dict[PodInfo, Match | None] = {}
        #: Whether the pod matches its own affinity, so that it may be the first of its group.
        self.wants_itself = self._wants(pod.namespace, pod.labels)

    def _wants(self, namespace: str, labels: Labels) -> bool:
        terms = self.terms.required
        # Called for every potential victim; a generator would double the cost.
        for term in terms:
            if not self._selects(term, namespace, labels):
                return False
        return bool(terms)

    def _selects(self, term: AffinityTerm, namespace: str, labels: Labels) -> bool:
        return term.selector.matches(labels) and self._accepts(term, namespace, self._cluster)

    def fork(self, cluster: Cluster) -> Incoming:
        """The terms for another state, which has other pods and perhaps other namespaces."""
        other = copy(self)
        other._cluster = cluster
        other._matches = {}
        return other

    def concerns(self, namespace: str) -> bool:
        """Whether any term may match pods of that namespace."""
        concerned = self._concerns.get(namespace)
        if concerned is None:
            both = (*self.terms.required, *self.terms.required_anti)
            concerned = any(self._accepts(term, namespace, self._cluster) for term in both)
            self._concerns[namespace] = concerned
        return concerned

    def match(self, namespace: str, labels: Labels) -> Match | None:
        """How pods with that namespace and these labels match the incoming pod's terms; None: not at all."""
        wanted = self._wants(namespace, labels)
        refused = [
            index for index, term in enumerate(self.terms.required_anti) if self._selects(term, namespace, labels)
        ]
        return Match(wanted, tuple(refused)) if wanted or refused else None

    def match_pod(self, pod: PodInfo) -> Match | None:
        """How that pod matches the incoming pod's terms; cached, because preemption needs it several times."""
        if not self.speaks or not self.concerns(pod.namespace):
            return None
        if pod not in self._matches:
            self._matches[pod] = self.match(pod.namespace, pod.labels)
        return self._matches[pod]

    def refused_by(self, terms: AffinityTerms) -> tuple[str, ...]:
        """The topology keys of the required anti-affinity terms of another pod that match the incoming pod."""
        keys = self._refusals.get(terms)
        if keys is None:
            pod, namespace_labels = self._pod, self._namespace_labels
            keys = self._refusals[terms] = tuple(
                term.topology_key
                for term in terms.required_anti
                if term.matches(pod.namespace, pod.labels, namespace_labels)
            )
        return keys

    def is_refused_by(self, pod: PodInfo) -> bool:
        """Whether required anti-affinity of another pod matches the incoming one."""
        return pod.affinity is not None and bool(self.refused_by(pod.affinity_terms))


def add_by_domain(sums: dict[str, int], key: str, pods: Mapping[str, int], state: State, weight: int = 1) -> None:
    """Add `weight` for each pod to the domain of its node, if the node has the key; `pods` is by node name."""
    by_name = state.by_name
    for node_name, number in pods.items():
        node = by_name.get(node_name)
        value = None if node is None else node.labels.get(key)
        if value is not None:
            sums[value] = sums.get(value, 0) + weight * number


AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"

Counts = dict[str, int]


class AffinityFilter(Selective, Sparing, Incremental, ByShapeExcept, NodeFilter):
    """The required terms between one pod and all others, as counts per topology domain.

    Upstream keeps three maps from (key, value) to a count, without entries for 0; here a count can be 0.
    """

    reads = Reads.CLUSTER

    def __init__(
        self,
        incoming: Incoming,
        wanted: Sequence[Counts],
        refused: Sequence[Counts],
        existing: dict[str, Counts],
        state: State,
        relevant: set[str],
    ) -> None:
        self._incoming = incoming
        #: Names of nodes that have, or had, pods with matching terms.
        self._relevant = relevant
        self._unfixed = state.shapes.unfixed
        self._nodes = nodes_by_label(state.cluster)
        #: Pods that match all affinity terms, by key.
        self._wanted = [(key, DomainTally(counts)) for key, counts in zip(incoming.affinity_keys, wanted, strict=True)]
        #: Pods that match an anti-affinity term, by term.
        self._refused = [
            (term, DomainTally(counts)) for term, counts in zip(incoming.terms.required_anti, refused, strict=True)
        ]
        #: Pods whose own anti-affinity matches the incoming pod, by key.
        self._existing = {key: DomainTally(counts) for key, counts in existing.items()}

    def filter(self, node: NodeInfo) -> Status:
        """Check affinity, then anti-affinity, then the anti-affinity of other pods."""
        labels = node.labels
        for key, tally in self._wanted:
            value = labels.get(key)
            if value is None or tally.count(value) <= 0:
                if self._may_be_first(labels):
                    break
                return self._unmatched(labels)
        for term, tally in self._refused:
            value = labels.get(term.topology_key)
            if value is not None and (count := tally.count(value)) > 0:
                evidence = PodAntiAffinityMatched(term.topology_key, value, term.selector_text, count)
                return unschedulable(ANTI_AFFINITY, evidence)
        for key, tally in self._existing.items():
            value = labels.get(key)
            if value is not None and (count := tally.count(value)) > 0:
                return unschedulable(EXISTING_ANTI_AFFINITY, ExistingAntiAffinity(key, value, count))
        return SUCCESS

    def suspects(self, state: State) -> AbstractSet[str] | None:
        """With anti-affinity only: the nodes in domains with counted pods. With affinity: None, for any node."""
        if self._wanted:
            return None
        nodes = nodes_by_label(state.cluster)
        domains = ((nodes.of(key), tally) for key, tally in self._tallies())
        return {name for names, tally in domains for value in tally.values for name in names.get(value, ())}

    def _may_be_first(self, labels: Labels) -> bool:
        """Whether no other pod matches the terms, the pod itself matches them, and the node has all topology keys."""
        if not self._incoming.wants_itself:
            return False
        return all(key in labels and not tally.nonzero for key, tally in self._wanted)

    def _unmatched(self, labels: Labels) -> Status:
        # Unresolvable by preemption: removing pods does not add a matching pod.
        missing = {key for key, tally in self._wanted if key not in labels or tally.count(labels[key]) <= 0}
        return unresolvable(
            AFFINITY,
            *(
                PodAffinityUnmatched(term.topology_key, labels.get(term.topology_key), term.selector_text)
                for term in self._incoming.terms.required
                if term.topology_key in missing
            ),
        )

    def fork_with(self, state: State) -> Self:
        """A copy with separate counts, to be updated with a fork of the state."""
        other = self.fork()
        other._incoming = self._incoming.fork(state.cluster)
        other._relevant = self._relevant.copy()
        other._wanted = [(key, tally.copy()) for key, tally in self._wanted]
        other._refused = [(term, tally.copy()) for term, tally in self._refused]
        other._existing = {key: tally.copy() for key, tally in self._existing.items()}
        return other

    def fork(self) -> Self:
        """A copy that shares the counts, but not later changes."""
        other = type(self).__new__(type(self))
        other._incoming = self._incoming
        other._relevant = self._relevant
        other._unfixed, other._nodes = self._unfixed, self._nodes
        other._wanted = [(key, tally.fork()) for key, tally in self._wanted]
        other._refused = [(term, tally.fork()) for term, tally in self._refused]
        other._existing = {key: tally.fork() for key, tally in self._existing.items()}
        return other

    def affected_by(self, pod: PodInfo) -> bool:
        """Whether a term of either pod matches the other."""
        return self._incoming.match_pod(pod) is not None or self._incoming.is_refused_by(pod)

    def affected_on(self, node: NodeInfo) -> bool:
        """Whether a term of a pod on the node matches the incoming pod, or the other way round."""
        return node.name in self._relevant

    def add_pod(self, pod: PodInfo, node: NodeInfo) -> None:
        """Count the pod."""
        self._update(pod, node, 1)

    def remove_pod(self, pod: PodInfo, node: NodeInfo) -> None:
        """Subtract the pod."""
        self._update(pod, node, -1)

    def _update(self, pod: PodInfo, node: NodeInfo, amount: int) -> None:
        labels = node.labels
        for key in self._refused_by(pod):
            if key in labels:
                self._existing.setdefault(key, DomainTally({})).add(labels[key], amount)
        for key, tally in self._counting(pod):
            if key in labels:
                tally.add(labels[key], amount)

    def _refused_by(self, pod: PodInfo) -> Sequence[str]:
        """The topology keys of the pod's own anti-affinity terms that match the incoming pod."""
        return () if pod.affinity is None else self._incoming.refused_by(pod.affinity_terms)

    def _counting(self, pod: PodInfo) -> Iterator[tuple[str, DomainTally]]:
        """The counts for the incoming pod's terms that match this pod."""
        match = self._incoming.match_pod(pod)
        if match is not None:
            if match.wanted:
                yield from self._wanted
            for index in match.refused:
                term, tally = self._refused[index]
                yield term.topology_key, tally

    def apply_pod_change(self, pod: PodInfo, node: NodeInfo, amount: int) -> TopologyDomains | None:
        """Add or subtract the pod permanently."""
        if self.affected_by(pod):
            self._relevant.add(node.name)
        labels = node.labels
        refused_by = [key for key in self._refused_by(pod) if key in labels]
        if not self._existing.keys() >= set(refused_by):
            return None  # a new key: the class of every node changes
        changed = [(key, self._existing[key]) for key in refused_by]
        changed += ((key, tally) for key, tally in self._counting(pod) if key in labels)
        for key, tally in changed:
            tally.settle(labels[key], amount)
        if amount < 0 and not self._has_own_terms and not any(tally.nonzero for tally in self._existing.values()):
            return None  # nothing remains to check: the plugin is then skipped, also for nominated pods
        return frozenset([(key, labels[key]) for key, _ in changed if key in self._unfixed])

    @property
    def _has_own_terms(self) -> bool:
        return bool(self._wanted or self._refused)

    def _tallies(self) -> Iterator[tuple[str, DomainTally]]:
        yield from self._wanted
        for term, tally in self._refused:
            yield term.topology_key, tally
        yield from self._existing.items()

    def apply_node_change(self, before: Node, after: Node) -> bool:
        """True: only labels of nodes matter, not their taints, conditions and cordons."""
        return True

    def node_class(self, node: NodeInfo) -> Hashable:
        """The node's domains; for a key with a domain per node, the number of pods in it."""
        labels = node.labels
        values: list[str | int | None] = []
        for key, tally in self._tallies():
            value = labels.get(key)
            values.append(value if value is None or key not in self._unfixed else tally.count(value))
        return tuple(values)

    def exceptions(self, nodes: Sequence[NodeInfo]) -> AbstractSet[str]:
        """For keys that are not part of a shape: the nodes in counted domains, and the nodes without a domain."""
        names: set[str] = set()
        for key, tally in self._tallies():
            if key in self._unfixed:
                of_value = self._nodes.of(key)
                names.update(*(of_value.get(value, ()) for value in (None, *tally.values)))
        return names

    def class_state(self, node: NodeInfo) -> Hashable:
        """The number of pods in the node's domains; for affinity also whether 0, 1 or more domains have matching pods.

        If no domain has matching pods, the first pod may be placed on any node.
        """
        labels = node.labels
        counts = [tally.count(labels[key]) for key, tally in self._tallies() if key in labels]
        return (*counts, *(min(tally.nonzero, 2) for _, tally in self._wanted))


def compile_filter(pod: PodInfo, state: State, accepts: AcceptsNamespace) -> AffinityFilter | Status:
    """Count all pods that match the pod's terms, or whose terms match the pod; SKIP without terms and such pods."""
    incoming = Incoming(pod, state.cluster, accepts)
    relevant: set[str] = set()
    existing = _existing(pod, incoming, state, relevant)
    terms = incoming.terms
    if not existing and not terms.required and not terms.required_anti:
        return SkipUntil(concerns=incoming.is_refused_by)
    for key in incoming.refused_by(terms):
        existing.setdefault(key, {})  # there is no such pod yet, but for the next replica this pod will be one
    wanted: list[Counts] = [{} for _ in incoming.affinity_keys]
    refused: list[Counts] = [{} for _ in terms.required_anti]
    for namespace in filter(incoming.concerns, state.index.labels.namespaces()):
        for group in state.index.labels.groups(namespace):
            match = incoming.match(namespace, group.labels)
            if match is None:
                continue
            relevant.update(group.pods)
            if match.wanted:
                for key, counts in zip(incoming.affinity_keys, wanted, strict=True):
                    add_by_domain(counts, key, group.pods, state)
            for index in match.refused:
                add_by_domain(refused[index], terms.required_anti[index].topology_key, group.pods, state)
    return AffinityFilter(incoming, wanted, refused, existing, state, relevant)


def _existing(pod: PodInfo, incoming: Incoming, state: State, relevant: set[str]) -> dict[str, Counts]:
    """The number of pods whose anti-affinity matches `pod`, by key and domain; adds their nodes to `relevant`."""
    existing: dict[str, Counts] = {}
    for others, pods in state.index.terms.about(pod.namespace):
        for key in incoming.refused_by(others):
            relevant.update(pods)
            add_by_domain(existing.setdefault(key, {}), key, pods, state)
    return {key: counts for key, counts in existing.items() if counts}
