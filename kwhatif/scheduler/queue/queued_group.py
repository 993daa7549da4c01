"""`QueuedPodGroupInfo`: a group in the queue, with its pods that wait (`pkg/scheduler/framework/types.go`, 1.37)."""

from __future__ import annotations

from copy import copy

import msgspec

from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.scheduler.queue.queued_pod import QueuedPodInfo

_NO_PLUGINS: set[str] = set()


def entity_key(group: str) -> str:
    """By which the parts of the queue know the group of that key, `namespace/name`: it is not the key of any pod."""
    return f"PodGroup {group}"


class QueuedPodGroupInfo(msgspec.Struct, eq=False):
    """One group's record: all its pods that wait are in it, and in no other part of the queue."""

    #: Of the PodGroup, `namespace/name`.
    group_key: str
    group: PodGroup
    #: When the first of its pods came or the last attempt failed, nanoseconds since the epoch.
    timestamp: int
    #: By key.
    members: dict[str, QueuedPodInfo] = {}
    attempts: int = 0
    unschedulable_count: int = 0
    consecutive_errors_count: int = 0
    backoff_expiration: int | None = None
    gating_plugin: str = ""

    def fork(self) -> QueuedPodGroupInfo:
        """An independent record."""
        other = copy(self)
        other.members = {key: info.fork() for key, info in self.members.items()}
        return other

    @property
    def in_order(self) -> list[QueuedPodInfo]:
        """Its pods in the order in which they are tried (`PodGroupMemberPodsOrderingFunc`)."""
        return sorted(
            self.members.values(),
            key=lambda info: (-info.priority, -info.attempts, info.timestamp, info.pod_info.name),
        )

    @property
    def key(self) -> str:
        """By which the parts of the queue know it."""
        return entity_key(self.group_key)

    @property
    def uid(self) -> str:
        """By which the scheduler knows it."""
        return self.key

    @property
    def priority(self) -> int:
        """The group's priority."""
        return self.group.priority

    @property
    def size(self) -> int:
        """How many pods wait: the most backoff grows with them."""
        return len(self.members)

    @property
    def gated(self) -> bool:
        """Whether a PreEnqueue plugin keeps one of its pods back, and so the group."""
        return bool(self.gating_plugin)

    @property
    def unschedulable_plugins(self) -> set[str]:
        """QUIRK: (scheduling_queue.go) none: a group that was rejected waits its backoff out, as after an error."""
        return _NO_PLUGINS

    @property
    def pending_plugins(self) -> set[str]:
        """None, as only its pods have some."""
        return _NO_PLUGINS


#: What the parts of the queue hold.
QueuedEntity = QueuedPodInfo | QueuedPodGroupInfo
