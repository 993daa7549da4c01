"""`MemberIndex`: the pods of each group, wherever they are (`pkg/scheduler/backend/cache/podgroupstate.go`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kwhatif.kube.matching.groups import group_of
from kwhatif.state.pod_info import PodInfo

#: Pods by key.
Members = dict[str, PodInfo]
_NOBODY: Members = {}


class MemberIndex:
    """Of live pods; built when somebody first asks, and kept up from then on. Forks share what is built."""

    def __init__(self) -> None:
        #: By the key of the group. What is not in `_own` is shared.
        self._groups: dict[str, Members] | None = None
        self._own: set[str] = set()
        self._owns_groups = True

    def fork(self) -> MemberIndex:
        """An independent index of the same pods."""
        other = MemberIndex()
        other._groups, other._owns_groups, self._owns_groups = self._groups, False, False
        self._own = set()
        return other

    def of(self, group: str, pods: Iterable[PodInfo]) -> Mapping[str, PodInfo]:
        """The pods of the group of that key, by key; `pods` are all live ones."""
        if self._groups is None:
            self._groups = {}
            for pod in pods:
                if pod.pod.spec.scheduling_group is not None:
                    self._groups.setdefault(group_of(pod.pod), {})[pod.key] = pod
        return self._groups.get(group, _NOBODY)

    def put(self, pod: PodInfo) -> None:
        """The pod is there now, in place of one of its key."""
        if self._groups is not None and pod.pod.spec.scheduling_group is not None:
            self._members_of(pod)[pod.key] = pod

    def pop(self, pod: PodInfo) -> None:
        """The pod is no longer there."""
        if self._groups is not None and pod.pod.spec.scheduling_group is not None:
            self._members_of(pod).pop(pod.key, None)

    def _members_of(self, pod: PodInfo) -> Members:
        assert self._groups is not None, "it is built"
        group = group_of(pod.pod)
        if not self._owns_groups:
            self._groups, self._owns_groups = self._groups.copy(), True
        if group not in self._own:
            self._own.add(group)
            self._groups[group] = self._groups.get(group, _NOBODY).copy()
        return self._groups[group]
