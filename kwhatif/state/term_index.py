"""`TermIndex`: which affinity terms speak of the pods of a namespace, and how many pods have them where."""

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
    """How many pods have the same terms, by node name."""

    owner: object
    pods: dict[str, int]


class _About(NamedTuple):
    """The terms that may speak of the pods of a namespace, and the labels that they ask for."""

    terms: tuple[AffinityTerms, ...] = ()
    keys: frozenset[str] = frozenset()


_NOTHING = _About()
#: Where terms stand that choose namespaces by labels: they may speak of any. No namespace has this name.
_ANY = "*"


class TermIndex:
    """Terms are counted when somebody asks about a namespace of which they may speak, and kept up from then on."""

    def __init__(self, pods: Mapping[str, PodInfo]) -> None:
        #: The live pods of the state, as long as nobody has asked.
        self.pods = pods
        #: The mark of what only this index has; after a fork, nothing.
        self._mark = object()
        #: None: nobody has asked yet.
        self._by_terms: Overlay[AffinityTerms, _Term] | None = None
        #: By namespace; what may speak of any namespace is there once, as `_ANY`.
        self._about: Overlay[str, _About] = Overlay()
        #: The pods whose terms speak of their own namespace alone, where nobody has asked about that yet.
        self._uncounted: Overlay[str, list[PodInfo]] = Overlay()

    def fork(self, pods: Mapping[str, PodInfo]) -> TermIndex:
        """An independent index of the same pods, which are here now."""
        other = TermIndex(pods)
        self._mark = object()
        if self._by_terms is not None:
            other._by_terms = self._by_terms.fork()
            other._about, other._uncounted = self._about.fork(), self._uncounted.fork()
        return other

    def about(self, namespace: str) -> Iterator[tuple[AffinityTerms, Mapping[str, int]]]:
        """Affinity terms that may speak of the namespace's pods, and how many pods have them, by node name."""
        by_terms = self._terms(namespace)
        for known in self._known_about(namespace):
            for terms in known.terms:
                yield terms, by_terms[terms].pods

    def label_keys(self, namespace: str) -> AbstractSet[str]:
        """The labels that any such term asks for, or has asked for since the index was made."""
        self._terms(namespace)
        own, of_any = self._known_about(namespace)
        return own.keys | of_any.keys

    def _known_about(self, namespace: str) -> tuple[_About, _About]:
        return self._about.get(namespace, _NOTHING), self._about.get(_ANY, _NOTHING)

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
        namespaces = terms.namespaces
        for namespace in (_ANY,) if namespaces is None else namespaces:
            known = self._about.get(namespace, _NOTHING)
            self._about.put(namespace, _About((*known.terms, terms), known.keys | terms.label_keys))


def _speaks_of_others(pod: PodInfo) -> bool:
    """Whether any of its terms names namespaces, or chooses them: else it speaks of the pod's own."""
    return any(term.namespaces or term.namespace_selector is not None for term in pod_affinity_terms(pod.pod.spec))
