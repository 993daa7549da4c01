"""`LabelIndex`: how many pods each node has, by namespace and labels; replicas are counted together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import attrgetter

from kwhatif.kube.matching.labels import Labels, Selector
from kwhatif.kube.model.overlay import Overlay
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
    """Groups the pods of a namespace when they are first needed, and keeps the groups up to date from then on."""

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
