"""`PodIndex`: where pods are, by what label selectors and affinity terms can tell apart.

Upstream matches every pod of the cluster in every cycle, on 16 threads. Here replicas are matched together: a cluster
of 110,000 pods has a few thousand groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from kwhatif.matching.affinity import AffinityTerms
from kwhatif.matching.labels import Labels
from kwhatif.snapshot.node_info import NodeInfo
from kwhatif.snapshot.pod_info import PodInfo

#: So many namespaces are looked for one by one.
_FEW = 3


class PodGroup:
    """Pods of one namespace that have the same labels; how many are on each node, by node name."""

    __slots__ = ("labels", "pods", "terminating")

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self.pods: dict[str, int] = {}
        #: Those of `pods` that are being deleted.
        self.terminating: dict[str, int] = {}

    def copy(self) -> PodGroup:
        """An independent copy."""
        other = PodGroup(self.labels)
        other.pods = self.pods.copy()
        other.terminating = self.terminating.copy()
        return other


class PodIndex:
    """The pods on a snapshot's nodes. Built as far as it is asked, and then kept up by `add` and `remove`."""

    def __init__(self, nodes: Iterable[NodeInfo]) -> None:
        self._nodes = nodes
        #: The namespaces that nobody has asked about, once some were: pods, and beside them the names of their nodes.
        #: (Two flat lists: a hundred thousand pairs would keep the garbage collector busy for longer than all the rest
        #: takes.) Until then, what is on the nodes counts.
        self._ungrouped: dict[str, tuple[list[PodInfo], list[str]]] | None = None
        self._groups: dict[str, dict[object, PodGroup]] = {}
        #: Terms -> node name -> number of pods; and by namespace those that may speak of its pods.
        self._by_terms: dict[AffinityTerms, dict[str, int]] | None = None
        self._terms_about: dict[str, list[AffinityTerms]] = {}
        #: Terms that choose namespaces by their labels: they may speak of any.
        self._terms_about_any: list[AffinityTerms] = []
        self._label_keys: set[str] = set()

    def namespaces(self) -> Iterable[str]:
        """The namespaces that have pods, or had some."""
        if self._ungrouped is not None:
            return [*self._groups, *self._ungrouped]
        return dict.fromkeys(self._groups) | dict.fromkeys(pod.namespace for node in self._nodes for pod in node.pods)

    def groups(self, namespace: str) -> Iterable[PodGroup]:
        """The pods of a namespace, grouped by labels."""
        return self._grouped(namespace).values()

    def terms_about(self, namespace: str) -> Iterator[tuple[AffinityTerms, Mapping[str, int]]]:
        """Affinity terms that may speak of the namespace's pods, and how many pods have them, by node name."""
        by_terms = self._terms()
        for terms in (*self._terms_about.get(namespace, ()), *self._terms_about_any):
            yield terms, by_terms[terms]

    @property
    def label_keys(self) -> AbstractSet[str]:
        """The labels that any affinity term of a pod on a node asks for, or has asked for since the index was made."""
        self._terms()
        return self._label_keys

    def _terms(self) -> dict[AffinityTerms, dict[str, int]]:
        if self._by_terms is None:
            self._by_terms = {}
            for node in self._nodes:
                for pod in node.with_affinity:
                    self._count_terms(self._by_terms, pod.affinity_terms, node.name, 1)
        return self._by_terms

    def _count_terms(
        self, by_terms: dict[AffinityTerms, dict[str, int]], terms: AffinityTerms, node_name: str, amount: int
    ) -> None:
        if terms not in by_terms:
            by_terms[terms] = {}
            self._label_keys |= terms.label_keys
            namespaces = terms.namespaces
            if namespaces is None:
                self._terms_about_any.append(terms)
            for namespace in namespaces or ():
                self._terms_about.setdefault(namespace, []).append(terms)
        _count(by_terms[terms], node_name, amount)

    def fork(self, nodes: Iterable[NodeInfo]) -> PodIndex:
        """An independent index of a forked snapshot's nodes."""
        other = PodIndex(())
        other._nodes = nodes
        other._ungrouped = None if self._ungrouped is None else self._ungrouped.copy()
        other._groups = {
            namespace: {key: group.copy() for key, group in groups.items()}
            for namespace, groups in self._groups.items()
        }
        if self._by_terms is not None:
            other._by_terms = {terms: pods.copy() for terms, pods in self._by_terms.items()}
            other._terms_about = {namespace: about.copy() for namespace, about in self._terms_about.items()}
            other._terms_about_any = self._terms_about_any.copy()
            other._label_keys = self._label_keys.copy()
        return other

    def add(self, pod: PodInfo, node_name: str) -> None:
        """The pod was placed on the node."""
        self._change(pod, node_name, 1)

    def remove(self, pod: PodInfo, node_name: str) -> None:
        """The pod was taken off the node."""
        self._change(pod, node_name, -1)

    def _change(self, pod: PodInfo, node_name: str, amount: int) -> None:
        if self._ungrouped is not None or pod.namespace in self._groups:
            _count_in_group(self._grouped(pod.namespace), pod, node_name, amount)
        if self._by_terms is not None and pod.has_affinity:
            self._count_terms(self._by_terms, pod.affinity_terms, node_name, amount)

    def _grouped(self, namespace: str) -> dict[object, PodGroup]:
        groups = self._groups.get(namespace)
        if groups is None:
            pods, node_names = self._found_in(namespace)
            groups = self._groups[namespace] = {}
            for pod, node_name in zip(pods, node_names, strict=True):
                _count_in_group(groups, pod, node_name, 1)
        return groups

    def _found_in(self, namespace: str) -> tuple[list[PodInfo], list[str]]:
        """The namespace's pods and their nodes. Going through all pods once more is fast, but not for each of many."""
        if self._ungrouped is None and len(self._groups) < _FEW:
            found = [(pod, node.name) for node in self._nodes for pod in node.pods if pod.namespace == namespace]
            return [pod for pod, _ in found], [name for _, name in found]
        if self._ungrouped is None:
            self._ungrouped = self._by_namespace()
        return self._ungrouped.pop(namespace, ([], []))

    def _by_namespace(self) -> dict[str, tuple[list[PodInfo], list[str]]]:
        found: dict[str, tuple[list[PodInfo], list[str]]] = {}
        for node in self._nodes:
            name = node.name
            for pod in node.pods:
                ungrouped = found.get(pod.namespace)
                if ungrouped is None:
                    ungrouped = found[pod.namespace] = ([], [])
                ungrouped[0].append(pod)
                ungrouped[1].append(name)
        return {namespace: pods for namespace, pods in found.items() if namespace not in self._groups}


def _count_in_group(groups: dict[object, PodGroup], pod: PodInfo, node_name: str, amount: int) -> None:
    # Equal labels in another order would make a second group, which costs time but changes no count.
    key = tuple(pod.labels.items())
    group = groups.get(key)
    if group is None:
        group = groups[key] = PodGroup(pod.labels)
    _count(group.pods, node_name, amount)
    if pod.terminating:
        _count(group.terminating, node_name, amount)


def _count(counts: dict[str, int], node_name: str, amount: int) -> None:
    count = counts.get(node_name, 0) + amount
    if count:
        counts[node_name] = count
    else:
        del counts[node_name]
