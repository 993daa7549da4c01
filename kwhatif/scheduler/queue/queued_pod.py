"""`QueuedPodInfo`: a pod in the queue, with what the queue knows of it (`pkg/scheduler/framework/types.go`)."""

from __future__ import annotations

from copy import copy

import msgspec

from kwhatif.kube.model.pod import Pod
from kwhatif.state.pod_info import PodInfo

_encode = msgspec.json.Encoder().encode


def _template(pod: Pod) -> bytes:
    meta, spec, status = pod.metadata, pod.spec, pod.status
    # Claims that are made for the pod bear its name, and its UID as their owner's.
    owns = bool(spec.resource_claims) or any(volume.ephemeral is not None for volume in spec.volumes)
    granted = status.container_statuses, status.init_container_statuses, status.resources, status.allocated_resources
    claims = status.resource_claim_statuses, status.extended_resource_claim_status
    own = (meta.name, meta.uid) if owns else ()
    return _encode((meta.namespace, meta.labels, meta.owner_references, spec, granted, claims, own))


class QueuedPodInfo(msgspec.Struct, eq=False):
    """One pod's record. It is made when the pod enters the queue, and goes with the pod through all its parts."""

    pod_info: PodInfo
    #: When the record was made or the last attempt failed, nanoseconds since the epoch; decides between equal
    #: priorities. Nothing else changes it.
    timestamp: int
    #: How often it was popped.
    attempts: int = 0
    #: Attempts that ended with a rejection; backoff grows with them.
    unschedulable_count: int = 0
    #: Errors in a row: backoff grows with them in place of `unschedulable_count`, as long as there are some.
    consecutive_errors_count: int = 0
    #: The start of the second in which backoff ends, nanoseconds since the epoch; None until somebody asks.
    backoff_expiration: int | None = None
    #: Plugins that rejected it, at the last attempt or since then by PreEnqueue.
    unschedulable_plugins: set[str] = set()
    #: Plugins that said Pending (no built-in one does): what they wait for brings the pod back without backoff.
    pending_plugins: set[str] = set()
    #: The PreEnqueue plugin that keeps it out of activeQ and backoffQ, "" if none does.
    gating_plugin: str = ""
    _template: bytes | None = None

    def fork(self) -> QueuedPodInfo:
        """An independent record."""
        other = copy(self)
        other.unschedulable_plugins = self.unschedulable_plugins.copy()
        other.pending_plugins = self.pending_plugins.copy()
        return other

    def update(self, pod_info: PodInfo) -> None:
        """The pod's object has changed."""
        self.pod_info = pod_info
        self._template = None

    @property
    def template(self) -> bytes:
        """What the pod has in common with its replicas: all that a hint reads which is the same for all of them."""
        if self._template is None:
            self._template = _template(self.pod_info.pod)
        return self._template

    @property
    def key(self) -> str:
        """`namespace/name`, by which the parts of the queue know the pod."""
        return self.pod_info.key

    @property
    def uid(self) -> str:
        """The pod's UID, by which pods in flight and nominations are known."""
        return self.pod_info.uid

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
        """Whether a PreEnqueue plugin keeps it back."""
        return bool(self.gating_plugin)

    @property
    def rejectors(self) -> set[str]:
        """All plugins whose hints are asked."""
        return self.unschedulable_plugins | self.pending_plugins

    def clear_rejectors(self) -> None:
        """Forget who rejected it (`ClearRejectorPlugins`)."""
        self.unschedulable_plugins = set()
        self.pending_plugins = set()
        self.gating_plugin = ""
