"""The queue's records of pods (`QueuedPodInfo`), of groups since 1.37 (`QueuedPodGroupInfo`), and of nominations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import NamedTuple

import msgspec

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.state.pod_info import PodInfo

_encode = msgspec.json.Encoder().encode


def _template(pod: Pod) -> bytes:
    meta, spec, status = pod.metadata, pod.spec, pod.status
    # Claims that are created for the pod have its name, and its UID as their owner's.
    owns = bool(spec.resource_claims) or any(volume.ephemeral is not None for volume in spec.volumes)
    granted = status.container_statuses, status.init_container_statuses, status.resources, status.allocated_resources
    claims = status.resource_claim_statuses, status.extended_resource_claim_status
    own = (meta.name, meta.uid) if owns else ()
    return _encode((meta.namespace, meta.labels, meta.owner_references, spec, granted, claims, own))


class QueuedPodInfo(msgspec.Struct, eq=False):
    """One pod's record. It is created when the pod enters the queue, and moves with the pod between the parts."""

    pod_info: PodInfo
    #: When the record was created or the last attempt failed, nanoseconds since the epoch; orders pods of equal
    #: priority.
    timestamp: int
    #: How often it was popped.
    attempts: int = 0
    #: Rejected attempts; backoff grows with them.
    unschedulable_count: int = 0
    #: Consecutive errors; if there are any, backoff grows with them instead of `unschedulable_count`.
    consecutive_errors_count: int = 0
    #: The start of the second in which backoff ends, nanoseconds since the epoch; None: not computed yet.
    backoff_expiration: int | None = None
    #: Plugins that rejected it, at the last attempt or since then by PreEnqueue.
    unschedulable_plugins: set[str] = set()
    #: Plugins that returned Pending (no built-in one does): their events requeue the pod without backoff.
    pending_plugins: set[str] = set()
    #: The PreEnqueue plugin that keeps it out of activeQ and backoffQ, "" if none does.
    gating_plugin: str = ""
    #: `namespace/name`, the key in the parts of the queue.
    key: str = ""
    #: The pod's UID, the key of pods in flight and of nominations.
    uid: str = ""
    _template: bytes | None = None

    def __post_init__(self) -> None:
        """Compute the key once: it is looked up far more often."""
        self.key, self.uid = self.pod_info.key, self.pod_info.uid

    def fork(self) -> QueuedPodInfo:
        """An independent record."""
        other = copy(self)
        other.unschedulable_plugins = self.unschedulable_plugins.copy()
        other.pending_plugins = self.pending_plugins.copy()
        return other

    def update(self, pod_info: PodInfo) -> None:
        """The pod's object has changed."""
        self.pod_info = pod_info
        self.key, self.uid = pod_info.key, pod_info.uid
        self._template = None

    @property
    def template(self) -> bytes:
        """The fields that replicas have in common: all that hints read, except name, UID and creation time."""
        if self._template is None:
            self._template = _template(self.pod_info.pod)
        return self._template

    @property
    def priority(self) -> int:
        """The pod's priority."""
        return self.pod_info.priority

    @property
    def size(self) -> int:
        """How many pods it is."""
        return 1

    @property
    def gated(self) -> bool:
        """Whether a PreEnqueue plugin rejects it."""
        return bool(self.gating_plugin)

    @property
    def rejectors(self) -> set[str]:
        """All plugins whose hints are called."""
        return self.unschedulable_plugins | self.pending_plugins

    def clear_rejectors(self) -> None:
        """Forget the plugins that rejected it (`ClearRejectorPlugins`)."""
        self.unschedulable_plugins = set()
        self.pending_plugins = set()
        self.gating_plugin = ""


_NO_PLUGINS: set[str] = set()


def entity_key(group: str) -> str:
    """The key of a group (`namespace/name`) in the parts of the queue; no pod has this key."""
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
        """The key in the parts of the queue."""
        return entity_key(self.group_key)

    @property
    def uid(self) -> str:
        """The key for the scheduler."""
        return self.key

    @property
    def priority(self) -> int:
        """The group's priority."""
        return self.group.priority

    @property
    def size(self) -> int:
        """How many pods wait: the longest backoff grows with them."""
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
        """None: only its pods have nominations."""
        return _NO_PLUGINS


#: An entry of the queue's parts.
QueuedEntity = QueuedPodInfo | QueuedPodGroupInfo


#: The pod of a key as the API has it, or None.
PodLister = Callable[[str], Pod | None]


class PodRef(NamedTuple):
    """A nominated pod; its object is looked up when it is needed."""

    key: str
    uid: str


class Nominator:
    """The scheduler's own record of nominations; it may be ahead of the pods' status."""

    def __init__(self, lister: PodLister) -> None:
        self._lister = lister
        self._pods: dict[str, list[PodRef]] = {}
        #: UID -> node.
        self._nodes: dict[str, str] = {}

    def fork(self, lister: PodLister) -> Nominator:
        """An independent one with the same nominations."""
        other = Nominator(lister)
        other._pods = {node: refs.copy() for node, refs in self._pods.items()}
        other._nodes = self._nodes.copy()
        return other

    @property
    def nominated(self) -> Mapping[str, Sequence[PodRef]]:
        """Node -> pods nominated to it, the oldest nomination first; nodes without any are left out."""
        return self._pods

    def node_of(self, uid: str) -> str | None:
        """The node that the pod is nominated to."""
        return self._nodes.get(uid)

    def add(self, pod: PodInfo, node_name: str | None = None) -> None:
        """Nominate the pod to the node, "" for none; None: to the one in its status, if any.

        Always removes an earlier nomination. A pod that no longer exists, or that has a node, gets none.
        """
        self.delete(pod.uid)
        wanted = pod.pod.status.nominated_node_name if node_name is None else node_name
        listed = self._lister(pod.key) if wanted else None
        if not wanted or listed is None or listed.spec.node_name:
            return
        self._nodes[pod.uid] = wanted
        self._pods.setdefault(wanted, []).append(PodRef(pod.key, pod.uid))

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """The pod changed: if its status has never named a node, it keeps the scheduler's own nomination."""
        node_name = None
        if not old.pod.status.nominated_node_name and not new.pod.status.nominated_node_name:
            node_name = self._nodes.get(old.uid)
        self.delete(old.uid)
        self.add(new, node_name)

    def delete(self, uid: str) -> None:
        """The pod is no longer nominated."""
        node_name = self._nodes.pop(uid, None)
        if node_name is None:
            return
        refs = [ref for ref in self._pods[node_name] if ref.uid != uid]
        if refs:
            self._pods[node_name] = refs
        else:
            del self._pods[node_name]


def pod_lister(cluster: Cluster) -> PodLister:
    """The pods in the scheduler's informer, which leaves out pods that have ended."""

    def lister(key: str) -> Pod | None:
        pod = cluster.get(Pod, key)
        return None if pod is None or is_terminal(pod) else pod

    return lister
