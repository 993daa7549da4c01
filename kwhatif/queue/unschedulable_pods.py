"""`UnschedulablePods`: the pool of pods that wait for an event (`backend/queue/unschedulable_pods.go`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kwhatif.queue.queued_pod import QueuedPodInfo


class Cause(NamedTuple):
    """Why pods are here: it decides which plugins are asked about an event."""

    scheduler_name: str
    unschedulable_plugins: frozenset[str]
    pending_plugins: frozenset[str]
    gating_plugin: str

    @property
    def rejectors(self) -> frozenset[str]:
        """All plugins whose hints are asked."""
        return self.unschedulable_plugins | self.pending_plugins


def _cause(info: QueuedPodInfo) -> Cause:
    return Cause(
        info.pod_info.pod.spec.scheduler_name,
        frozenset(info.unschedulable_plugins),
        frozenset(info.pending_plugins),
        info.gating_plugin,
    )


#: Pods by key.
Pods = dict[str, QueuedPodInfo]


class UnschedulablePods:
    """Rejected and gated pods: by key, and for speed also by cause and template, so that replicas are asked as one."""

    def __init__(self) -> None:
        self._pods: Pods = {}
        self._places: dict[str, tuple[Cause, bytes]] = {}
        self._groups: dict[Cause, dict[bytes, Pods]] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        return iter(self._pods.values())

    def get(self, key: str) -> QueuedPodInfo | None:
        """The pod of that key, `namespace/name`."""
        return self._pods.get(key)

    def add_or_update(self, info: QueuedPodInfo) -> None:
        """Let the pod wait here; of one that does, object or cause may have changed."""
        key = info.key
        place = _cause(info), info.template
        if self._places.get(key) != place or self._pods[key] is not info:
            self.delete(key)
            self._places[key] = place
            cause, template = place
            self._groups.setdefault(cause, {}).setdefault(template, {})[key] = info
            self._pods[key] = info

    def delete(self, key: str) -> None:
        """Take the pod out, if it is here."""
        place = self._places.pop(key, None)
        if place is None:
            return
        cause, template = place
        by_template = self._groups[cause]
        del by_template[template][key], self._pods[key]
        if not by_template[template]:
            del by_template[template]
            if not by_template:
                del self._groups[cause]

    def groups(self) -> list[tuple[Cause, Mapping[bytes, Pods]]]:
        """The pods by cause, and then by what they have in common with their replicas (`QueuedPodInfo.template`)."""
        return list(self._groups.items())
