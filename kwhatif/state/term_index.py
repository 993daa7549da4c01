"""`TermIndex`: which affinity terms speak of the pods of a namespace, and how many pods have them where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from kwhatif.matching.affinity import AffinityTerms
from kwhatif.model.overlay import Overlay
from kwhatif.model.pod import pod_affinity_terms
from kwhatif.state.label_index import count
from kwhatif.state.pod_info import PodInfo


class _Term(NamedTuple):
    """How many pods have the same terms, by node name."""

    owner: object
    pods: dict[str, int]


class TermIndex:
    """Terms are counted when somebody asks about a namespace of which they may speak, and kept up from then on."""

    def __init__(self, pods: Mapping[str, PodInfo]) -> None:
        #: The live pods of the state, as long as nobody has asked.
        self.pods = pods
        #: The mark of what only this index has; after a fork, nothing.
        self._mark = object()
        #: By the terms; and by namespace those that may speak of its pods. None: nobody has asked yet.
        self._by_terms: Overlay[AffinityTerms, _Term] | None = None
        self._terms_about: Overlay[str, tuple[AffinityTerms, ...]] = Overlay()
        #: Terms that choose namespaces by their labels: they may speak of any.
        self._terms_about_any: tuple[AffinityTerms, ...] = ()
        #: The labels that these ask for.
        self._keys_about: Overlay[str, frozenset[str]] = Overlay()
        self._keys_about_any: frozenset[str] = frozenset()
        #: The pods whose terms speak of their own namespace alone, where nobody has asked about that yet.
        self._uncounted: Overlay[str, list[PodInfo]] = Overlay()

    def fork(self, pods: Mapping[str, PodInfo]) -> TermIndex:
        """An independent index of the same pods, which are here now."""
        other = TermIndex(pods)
        self._mark = object()
        if self._by_terms is not None:
            other._by_terms = self._by_terms.fork()
            other._terms_about = self._terms_about.fork()
            other._terms_about_any = self._terms_about_any
            other._keys_about, other._keys_about_any = self._keys_about.fork(), self._keys_about_any
            other._uncounted = self._uncounted.fork()
        return other

    def about(self, namespace: str) -> Iterator[tuple[AffinityTerms, Mapping[str, int]]]:
        """Affinity terms that may speak of the namespace's pods, and how many pods have them, by node name."""
        by_terms = self._terms(namespace)
        for terms in (*self._terms_about.get(namespace, ()), *self._terms_about_any):
            yield terms, by_terms[terms].pods

    def label_keys(self, namespace: str) -> AbstractSet[str]:
        """The labels that any such term asks for, or has asked for since the index was made."""
        self._terms(namespace)
        return self._keys_about.get(namespace, frozenset()) | self._keys_about_any

    def all(self) -> Mapping[AffinityTerms, Mapping[str, int]]:
        """The terms about namespaces that were asked about, and all that speak of other namespaces than their own."""
        return {terms: found.pods for terms, found in self._terms("").items()}

    def _terms(self, namespace: str) -> Overlay[AffinityTerms, _Term]:
        """All terms that may speak of the namespace's pods, and perhaps others."""
        by_terms = self._by_terms
        if by_terms is None:
            by_terms = self._by_terms = Overlay()
            self._uncounted = Overlay(self._count_those_about_others(by_terms))
        for pod in self._uncounted.pop(namespace) or ():
            self._count(by_terms, pod, 1)
        return by_terms

    def _count_those_about_others(self, by_terms: Overlay[AffinityTerms, _Term]) -> dict[str, list[PodInfo]]:
        """Count the terms that speak of other namespaces; returns the other pods with terms, by namespace."""
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
        """The pod was assigned to its node (`amount` 1), or taken off it (-1)."""
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
        """These terms have not been seen before."""
        keys, namespaces = terms.label_keys, terms.namespaces
        if namespaces is None:
            self._terms_about_any += (terms,)
            self._keys_about_any |= keys
        for namespace in namespaces or ():
            self._terms_about.put(namespace, (*self._terms_about.get(namespace, ()), terms))
            known = self._keys_about.get(namespace, frozenset())
            if not keys <= known:
                self._keys_about.put(namespace, known | keys)


def _speaks_of_others(pod: PodInfo) -> bool:
    """Whether any of its terms names namespaces, or chooses them: else it speaks of the pod's own."""
    return any(term.namespaces or term.namespace_selector is not None for term in pod_affinity_terms(pod.pod.spec))
