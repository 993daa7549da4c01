"""`LabelIndex`: which pods are where, by namespace and labels; replicas are counted together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import attrgetter

from kwhatif.kube.matching.labels import Labels, Selector
from kwhatif.kube.model.overlay import Overlay
from kwhatif.state.pod_info import PodInfo


class PodGroup:
    """Pods of one namespace that have the same labels; how many are on each node, by node name."""

    __slots__ = ("labels", "owner", "pods", "terminating")

    def __init__(self, labels: Labels, owner: object) -> None:
        self.labels = labels
        #: The mark of the only index that may change it.
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


class _Namespace:
    """The pods of one namespace: a list, until somebody asks for their groups. No group ever goes."""

    __slots__ = ("_by_key", "_groups", "owner", "ungrouped")

    def __init__(self, owner: object) -> None:
        #: The mark of the only index that may change it. Forks share it, so that all have the groups that one has made.
        self.owner = owner
        #: Pods that are in no group yet, pending ones among them.
        self.ungrouped: list[PodInfo] = []
        self._groups: dict[object, PodGroup] = {}
        #: By label key: how many groups there were, and by value of the label the keys of those that have it.
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
        """So many more pods like this one on its node."""
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
    """Pods are sorted by namespace, and those of a namespace grouped, when somebody asks; then that is kept up."""

    def __init__(self, pods: Mapping[str, PodInfo]) -> None:
        #: The live pods of the state, as long as nobody has asked.
        self.pods = pods
        #: The mark of what only this index has; after a fork, nothing.
        self._mark = object()
        self._namespaces: Overlay[str, _Namespace] | None = None

    def fork(self, pods: Mapping[str, PodInfo]) -> LabelIndex:
        """An independent index of the same pods, which are here now."""
        other = LabelIndex(pods)
        self._mark = object()
        other._namespaces = None if self._namespaces is None else self._namespaces.fork()
        return other

    def namespaces(self) -> Iterable[str]:
        """The namespaces that have pods, or had some; sorted."""
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
            # A cluster lists its pods by namespace, so there is hardly more than one run of each.
            for name, pods in groupby(self.pods.values(), attrgetter("namespace")):
                found.setdefault(name, _Namespace(self._mark)).ungrouped += pods
            self._namespaces = Overlay(found)
        return self._namespaces

    def change(self, pod: PodInfo, amount: int) -> None:
        """The pod was assigned to its node (`amount` 1), or taken off it (-1)."""
        namespaces = self._namespaces
        if namespaces is None:
            return
        found = namespaces.get(pod.namespace)
        if found is None or found.owner is not self._mark:
            found = _Namespace(self._mark) if found is None else found.copy(self._mark)
            namespaces.put(pod.namespace, found)
        found.count(pod, amount)


def count(counts: dict[str, int], node_name: str, amount: int) -> None:
    """So many more pods on the node; one without any is not in the counts."""
    number = counts.get(node_name, 0) + amount
    if number:
        counts[node_name] = number
    else:
        del counts[node_name]
