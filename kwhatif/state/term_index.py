"""`TermIndex`: the affinity terms that may match pods of a namespace, and how many pods have them, by node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from kwhatif.kube.matching.affinity import AffinityTerms
from kwhatif.kube.model.overlay import Overlay
from kwhatif.kube.model.pod import pod_affinity_terms
from kwhatif.state.label_index import count
from kwhatif.state.pod_info import PodInfo


class _Term(NamedTuple):
    """Equal affinity terms, and how many pods have them, by node name."""

    owner: object
    pods: dict[str, int]


class _About(NamedTuple):
    """The terms that may match the pods of a namespace, and the labels that they use."""

    terms: tuple[AffinityTerms, ...] = ()
    keys: frozenset[str] = frozenset()


_NOTHING = _About()
#: The entry of terms with a namespace selector, which may match any namespace. No namespace has this name.
_ANY = "*"


class TermIndex:
    """Terms are counted when a namespace that they may match is first requested, and updated from then on."""

    def __init__(self, pods: Mapping[str, PodInfo]) -> None:
        #: The live pods of the state, until the index is built.
        self.pods = pods
        #: The mark of what only this index owns; after a fork that is nothing.
        self._mark = object()
        #: None: not built yet.
        self._by_terms: Overlay[AffinityTerms, _Term] | None = None
        #: By namespace; terms that may match any namespace are listed once, as `_ANY`.
        self._about: Overlay[str, _About] = Overlay()
        #: The pods whose terms match only their own namespace, for namespaces that were not requested yet.
        self._uncounted: Overlay[str, list[PodInfo]] = Overlay()

    def fork(self, pods: Mapping[str, PodInfo]) -> TermIndex:
        """An independent index of the same pods, in this mapping."""
        other = TermIndex(pods)
        self._mark = object()
        if self._by_terms is not None:
            other._by_terms = self._by_terms.fork()
            other._about, other._uncounted = self._about.fork(), self._uncounted.fork()
        return other

    def about(self, namespace: str) -> Iterator[tuple[AffinityTerms, Mapping[str, int]]]:
        """Affinity terms that may match the namespace's pods, and how many pods have them, by node name."""
        by_terms = self._terms(namespace)
        for known in self._known_about(namespace):
            for terms in known.terms:
                yield terms, by_terms[terms].pods

    def label_keys(self, namespace: str) -> AbstractSet[str]:
        """The labels that such terms use, or have used since the index was built."""
        self._terms(namespace)
        own, of_any = self._known_about(namespace)
        return own.keys | of_any.keys

    def _known_about(self, namespace: str) -> tuple[_About, _About]:
        return self._about.get(namespace, _NOTHING), self._about.get(_ANY, _NOTHING)

    def all(self) -> Mapping[AffinityTerms, Mapping[str, int]]:
        """The terms for namespaces that were requested, and all terms for other namespaces than their pod's own."""
        return {terms: found.pods for terms, found in self._terms("").items()}

    def _terms(self, namespace: str) -> Overlay[AffinityTerms, _Term]:
        """All terms that may match the namespace's pods, and perhaps others."""
        by_terms = self._by_terms
        if by_terms is None:
            by_terms = self._by_terms = Overlay()
            self._uncounted = Overlay(self._count_those_about_others(by_terms))
        for pod in self._uncounted.pop(namespace) or ():
            self._count(by_terms, pod, 1)
        return by_terms

    def _count_those_about_others(self, by_terms: Overlay[AffinityTerms, _Term]) -> dict[str, list[PodInfo]]:
        """Count the terms that match other namespaces; returns the other pods with terms, by namespace."""
        others: dict[str, list[PodInfo]] = {}
        for pod in [pod for pod in self.pods.values() if pod.affinity is not None]:
            if not pod.has_affinity or not pod.pod.spec.node_name:
                continue
            if _speaks_of_others(pod):
                self._count(by_terms, pod, 1)
            else:
                others.setdefault(pod.namespace, []).append(pod)
        return others

    def change(self, pod: PodInfo, amount: int) -> None:
        """Count the pod's terms on its node (`amount` 1), or uncount them (-1)."""
        if self._by_terms is not None and pod.has_affinity:
            self._count(self._terms(pod.namespace), pod, amount)

    def _count(self, by_terms: Overlay[AffinityTerms, _Term], pod: PodInfo, amount: int) -> None:
        terms = pod.affinity_terms
        found = by_terms.get(terms)
        if found is None:
            self._note(terms)
        if found is None or found.owner is not self._mark:
            found = _Term(self._mark, {} if found is None else found.pods.copy())
            by_terms.put(terms, found)
        count(found.pods, pod.pod.spec.node_name, amount)

    def _note(self, terms: AffinityTerms) -> None:
        """Index terms that were not seen before."""
        namespaces = terms.namespaces
        for namespace in (_ANY,) if namespaces is None else namespaces:
            known = self._about.get(namespace, _NOTHING)
            self._about.put(namespace, _About((*known.terms, terms), known.keys | terms.label_keys))


def _speaks_of_others(pod: PodInfo) -> bool:
    """Whether any of its terms names or selects namespaces; otherwise they match only the pod's own."""
    return any(term.namespaces or term.namespace_selector is not None for term in pod_affinity_terms(pod.pod.spec))
