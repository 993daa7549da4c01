"""`QueueParts`: the parts of the scheduling queue, and how pods move between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kwhatif.kube.model.cluster import Cluster
from kwhatif.scheduler.framework.status import Code
from kwhatif.scheduler.queue.active_queue import ActiveQueue
from kwhatif.scheduler.queue.backoff_queue import BackoffQueue
from kwhatif.scheduler.queue.hinting import QueueingStrategy
from kwhatif.scheduler.queue.nominator import Nominator, pod_lister
from kwhatif.scheduler.queue.profiles import QueueOptions, QueueProfile
from kwhatif.scheduler.queue.queued_group import QueuedEntity
from kwhatif.scheduler.queue.queued_pod import QueuedPodInfo
from kwhatif.scheduler.queue.unschedulable_pods import UnschedulablePods


class QueueParts:
    """activeQ, backoffQ, the pool of unschedulable pods, and the nominator; `now` is in nanoseconds."""

    def __init__(self, profiles: Mapping[str, QueueProfile], cluster: Cluster, options: QueueOptions) -> None:
        self.now = 0
        self.active = ActiveQueue()
        self.backoff = BackoffQueue(options.initial_backoff, options.max_backoff)
        self.unschedulable = UnschedulablePods()
        self.nominator = Nominator(pod_lister(cluster))
        self._nominates_gated = cluster.nominates_gated
        self._profiles = profiles
        #: Called with every pod that an event requeues.
        self.woken: Callable[[QueuedEntity], None] | None = None

    def _fork_parts(self, other: QueueParts, cluster: Cluster) -> None:
        other.now, other._nominates_gated = self.now, cluster.nominates_gated
        other.active, other.backoff = self.active.fork(), self.backoff.fork()
        other.unschedulable = self.unschedulable.fork()
        other.nominator = self.nominator.fork(pod_lister(cluster))

    def get(self, key: str) -> QueuedPodInfo | None:
        """The record of the pod with that key, if it is in any part of the queue."""
        found = self.active.queue.get(key) or self.backoff.get(key) or self.unschedulable.get(key)
        return found if isinstance(found, QueuedPodInfo) else None

    def _rest(self, info: QueuedEntity) -> None:
        """Let it wait for an event."""
        assert isinstance(info, QueuedPodInfo), "groups are for a queue that knows them"
        self.unschedulable.add_or_update(info)

    def _requeue(self, info: QueuedEntity, strategy: QueueingStrategy) -> bool:
        """Requeue the pod by the strategy (`requeuePodWithQueueingStrategy`); returns whether it left the pool."""
        if strategy is QueueingStrategy.SKIP:
            self._rest(info)
            return False
        if self.woken is not None:
            self.woken(info)
        if strategy is QueueingStrategy.AFTER_BACKOFF and self.backoff.is_backing_off(info, self.now):
            return self._move_to_backoff(info)
        return self._move_to_active(info)

    def _move_to_active(self, info: QueuedEntity, *, skip_pre_enqueue: bool = False, nominate: bool = False) -> bool:
        """Move the pod to activeQ unless a PreEnqueue plugin rejects it; pods from backoffQ were already checked."""
        if not skip_pre_enqueue:
            self._run_pre_enqueue(info)
        if nominate and isinstance(info, QueuedPodInfo) and (self._nominates_gated or not info.gated):
            self.nominator.add(info.pod_info)
        if info.gated:
            if info.key not in self.active.queue and info.key not in self.backoff:
                self._rest(info)
            return False
        self.unschedulable.delete(info.key)
        self.backoff.delete(info.key)
        self.active.queue.add_or_update(info)
        return True

    def _move_to_backoff(self, info: QueuedEntity) -> bool:
        self._run_pre_enqueue(info)
        if info.gated:
            self._rest(info)
            return False
        self.unschedulable.delete(info.key)
        self.backoff.add(info)
        return True

    def _run_pre_enqueue(self, info: QueuedEntity) -> None:
        """Run the plugins until one rejects, the current gating plugin first (`runPreEnqueuePlugins`).

        If several would reject, upstream names a random one; here the order of the profile decides.
        QUIRK: a plugin that has rejected counts as a rejector until the next attempt, even if it no longer rejects.
        """
        assert isinstance(info, QueuedPodInfo), "groups are for a queue that knows them"
        profile = self._profiles.get(info.pod_info.pod.spec.scheduler_name, QueueProfile())
        checks = profile.pre_enqueue
        if info.gating_plugin:
            checks = sorted(checks, key=lambda entry: entry[0] != info.gating_plugin)
        for name, pre_enqueue in checks:
            status = pre_enqueue(info.pod_info)
            if status.code is not Code.SUCCESS:
                info.unschedulable_plugins.add(name)
                info.gating_plugin = name
                return
        info.gating_plugin = ""
