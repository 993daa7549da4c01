"""`PodIndex`: where pods are, by what label selectors and affinity terms can tell apart.

Upstream matches every pod of the cluster in every cycle, on 16 threads. Here replicas are matched together: a cluster
of 110,000 pods has a few thousand groups.

Pods are counted by the name of the node that they are assigned to, whether or not there is such a node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import NamedTuple

from kwhatif.matching.affinity import AffinityTerms
from kwhatif.matching.labels import Labels
from kwhatif.model.overlay import Overlay
from kwhatif.model.pod import pod_affinity_terms
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo

#: Looking for the pods of one namespace among all is fast, but not for each of many: after this many, all are sorted.
_FEW = 1


class PodGroup:
    """Pods of one namespace that have the same labels; how many are on each node, by node name."""

    __slots__ = ("labels", "owner", "pods", "terminating")

    def __init__(self, labels: Labels, owner: object) -> None:
        self.labels = labels
        #: The index that may change it; once that was forked, none may.
        self.owner = owner
        self.pods: dict[str, int] = {}
        #: Those of `pods` that are being deleted.
        self.terminating: dict[str, int] = {}

    def copy(self, owner: object) -> PodGroup:
        """An independent copy."""
        other = PodGroup(self.labels, owner)
        other.pods = self.pods.copy()
        other.terminating = self.terminating.copy()
        return other


class _Term(NamedTuple):
    """How many pods have the same terms, by node name."""

    owner: object
    pods: dict[str, int]


class _Ungrouped(NamedTuple):
    """Pods, and beside them the names of their nodes.

    Two flat lists: a hundred thousand pairs would keep the garbage collector busy for longer than all the rest takes.
    """

    pods: list[PodInfo]
    node_names: list[str]


_Groups = dict[object, PodGroup]


class PodIndex:
    """Built as far as it is asked, and then kept up by `add` and `remove`. Forks share what is built."""

    def __init__(self, nodes: Sequence[NodeInfo], strays: Mapping[str, Sequence[PodInfo]]) -> None:
        #: Where the pods are that nobody has asked about yet: on nodes, or, by its name, on one that is not there.
        self.nodes = nodes
        self.strays = strays
        #: The mark of what only this index has; after a fork, nothing.
        self._mark = object()
        #: The namespaces that nobody has asked about, once some were. Until then, what is on the nodes counts.
        self._ungrouped: Overlay[str, _Ungrouped] | None = None
        self._groups: Overlay[str, tuple[object, _Groups]] = Overlay()
        #: By namespace and label: how many groups there were, and the keys of those with the label. None ever goes.
        self._keys_with: dict[tuple[str, tuple[str, str]], tuple[int, list[object]]] = {}
        #: The namespaces that have pods, or had some; None: nobody has asked yet. Shared by forks, so never changed.
        self._namespaces: frozenset[str] | None = None
        #: By the terms; and by namespace those that may speak of its pods. None: nobody has asked yet.
        self._by_terms: Overlay[AffinityTerms, _Term] | None = None
        self._terms_about: Overlay[str, tuple[AffinityTerms, ...]] = Overlay()
        #: Terms that choose namespaces by their labels: they may speak of any.
        self._terms_about_any: tuple[AffinityTerms, ...] = ()
        #: The labels that these ask for.
        self._keys_about: Overlay[str, frozenset[str]] = Overlay()
        self._keys_about_any: frozenset[str] = frozenset()
        #: The pods whose terms speak of their own namespace alone, where nobody has asked about that yet.
        self._uncounted: Overlay[str, _Ungrouped] = Overlay()

    def fork(self, nodes: Sequence[NodeInfo], strays: Mapping[str, Sequence[PodInfo]]) -> PodIndex:
        """An independent index of the same pods, which are here now."""
        other = PodIndex(nodes, strays)
        self._mark = object()
        other._ungrouped = None if self._ungrouped is None else self._ungrouped.fork()
        other._groups, other._keys_with = self._groups.fork(), self._keys_with.copy()
        other._namespaces = self._namespaces
        if self._by_terms is not None:
            other._by_terms = self._by_terms.fork()
            other._terms_about = self._terms_about.fork()
            other._terms_about_any = self._terms_about_any
            other._keys_about, other._keys_about_any = self._keys_about.fork(), self._keys_about_any
            other._uncounted = self._uncounted.fork()
        return other

    # --- asking --------------------------------------------------------------------------------------

    def namespaces(self) -> Iterable[str]:
        """The namespaces that have pods, or had some."""
        if self._namespaces is None:
            if self._ungrouped is None:  # whoever asks for all namespaces asks for their groups
                self._ungrouped = self._by_namespace()
            self._namespaces = frozenset((*self._ungrouped, *self._groups))
        return sorted(self._namespaces)

    def groups(self, namespace: str) -> Iterable[PodGroup]:
        """The pods of a namespace, grouped by labels."""
        return self._all_groups(namespace).values()

    def groups_with(self, namespace: str, label: tuple[str, str]) -> Iterable[PodGroup]:
        """Those whose pods have the label of that value."""
        groups, place = self._all_groups(namespace), (namespace, label)
        known = self._keys_with.get(place)
        if known is None or known[0] != len(groups):
            found: list[object] = [key for key, group in groups.items() if group.labels.get(label[0]) == label[1]]
            known = self._keys_with[place] = len(groups), found
        return [groups[key] for key in known[1]]

    def _all_groups(self, namespace: str) -> _Groups:
        found = self._groups.get(namespace)
        return found[1] if found is not None else self._group(namespace)

    def terms_about(self, namespace: str) -> Iterator[tuple[AffinityTerms, Mapping[str, int]]]:
        """Affinity terms that may speak of the namespace's pods, and how many pods have them, by node name."""
        by_terms = self._terms(namespace)
        for terms in (*self._terms_about.get(namespace, ()), *self._terms_about_any):
            yield terms, by_terms[terms].pods

    def label_keys(self, namespace: str) -> AbstractSet[str]:
        """The labels that any such term asks for, or has asked for since the index was made."""
        self._terms(namespace)
        return self._keys_about.get(namespace, frozenset()) | self._keys_about_any

    # --- building ------------------------------------------------------------------------------------

    def _assigned(self) -> Iterator[tuple[str, Sequence[PodInfo]]]:
        for node in self.nodes:
            yield node.name, node.pods
        yield from self.strays.items()

    def _terms(self, namespace: str) -> Overlay[AffinityTerms, _Term]:
        """All terms that may speak of the namespace's pods, and perhaps others."""
        by_terms = self._by_terms
        if by_terms is None:
            by_terms = self._by_terms = Overlay()
            self._uncounted = Overlay(self._count_those_about_others(by_terms))
        uncounted = self._uncounted.pop(namespace)
        if uncounted is not None:
            for pod, name in zip(uncounted.pods, uncounted.node_names, strict=True):
                self._count_terms(by_terms, pod.affinity_terms, name, 1)
        return by_terms

    def _count_those_about_others(self, by_terms: Overlay[AffinityTerms, _Term]) -> dict[str, _Ungrouped]:
        """Count the terms that speak of other namespaces; returns the other pods with terms, by namespace."""
        others: dict[str, _Ungrouped] = {}
        for name, pods in chain(((node.name, node.with_affinity) for node in self.nodes), self.strays.items()):
            for pod in pods:
                if not pod.has_affinity:
                    continue
                if _speaks_of_others(pod):
                    self._count_terms(by_terms, pod.affinity_terms, name, 1)
                    continue
                uncounted = others.get(pod.namespace)
                if uncounted is None:
                    uncounted = others[pod.namespace] = _Ungrouped([], [])
                uncounted.pods.append(pod)
                uncounted.node_names.append(name)
        return others

    def _group(self, namespace: str) -> _Groups:
        groups: _Groups = {}
        pods, node_names = self._found_in(namespace)
        for pod, node_name in zip(pods, node_names, strict=True):
            self._count_in_group(groups, pod, node_name, 1)
        self._groups.put(namespace, (self._mark, groups))
        return groups

    def _found_in(self, namespace: str) -> _Ungrouped:
        if self._ungrouped is None and len(self._groups) < _FEW:
            found = [(pod, name) for name, pods in self._assigned() for pod in pods if pod.namespace == namespace]
            return _Ungrouped([pod for pod, _ in found], [name for _, name in found])
        if self._ungrouped is None:
            self._ungrouped = self._by_namespace()
        return self._ungrouped.pop(namespace) or _Ungrouped([], [])

    def _by_namespace(self) -> Overlay[str, _Ungrouped]:
        found: dict[str, _Ungrouped] = {}
        for name, pods in self._assigned():
            for pod in pods:
                ungrouped = found.get(pod.namespace)
                if ungrouped is None:
                    ungrouped = found[pod.namespace] = _Ungrouped([], [])
                ungrouped.pods.append(pod)
                ungrouped.node_names.append(name)
        return Overlay({namespace: pods for namespace, pods in found.items() if namespace not in self._groups})

    # --- keeping up ----------------------------------------------------------------------------------

    def add(self, pod: PodInfo, node_name: str) -> None:
        """The pod was assigned to the node."""
        self._change(pod, node_name, 1)

    def remove(self, pod: PodInfo, node_name: str) -> None:
        """The pod was taken off the node."""
        self._change(pod, node_name, -1)

    def _change(self, pod: PodInfo, node_name: str, amount: int) -> None:
        namespace = pod.namespace
        if self._namespaces is not None and namespace not in self._namespaces:
            self._namespaces |= {namespace}
        grouped = self._groups.get(namespace)
        if grouped is not None or self._ungrouped is not None:
            if grouped is None:
                groups = self._group(namespace)
            elif grouped[0] is self._mark:
                groups = grouped[1]
            else:
                groups = grouped[1].copy()
                self._groups.put(namespace, (self._mark, groups))
            self._count_in_group(groups, pod, node_name, amount)
        if self._by_terms is not None and pod.affinity is not None and pod.has_affinity:
            self._count_terms(self._terms(namespace), pod.affinity_terms, node_name, amount)

    def _count_in_group(self, groups: _Groups, pod: PodInfo, node_name: str, amount: int) -> None:
        # Equal labels in another order would make a second group, which costs time but changes no count.
        key = tuple(pod.labels.items())
        group = groups.get(key)
        if group is None:
            group = groups[key] = PodGroup(pod.labels, self._mark)
        elif group.owner is not self._mark:
            group = groups[key] = group.copy(self._mark)
        _count(group.pods, node_name, amount)
        if pod.terminating:
            _count(group.terminating, node_name, amount)

    def _count_terms(
        self, by_terms: Overlay[AffinityTerms, _Term], terms: AffinityTerms, node_name: str, amount: int
    ) -> None:
        found = by_terms.get(terms)
        if found is None:
            self._note(terms)
        if found is None or found.owner is not self._mark:
            found = _Term(self._mark, {} if found is None else found.pods.copy())
            by_terms.put(terms, found)
        _count(found.pods, node_name, amount)

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

    def build(self) -> Mapping[AffinityTerms, _Term]:
        """Group the pods of all namespaces, and find all terms, which are returned."""
        found = self._terms("")
        for namespace in self.namespaces():
            self.groups(namespace)
            self._terms(namespace)
        return found

    def contents(self) -> object:
        """What the index says, with everything built, in a form that can be compared."""
        groups = {
            (namespace, frozenset(group.labels.items())): (group.pods, group.terminating)
            for namespace in self.namespaces()
            for group in self.groups(namespace)
            if group.pods
        }
        return groups, {terms: found.pods for terms, found in self.build().items() if found.pods}


def _speaks_of_others(pod: PodInfo) -> bool:
    """Whether any of its terms names namespaces, or chooses them: else it speaks of the pod's own."""
    return any(term.namespaces or term.namespace_selector is not None for term in pod_affinity_terms(pod.pod.spec))


def _count(counts: dict[str, int], node_name: str, amount: int) -> None:
    count = counts.get(node_name, 0) + amount
    if count:
        counts[node_name] = count
    else:
        del counts[node_name]
