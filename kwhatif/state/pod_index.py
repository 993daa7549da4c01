"""`PodIndex`: counts of pods by node, grouped by their labels and affinity terms.

Upstream matches every pod of the cluster in every cycle, on 16 threads. Here replicas are matched together: a cluster
of 110,000 pods has a few thousand groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from kwhatif.kube.matching.labels import Labels, Selector
from kwhatif.kube.matching.pods import AffinityTerms
from kwhatif.kube.model.overlay import Overlay
from kwhatif.kube.model.pod import pod_affinity_terms
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo


class PodGroup:
    """Pods of one namespace with the same labels: how many are on each node, by node name."""

    __slots__ = ("labels", "owner", "pods", "terminating")

    def __init__(self, labels: Labels, owner: object) -> None:
        self.labels = labels
        #: The mark of the only index that may change it.
        self.owner = owner
        self.pods: dict[str, int] = {}
        #: How many of `pods` are being deleted.
        self.terminating: dict[str, int] = {}

    def copy(self, owner: object) -> PodGroup:
        """An independent copy."""
        other = PodGroup(self.labels, owner)
        other.pods = self.pods.copy()
        other.terminating = self.terminating.copy()
        return other


class _Namespace:
    """The pods of one namespace: a list until their groups are needed. Groups are never removed."""

    __slots__ = ("_by_key", "_groups", "owner", "ungrouped")

    def __init__(self, owner: object) -> None:
        #: The mark of the only index that may change it. Forks share it, so that the groups are made only once.
        self.owner = owner
        #: Pods that are in no group yet, including pending ones.
        self.ungrouped: list[PodInfo] = []
        self._groups: dict[object, PodGroup] = {}
        #: By label key: how many groups were indexed, and by label value the keys of the groups that have it.
        self._by_key: dict[str, tuple[int, dict[str | None, list[object]]]] = {}

    def copy(self, owner: object) -> _Namespace:
        """An independent copy."""
        other = _Namespace(owner)
        other._groups, other._by_key = self.groups.copy(), self._by_key.copy()
        return other

    @property
    def groups(self) -> dict[object, PodGroup]:
        """All groups."""
        if self.ungrouped:
            pods, self.ungrouped = self.ungrouped, []
            for pod in pods:
                if pod.pod.spec.node_name:
                    self.count(pod, 1)
        return self._groups

    def with_label(self, key: str, value: str) -> Iterable[PodGroup]:
        """The groups whose pods have the label."""
        groups = self.groups
        known = self._by_key.get(key)
        if known is None or known[0] != len(groups):
            by_value: dict[str | None, list[object]] = {}
            for place, group in groups.items():
                by_value.setdefault(group.labels.get(key), []).append(place)
            known = self._by_key[key] = len(groups), by_value
        return map(groups.__getitem__, known[1].get(value, ()))

    def count(self, pod: PodInfo, amount: int) -> None:
        """Add `amount` pods like this one on its node."""
        # Equal labels in another order would make a second group, which costs time but changes no count.
        key = tuple(pod.labels.items())
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = PodGroup(pod.labels, self.owner)
        elif group.owner is not self.owner:
            group = self._groups[key] = group.copy(self.owner)
        node_name = pod.pod.spec.node_name
        count(group.pods, node_name, amount)
        if pod.terminating:
            count(group.terminating, node_name, amount)


class LabelIndex:
    """How many pods each node has, by namespace and labels; replicas are counted together.

    Groups the pods of a namespace when they are first needed, and keeps the groups up to date from then on.
    """

    def __init__(self, pods: Mapping[str, PodInfo]) -> None:
        #: The live pods of the state, until the index is built.
        self.pods = pods
        #: The mark of what only this index owns; after a fork that is nothing.
        self._mark = object()
        self._namespaces: Overlay[str, _Namespace] | None = None

    def fork(self, pods: Mapping[str, PodInfo]) -> LabelIndex:
        """An independent index of the same pods, in this mapping."""
        other = LabelIndex(pods)
        self._mark = object()
        other._namespaces = None if self._namespaces is None else self._namespaces.fork()
        return other

    def namespaces(self) -> Iterable[str]:
        """The namespaces that have or had pods, sorted."""
        return sorted(self._sorted())

    def groups(self, namespace: str) -> Iterable[PodGroup]:
        """The pods of a namespace, grouped by labels."""
        found = self._sorted().get(namespace)
        return () if found is None else found.groups.values()

    def matching(self, namespace: str, selector: Selector) -> Iterator[PodGroup]:
        """The pods of a namespace that the selector matches, grouped by labels."""
        found = self._sorted().get(namespace)
        if found is not None:
            pair = selector.pair
            for group in found.groups.values() if pair is None else found.with_label(*pair):
                if selector.matches(group.labels):
                    yield group

    def _sorted(self) -> Overlay[str, _Namespace]:
        if self._namespaces is None:
            found: dict[str, _Namespace] = {}
            # A cluster lists its pods by namespace, so each namespace usually has a single run.
            for name, pods in groupby(self.pods.values(), attrgetter("namespace")):
                found.setdefault(name, _Namespace(self._mark)).ungrouped += pods
            self._namespaces = Overlay(found)
        return self._namespaces

    def change(self, pod: PodInfo, amount: int) -> None:
        """Count the pod on its node (`amount` 1), or uncount it (-1)."""
        namespaces = self._namespaces
        if namespaces is None:
            return
        found = namespaces.get(pod.namespace)
        if found is None or found.owner is not self._mark:
            found = _Namespace(self._mark) if found is None else found.copy(self._mark)
            namespaces.put(pod.namespace, found)
        found.count(pod, amount)


def count(counts: dict[str, int], node_name: str, amount: int) -> None:
    """Add `amount` pods on the node; a node without pods is removed from the counts."""
    number = counts.get(node_name, 0) + amount
    if number:
        counts[node_name] = number
    else:
        del counts[node_name]


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
    """The affinity terms that may match pods of a namespace, and how many pods have them, by node.

    Terms are counted when a namespace that they may match is first requested, and updated from then on.
    """

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


class ClaimIndex:
    """How many pods on existing nodes use a PersistentVolumeClaim (`PVCRefCounts`).

    Built at the first request and updated from then on.
    """

    def __init__(self) -> None:
        #: `namespace/claim` -> how many pods use it.
        self.used: Overlay[str, int] | None = None

    def fork(self) -> ClaimIndex:
        """An independent index of the same pods."""
        other = ClaimIndex()
        other.used = None if self.used is None else self.used.fork()
        return other

    def users_of(self, claim: str, nodes: Iterable[NodeInfo]) -> int:
        """How many pods use the claim, `namespace/name`; `nodes` are all nodes of the state."""
        if self.used is None:
            self.used = Overlay()
            for node in nodes:
                self.count(node.pods, 1)
        return self.used.get(claim, 0)

    def count(self, pods: Iterable[PodInfo], amount: int) -> None:
        """Add `amount` users to each claim that the pods use, if the index has been built."""
        if self.used is None:
            return
        for pod in pods:
            for name in pod.claim_names:
                claim = f"{pod.namespace}/{name}"
                number = self.used.get(claim, 0) + amount
                if number:
                    self.used.put(claim, number)
                else:
                    self.used.pop(claim)


class PodIndex:
    """Each part is built when it is first needed, and then updated by `change`. Forks share what is built."""

    def __init__(self, pods: Mapping[str, PodInfo]) -> None:
        """Set up.

        Args:
            pods: the live pods of a state. They are read when a part is first needed. Until `look_in` names another
                mapping they may change; every change must be passed to `change`.
        """
        self.labels = LabelIndex(pods)
        self.terms = TermIndex(pods)
        self.claims = ClaimIndex()

    def fork(self, pods: Mapping[str, PodInfo]) -> PodIndex:
        """An independent index of the same pods, in this mapping."""
        other = PodIndex.__new__(PodIndex)
        other.labels, other.terms, other.claims = self.labels.fork(pods), self.terms.fork(pods), self.claims.fork()
        return other

    def look_in(self, pods: Mapping[str, PodInfo]) -> None:
        """From now on read the pods from this mapping, which has the same content."""
        self.labels.pods = self.terms.pods = pods

    def change(self, pod: PodInfo, amount: int) -> None:
        """Count the pod on its node (`amount` 1), or uncount it (-1); `claims` counts pods on existing nodes only."""
        self.labels.change(pod, amount)
        self.terms.change(pod, amount)

    def build(self) -> None:
        """Group the pods of all namespaces, and find all terms."""
        for namespace in self.labels.namespaces():
            self.labels.groups(namespace)
            self.terms.label_keys(namespace)
