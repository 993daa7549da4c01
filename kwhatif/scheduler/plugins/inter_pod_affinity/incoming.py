"""The incoming pod's side of the matching, compiled once per cycle (`interpodaffinity/plugin.go`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import NamedTuple

from kwhatif.kube.matching.labels import Labels
from kwhatif.kube.matching.pods import AffinityTerm, AffinityTerms
from kwhatif.kube.model.cluster import Cluster
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

_NO_LABELS: Labels = {}
#: Whether a term of the incoming pod matches pods of a namespace.
AcceptsNamespace = Callable[[AffinityTerm, str, Cluster], bool]


def accepts_namespace(term: AffinityTerm, namespace: str, cluster: Cluster) -> bool:
    """Whether a term of the incoming pod matches pods of that namespace.

    Upstream adds the namespaces that the selector matches to those that are listed, and then matches other pods without
    reading their namespace's labels. QUIRK: (plugin.go, mergeAffinityTermNamespacesIfNotEmpty) it should then drop the
    selector, but drops that of a copy. So a selector that matches empty labels, such as only `NotIn`, accepts all.
    """
    return accepts_only_selected(term, namespace, cluster) or term.namespace_selector.matches(_NO_LABELS)


def accepts_only_selected(term: AffinityTerm, namespace: str, cluster: Cluster) -> bool:
    """Whether a term of the incoming pod matches pods of that namespace, up to 1.33 and since 1.37.

    The term lists the namespace, or its selector matches the namespace's labels.
    """
    return namespace in term.namespaces or term.namespace_selector.matches(cluster.namespace_labels(namespace))


class Match(NamedTuple):
    """How another pod matches the terms of the incoming one."""

    #: Whether it matches all required affinity terms.
    wanted: bool
    #: The indexes of the required anti-affinity terms that it matches.
    refused: tuple[int, ...]


class Incoming:
    """The required terms of the incoming pod; shared by all forks."""

    def __init__(self, pod: PodInfo, cluster: Cluster, accepts: AcceptsNamespace = accepts_namespace) -> None:
        self._accepts = accepts
        self.terms = pod.affinity_terms
        #: Several terms with the same key count the same pods: one count per key is equivalent to upstream's sum.
        self.affinity_keys = tuple(dict.fromkeys(term.topology_key for term in self.terms.required))
        #: Whether the pod has any such terms.
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
            if not self._speaks_of(term, namespace, labels):
                return False
        return bool(terms)

    def _speaks_of(self, term: AffinityTerm, namespace: str, labels: Labels) -> bool:
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
            index for index, term in enumerate(self.terms.required_anti) if self._speaks_of(term, namespace, labels)
        ]
        return Match(wanted, tuple(refused)) if wanted or refused else None

    def match_pod(self, pod: PodInfo) -> Match | None:
        """How that pod matches the incoming pod's terms; cached, because preemption asks several times."""
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
    """Add pods, given by node name, to the domains of their nodes, weighted. Nodes without the key do not count."""
    by_name = state.by_name
    for node_name, number in pods.items():
        node = by_name.get(node_name)
        value = None if node is None else node.labels.get(key)
        if value is not None:
            sums[value] = sums.get(value, 0) + weight * number
