"""`LabelIndex`: which pods are where, by namespace and labels; replicas are counted together."""

from __future__ import annotations

from collections.abc import Iterable

from kwhatif.matching.labels import Labels
from kwhatif.model.overlay import Overlay
from kwhatif.state.assigned import Assigned, PodsOfNamespace, count, of_namespace
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


_Groups = dict[object, PodGroup]


class LabelIndex:
    """A namespace is grouped when somebody asks for it, and kept up from then on."""

    def __init__(self, assigned: Assigned) -> None:
        self._assigned = assigned
        #: The mark of what only this index has; after a fork, nothing.
        self._mark = object()
        #: The namespaces that nobody has asked about, once some were. Until then, what is on the nodes counts.
        self._ungrouped: Overlay[str, PodsOfNamespace] | None = None
        self._groups: Overlay[str, tuple[object, _Groups]] = Overlay()
        #: By namespace and label: how many groups there were, and the keys of those with the label. None ever goes.
        self._keys_with: dict[tuple[str, tuple[str, str]], tuple[int, list[object]]] = {}
        #: The namespaces that have pods, or had some; None: nobody has asked yet. Shared by forks, so never changed.
        self._namespaces: frozenset[str] | None = None

    def fork(self, assigned: Assigned) -> LabelIndex:
        """An independent index of the same pods, which are here now."""
        other = LabelIndex(assigned)
        self._mark = object()
        other._ungrouped = None if self._ungrouped is None else self._ungrouped.fork()
        other._groups, other._keys_with = self._groups.fork(), self._keys_with.copy()
        other._namespaces = self._namespaces
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

    # --- building ------------------------------------------------------------------------------------

    def _group(self, namespace: str) -> _Groups:
        groups: _Groups = {}
        pods, node_names = self._found_in(namespace)
        for pod, node_name in zip(pods, node_names, strict=True):
            self._count_in_group(groups, pod, node_name, 1)
        self._groups.put(namespace, (self._mark, groups))
        return groups

    def _found_in(self, namespace: str) -> PodsOfNamespace:
        if self._ungrouped is None and len(self._groups) < _FEW:
            found = [(pod, name) for name, pods in self._assigned for pod in pods if pod.namespace == namespace]
            return PodsOfNamespace([pod for pod, _ in found], [name for _, name in found])
        if self._ungrouped is None:
            self._ungrouped = self._by_namespace()
        return self._ungrouped.pop(namespace) or PodsOfNamespace([], [])

    def _by_namespace(self) -> Overlay[str, PodsOfNamespace]:
        found: dict[str, PodsOfNamespace] = {}
        for name, pods in self._assigned:
            for pod in pods:
                known = of_namespace(found, pod.namespace)
                known.pods.append(pod)
                known.node_names.append(name)
        return Overlay({namespace: pods for namespace, pods in found.items() if namespace not in self._groups})

    # --- keeping up ----------------------------------------------------------------------------------

    def change(self, pod: PodInfo, node_name: str, amount: int) -> None:
        """The pod was assigned to the node (`amount` 1), or taken off it (-1)."""
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

    def _count_in_group(self, groups: _Groups, pod: PodInfo, node_name: str, amount: int) -> None:
        # Equal labels in another order would make a second group, which costs time but changes no count.
        key = tuple(pod.labels.items())
        group = groups.get(key)
        if group is None:
            group = groups[key] = PodGroup(pod.labels, self._mark)
        elif group.owner is not self._mark:
            group = groups[key] = group.copy(self._mark)
        count(group.pods, node_name, amount)
        if pod.terminating:
            count(group.terminating, node_name, amount)
