"""`SchedulingQueue`: all pending pods (`PriorityQueue` in `backend/queue/scheduling_queue.go`).

Feature gates are at the defaults of 1.36: queueing hints, popping from backoffQ and asynchronous preemption are on,
asynchronous API calls are off. Groups of pods: `GroupSchedulingQueue`. Times are nanoseconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Protocol

from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.scheduler.framework.events import (
    FORCE_ACTIVATE,
    UNSCHEDULABLE_TIMEOUT,
    ClusterEvent,
    cluster_events,
    pod_events,
)
from kwhatif.scheduler.framework.status import Code
from kwhatif.scheduler.queue.active_queue import ActiveQueue, BackoffQueue
from kwhatif.scheduler.queue.hinting import (
    Answers,
    Occurrence,
    QueueingHints,
    QueueingStrategy,
    QueueOptions,
    QueueProfile,
)
from kwhatif.scheduler.queue.queued_pod import Nominator, QueuedEntity, QueuedPodGroupInfo, QueuedPodInfo, pod_lister
from kwhatif.scheduler.queue.unschedulable_pods import UnschedulablePods
from kwhatif.state.pod_info import PodInfo


class QueueParts:
    """How pods move between activeQ, backoffQ, the unschedulable pods and the nominator; `now` is in nanoseconds."""

    def __init__(self, profiles: Mapping[str, QueueProfile], cluster: Cluster, options: QueueOptions) -> None:
        self.now = 0
        self.active = ActiveQueue()
        self.backoff = BackoffQueue(options.initial_backoff, options.max_backoff)
        self.unschedulable = UnschedulablePods()
        self.nominator = Nominator(pod_lister(cluster))
        self._nominates_gated = cluster.facts.nominates_gated
        self._profiles = profiles
        #: Called with every pod that an event requeues.
        self.woken: Callable[[QueuedEntity], None] | None = None

    def _fork_parts(self, other: QueueParts, cluster: Cluster) -> None:
        other.now, other._nominates_gated = self.now, cluster.facts.nominates_gated
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
        profile = self._profiles.get(info.pod_info.pod.spec.scheduler_name)
        checks = () if profile is None else profile.pre_enqueue
        if info.gating_plugin:
            checks = sorted(checks, key=lambda entry: entry[0] != info.gating_plugin)
        for name, pre_enqueue in checks:
            status = pre_enqueue(info.pod_info)
            if status.code is not Code.SUCCESS:
                info.unschedulable_plugins.add(name)
                info.gating_plugin = name
                return
        info.gating_plugin = ""


class Witness(Protocol):
    """Called with the answers of plugins about an event."""

    def __call__(self, occurrence: Occurrence, answers: Mapping[str, Answers], *, replay: bool) -> None:
        """The answers by pod; `replay`: the event happened while the pod was in flight."""


class SchedulingQueue(QueueParts):
    """activeQ, backoffQ, the pool of unschedulable pods, pods in flight, and the nominator.

    The caller sets `now` before each call, and calls `flush_backoff` at every whole second and
    `flush_unschedulable_leftover` every 30 s. `cluster` is what the API server has; it is never changed here,
    and must be up to date when an event is reported.
    """

    def __init__(
        self,
        profiles: Mapping[str, QueueProfile],
        cluster: Cluster,
        options: QueueOptions = QueueOptions(),  # noqa: B008 - immutable
        witness: Witness | None = None,
    ) -> None:
        super().__init__(profiles, cluster, options)
        self._hints = QueueingHints({name: profile.registrations for name, profile in profiles.items()}, cluster)
        self._max_in_unschedulable_pods = options.max_in_unschedulable_pods
        self._witness = witness

    def fork(self, profiles: Mapping[str, QueueProfile], cluster: Cluster) -> SchedulingQueue:
        """An independent queue with the same pods, without watchers; `profiles` and `cluster` are those of a fork."""
        other = copy(self)
        self._fork_parts(other, cluster)
        other._profiles, other._hints = profiles, self._hints.fork(cluster)
        other.woken = other._witness = None
        return other

    def events_of(self, old: KubernetesObject | None, new: KubernetesObject | None) -> list[ClusterEvent]:
        """The events of a change (`cluster_events`); none if no pod waits for an event."""
        return cluster_events(old, new, self._hints.cluster) if self._is_anyone_waiting() else []

    def _is_anyone_waiting(self) -> bool:
        return len(self.unschedulable) > 0 or self.active.is_any_in_flight or self._witness is not None

    # --- pods come, change and go -------------------------------------------------------------------------

    def add(self, pod: PodInfo) -> None:
        """A pod without a node was created."""
        self._move_to_active(QueuedPodInfo(pod, self.now), nominate=True)

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """A pod without a node was changed. If it is not in the queue, it is added."""
        events = pod_events(old.pod, new.pod)
        if self.active.add_events_if_in_flight(new.uid, events, old.pod, new.pod):
            return
        info = self.active.queue.get(old.key) or self.backoff.get(old.key)
        if isinstance(info, QueuedPodInfo):
            info.update(new)
            if old.key in self.active.queue:
                self.active.queue.add_or_update(info)
            else:
                self.backoff.update(info)
            self.nominator.update(old, new)
            return
        info = self.unschedulable.get(new.key)
        if info is None:
            self._move_to_active(QueuedPodInfo(new, self.now), nominate=True)
            return
        info.update(new)
        self.nominator.update(old, new)
        self.unschedulable.add_or_update(info)
        for event in events:
            occurrence = Occurrence(event, old.pod, new.pod)
            if self._requeue(info, self._judge(info, occurrence)):
                return

    def delete(self, pod: PodInfo) -> None:
        """A pod was deleted, or got a node."""
        self.nominator.delete(pod.uid)
        if not self.active.queue.delete(pod.key) and not self.backoff.delete(pod.key):
            self.unschedulable.delete(pod.key)

    # --- attempts -----------------------------------------------------------------------------------------

    def pop(self) -> QueuedPodInfo | None:
        """Remove and return the next pod to try; None if there is none. Pods in backoff after an error stay."""
        info = self.pop_entity()
        assert not isinstance(info, QueuedPodGroupInfo), "groups are for those who take entities"
        return info

    def pop_entity(self) -> QueuedEntity | None:
        """Take out the pod or the group that is to be tried now; None if there is none."""
        while True:
            info = self.active.queue.pop() or self.backoff.pod_backoff.pop()
            if info is None or self.active.move_to_in_flight(info):
                return info

    def done(self, uid: str) -> None:
        """The attempt of the pod is over, and it is not requeued (or was bound)."""
        self.active.done(uid)

    def add_unschedulable_if_not_present(self, info: QueuedPodInfo) -> bool:
        """The attempt failed: requeue the pod, see `failure`. False if a pod of its key is already in the queue."""
        try:
            if self.get(info.key) is not None:
                return False
            if info.unschedulable_plugins or info.pending_plugins:
                info.unschedulable_count += 1
                info.consecutive_errors_count = 0
            else:
                info.consecutive_errors_count += 1
            info.timestamp = self.now
            info.backoff_expiration = None
            strategy = self._strategy_after_flight(info)
            if not self._requeue(info, strategy) and self.unschedulable.get(info.key) is not info:
                self.unschedulable.add_or_update(info)
            return True
        finally:
            self.active.done(info.uid)

    def _strategy_after_flight(self, info: QueuedPodInfo) -> QueueingStrategy:
        """The strategy for the events during the attempt (`determineSchedulingHintForInFlightPod`)."""
        if not info.unschedulable_plugins and not info.pending_plugins:
            return QueueingStrategy.AFTER_BACKOFF
        events = self.active.events_for(info)
        if events is None:
            return QueueingStrategy.AFTER_BACKOFF
        most = QueueingStrategy.IMMEDIATELY if info.pending_plugins else QueueingStrategy.AFTER_BACKOFF
        best = QueueingStrategy.SKIP
        for occurrence in events:
            best = max(best, self._judge(info, occurrence, replay=True))
            if best is most:
                break
        return best

    def activate(self, pods: Iterable[PodInfo]) -> None:
        """A plugin wants these pods to be tried at once, regardless of backoff."""
        for pod in pods:
            info = self.unschedulable.get(pod.key)
            waited = info is None
            found: QueuedEntity | None = info
            if info is None:
                found = self.backoff.get(pod.key)
                self.backoff.delete(pod.key)
            if found is None or not self._move_to_active(found, skip_pre_enqueue=waited):
                self.active.add_events_if_in_flight(pod.uid, [FORCE_ACTIVATE], None, pod.pod)

    # --- events -------------------------------------------------------------------------------------------

    def move_all_to_active_or_backoff(
        self,
        event: ClusterEvent,
        old: KubernetesObject | None,
        new: KubernetesObject | None,
        pre_check: Callable[[PodInfo], bool] | None = None,
    ) -> None:
        """Requeue the pods that the event may help; `pre_check` may leave out pods of the pool."""
        if not self._hints.is_of_interest(event):
            return
        occurrence = Occurrence(event, old, new)
        seen: dict[str, Answers] = {}
        moved: list[tuple[QueuedPodInfo, QueueingStrategy]] = []
        witnessed = self._witness is not None
        for answers, strategy, pods in self._hints.judge_pool(self.unschedulable, occurrence, every_pod=witnessed):
            if strategy is QueueingStrategy.SKIP and not witnessed:
                continue
            chosen = [info for info in pods if pre_check is None or pre_check(info.pod_info)]
            if witnessed and answers:
                seen.update((info.key, answers) for info in chosen)
            if strategy is not QueueingStrategy.SKIP:
                moved.extend((info, strategy) for info in chosen)
        self._announce(occurrence, seen)
        for info, strategy in moved:
            self._requeue(info, strategy)
        self.active.add_event_if_any_in_flight(occurrence)

    def _judge(self, info: QueuedPodInfo, occurrence: Occurrence, *, replay: bool = False) -> QueueingStrategy:
        answers = self._hints.answers(info, occurrence)
        self._announce(occurrence, {info.key: answers} if answers else {}, replay=replay)
        return self._hints.strategy(info, answers)

    def _announce(self, occurrence: Occurrence, answers: Mapping[str, Answers], *, replay: bool = False) -> None:
        if self._witness is not None and answers:
            self._witness(occurrence, answers, replay=replay)

    # --- time ---------------------------------------------------------------------------------------------

    def flush_backoff(self) -> None:
        """Every second: move pods whose backoff is over to activeQ (`flushBackoffQCompleted`)."""
        for info in self.backoff.pop_completed(self.now):
            self._move_to_active(info, skip_pre_enqueue=True)

    def flush_unschedulable_leftover(self) -> None:
        """Every 30 s: retry pods that have waited too long without an event, except gated ones."""
        occurrence = Occurrence(UNSCHEDULABLE_TIMEOUT, None, None)
        oldest = self.now - self._max_in_unschedulable_pods
        late = [info for info in self.unschedulable if info.timestamp < oldest and not info.gated]
        self._announce(occurrence, {info.key: self._hints.answers(info, occurrence) for info in late})
        for info in late:
            self._requeue(info, QueueingStrategy.AFTER_BACKOFF)
        if late:
            self.active.add_event_if_any_in_flight(occurrence)
