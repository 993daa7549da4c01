"""`UnschedulablePods`: the pool of unschedulable pods (`backend/queue/unschedulable_pods.go`)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

from kwhatif.scheduler.framework.hints import HintIndex, Keys
from kwhatif.scheduler.queue.queued_pod import QueuedPodInfo


class RejectionCause(NamedTuple):
    """Why pods are in the pool: this decides which plugins' hints are called for an event."""

    scheduler_name: str
    unschedulable_plugins: frozenset[str]
    pending_plugins: frozenset[str]
    gating_plugin: str

    @property
    def rejectors(self) -> frozenset[str]:
        """All plugins whose hints are called."""
        return self.unschedulable_plugins | self.pending_plugins


def _cause(info: QueuedPodInfo) -> RejectionCause:
    return RejectionCause(
        info.pod_info.pod.spec.scheduler_name,
        frozenset(info.unschedulable_plugins),
        frozenset(info.pending_plugins),
        info.gating_plugin,
    )


#: Pods by key.
Pods = dict[str, QueuedPodInfo]


class _Shelf:
    """Templates by the keys of an index."""

    def __init__(self, index: HintIndex) -> None:
        self._index = index
        self._by_key: dict[Hashable, dict[bytes, None]] = {}
        #: Templates that every event may concern.
        self._always: dict[bytes, None] = {}
        self._filed: dict[bytes, Keys] = {}

    def add(self, template: bytes, first: QueuedPodInfo) -> None:
        """Add the template of that pod."""
        found = first.pod_info.derived(self._index.of_pod)
        keys = self._filed[template] = None if found is None else dict.fromkeys(found)
        if keys is None:
            self._always[template] = None
        for key in keys or ():
            self._by_key.setdefault(key, {})[template] = None

    def delete(self, template: bytes) -> None:
        """Remove the template: its last pod is gone."""
        keys = self._filed.pop(template)
        self._always.pop(template, None)
        for key in keys or ():
            there = self._by_key[key]
            there.pop(template, None)
            if not there:
                del self._by_key[key]

    def find(self, keys: Iterable[Hashable]) -> Iterator[bytes]:
        """The templates that an event with these keys may concern."""
        yield from self._always
        for key in keys:
            yield from self._by_key.get(key, ())


class CauseGroup:
    """The pods that are here for one cause, by template."""

    def __init__(self) -> None:
        self.templates: dict[bytes, Pods] = {}
        #: Built on first use, and then kept up to date.
        self._shelves: dict[HintIndex, _Shelf] = {}

    def add(self, template: bytes, info: QueuedPodInfo) -> None:
        """One more pod."""
        pods = self.templates.get(template)
        if pods is None:
            pods = self.templates[template] = {}
            for shelf in self._shelves.values():
                shelf.add(template, info)
        pods[info.key] = info

    def delete(self, template: bytes, key: str) -> None:
        """One less."""
        pods = self.templates[template]
        del pods[key]
        if not pods:
            del self.templates[template]
            for shelf in self._shelves.values():
                shelf.delete(template)

    def concerned(self, index: HintIndex, keys: Iterable[Hashable]) -> Iterator[bytes]:
        """The templates that an event with these keys may concern; some more than once."""
        shelf = self._shelves.get(index)
        if shelf is None:
            shelf = self._shelves[index] = _Shelf(index)
            for template, pods in self.templates.items():
                shelf.add(template, next(iter(pods.values())))
        return shelf.find(keys)


class UnschedulablePods:
    """Rejected and gated pods: by key, and for speed also by cause and template, so that replicas share answers."""

    def __init__(self) -> None:
        self._pods: Pods = {}
        self._filed: dict[str, tuple[RejectionCause, bytes]] = {}
        self._groups: dict[RejectionCause, CauseGroup] = {}

    def fork(self) -> UnschedulablePods:
        """An independent pool with the same content, in the same order."""
        other = UnschedulablePods()
        forks = other._pods = {key: info.fork() for key, info in self._pods.items()}
        other._filed = self._filed.copy()
        for cause, group in self._groups.items():
            other._groups[cause] = mine = CauseGroup()
            mine.templates = {template: {key: forks[key] for key in pods} for template, pods in group.templates.items()}
        return other

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        return iter(self._pods.values())

    def __len__(self) -> int:
        return len(self._pods)

    def get(self, key: str) -> QueuedPodInfo | None:
        """The pod of that key, `namespace/name`."""
        return self._pods.get(key)

    def add_or_update(self, info: QueuedPodInfo) -> None:
        """Add the pod, or update it: its object or cause may have changed."""
        key = info.key
        filed = _cause(info), info.template
        if self._filed.get(key) != filed or self._pods[key] is not info:
            self.delete(key)
            self._filed[key] = filed
            cause, template = filed
            group = self._groups.get(cause)
            if group is None:
                group = self._groups[cause] = CauseGroup()
            group.add(template, info)
            self._pods[key] = info

    def delete(self, key: str) -> None:
        """Remove the pod, if it is here."""
        filed = self._filed.pop(key, None)
        if filed is None:
            return
        cause, template = filed
        group = self._groups[cause]
        group.delete(template, key)
        del self._pods[key]
        if not group.templates:
            del self._groups[cause]

    def groups(self) -> list[tuple[RejectionCause, CauseGroup]]:
        """The pods by cause."""
        return list(self._groups.items())

    def template_of(self, key: str) -> bytes | None:
        """The template of the pod of that key, if it is here."""
        filed = self._filed.get(key)
        return None if filed is None else filed[1]
