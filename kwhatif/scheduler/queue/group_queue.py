"""`GroupSchedulingQueue`: the queue where pods may be of groups (`backend/queue/scheduling_queue.go`, 1.37).

The pods of a group are one entity, which is gated, woken and tried as a whole. After each attempt the
group comes back by `add_attempted_group`, whatever the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.pod_group import PodGroup, group_of
from kwhatif.scheduler.framework.events import (
    FORCE_ACTIVATE,
    UNSCHEDULABLE_TIMEOUT,
    UNSCHEDULED_POD_ADD,
    ClusterEvent,
    pod_events,
)
from kwhatif.scheduler.framework.status import Code
from kwhatif.scheduler.plugins.gang_scheduling import GangScheduling
from kwhatif.scheduler.queue.hinting import Occurrence, QueueingStrategy, QueueOptions, QueueProfile
from kwhatif.scheduler.queue.queued_pod import QueuedEntity, QueuedPodGroupInfo, QueuedPodInfo, entity_key
from kwhatif.scheduler.queue.scheduling_queue import SchedulingQueue, Witness
from kwhatif.state.pod_info import PodInfo

#: Pods by key, by the key of their group.
_Aside = dict[str, dict[str, QueuedPodInfo]]


class GroupSchedulingQueue(SchedulingQueue):
    """The queue of pods, with groups that wait for an event, and pods that wait for their group."""

    def __init__(
        self,
        profiles: Mapping[str, QueueProfile],
        cluster: Cluster,
        options: QueueOptions = QueueOptions(),  # noqa: B008 - immutable
        witness: Witness | None = None,
    ) -> None:
        super().__init__(profiles, cluster, options, witness)
        self._cluster = cluster
        #: Groups that are gated or wait for an event (`unschedulableEntities`), by entity key.
        self._resting: dict[str, QueuedPodGroupInfo] = {}
        #: Pods whose PodGroup is not there (`incompletePodGroupPods`).
        self._incomplete: _Aside = {}
        #: Pods that were added or requeued while their group is in flight (`pendingPodGroupPods`).
        self._returning: _Aside = {}
        #: The key of the group that is in flight.
        self._popped = ""

    def fork(self, profiles: Mapping[str, QueueProfile], cluster: Cluster) -> GroupSchedulingQueue:
        """An independent queue in which the same pods wait."""
        other = super().fork(profiles, cluster)
        assert isinstance(other, GroupSchedulingQueue), "it is a copy"
        other._cluster = cluster
        other._resting = {key: info.fork() for key, info in self._resting.items()}
        other._incomplete, other._returning = _forked(self._incomplete), _forked(self._returning)
        return other

    # --- looking ------------------------------------------------------------------------------------------

    def group(self, key: str) -> QueuedPodGroupInfo | None:
        """The record of the group of that key, `namespace/name`, unless it is in flight."""
        name = entity_key(key)
        found = self.active.queue.get(name) or self.backoff.get(name) or self._resting.get(name)
        return found if isinstance(found, QueuedPodGroupInfo) else None

    def get(self, key: str) -> QueuedPodInfo | None:
        """The record of the pod with that key, also if it is in a group."""
        found = super().get(key)
        return found or next(filter(None, (there.get(key) for there in self._records())), None)

    def _records(self) -> Iterable[Mapping[str, QueuedPodInfo]]:
        heaps = (self.active.queue, self.backoff.pod_backoff, self.backoff.pod_error_backoff)
        entities = [*(info for heap in heaps for info in heap.entities()), *self._resting.values()]
        yield from (info.members for info in entities if isinstance(info, QueuedPodGroupInfo))
        yield from self._incomplete.values()
        yield from self._returning.values()

    # --- pods come, change and go -------------------------------------------------------------------------

    def add(self, pod: PodInfo) -> None:
        """A pod without a node was created."""
        if not group_of(pod.pod):
            super().add(pod)
            return
        self.nominator.add(pod)
        self._add_member(QueuedPodInfo(pod, self.now))
        waiting = self._resting.get(entity_key(group_of(pod.pod)))
        if waiting is not None:  # pods of other groups are not affected
            self._wake((waiting,), Occurrence(UNSCHEDULED_POD_ADD, None, pod.pod))

    def _add_member(self, info: QueuedPodInfo) -> None:
        """(`addPodGroupMember`.) A pod of a group that waits joins it; the first one makes the group wait."""
        key = group_of(info.pod_info.pod)
        group = self._cluster.get(PodGroup, key)
        if group is None:
            self._incomplete.setdefault(key, {})[info.key] = info
            return
        found = self.group(key)
        if found is not None:
            strategy = self._take_out(found)
            found.members[info.key] = info
            self._put_back(found, strategy)
        elif self._popped == entity_key(key):
            self._returning.setdefault(key, {})[info.key] = info
        else:
            made = QueuedPodGroupInfo(key, group, info.timestamp, {info.key: info})
            self._move_to_active(made)

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """A pod without a node was changed."""
        if not group_of(old.pod):
            super().update(old, new)
            return
        events = pod_events(old.pod, new.pod)
        if self.active.add_events_if_in_flight(new.uid, events, old.pod, new.pod):
            return
        info = self.get(new.key)
        if info is None:
            self.add(new)
            return
        info.update(new)
        self.nominator.update(old, new)
        group = self._resting.get(entity_key(group_of(new.pod)))
        if group is None or new.key not in group.members:
            return
        for event in events:
            if self._requeue(group, self._worth(group, Occurrence(event, old.pod, new.pod))):
                return

    def delete(self, pod: PodInfo) -> None:
        """A pod was deleted, or has got a node."""
        key = group_of(pod.pod)
        if not key:
            super().delete(pod)
            return
        self.nominator.delete(pod.uid)
        group = self.group(key)
        if group is None or pod.key not in group.members:
            for aside in (self._incomplete, self._returning):
                if aside.get(key, {}).pop(pod.key, None) is not None and not aside[key]:
                    del aside[key]
            return
        strategy = self._take_out(group)
        del group.members[pod.key]
        if group.members:
            self._put_back(group, strategy)

    def _take_out(self, group: QueuedPodGroupInfo) -> QueueingStrategy:
        """Remove the group from its part of the queue; returns a function that puts it back (`deleteFromAnyQueue`)."""
        if self.active.queue.delete(group.key):
            return QueueingStrategy.IMMEDIATELY
        if self.backoff.delete(group.key):
            return QueueingStrategy.AFTER_BACKOFF
        del self._resting[group.key]
        return QueueingStrategy.SKIP

    def _put_back(self, group: QueuedPodGroupInfo, strategy: QueueingStrategy) -> None:
        if strategy is QueueingStrategy.SKIP:
            self._resting[group.key] = group
        else:
            self._requeue(group, strategy)

    # --- groups come, change and go -----------------------------------------------------------------------

    def put_group(self, group: PodGroup) -> None:
        """A PodGroup was created or changed: pods that wait for it become a group."""
        key = key_of(group)
        found = self.group(key)
        if found is not None:
            strategy = self._take_out(found)
            found.group = group
            self._put_back(found, strategy)
        for info in self._incomplete.pop(key, {}).values():
            self._add_member(info)

    def drop_group(self, key: str) -> None:
        """The PodGroup of that key is gone: its pods wait until it comes back."""
        found = self.group(key)
        if found is not None:
            self._take_out(found)
            self._incomplete.setdefault(key, {}).update(found.members)
        self._incomplete.setdefault(key, {}).update(self._returning.pop(key, {}))

    # --- attempts -----------------------------------------------------------------------------------------

    def pop_entity(self) -> QueuedEntity | None:
        """Take out the pod or the group that is to be tried now."""
        info = super().pop_entity()
        self._popped = info.key if isinstance(info, QueuedPodGroupInfo) else ""
        return info

    def add_unschedulable_if_not_present(self, info: QueuedPodInfo) -> bool:
        """The attempt failed: the pod comes back, one of a group into its group."""
        if not group_of(info.pod_info.pod):
            return super().add_unschedulable_if_not_present(info)
        if info.unschedulable_plugins:
            info.unschedulable_count += 1
            info.consecutive_errors_count = 0
        else:
            info.consecutive_errors_count += 1
        info.timestamp, info.backoff_expiration = self.now, None
        self.active.done(info.uid)
        self._add_member(info)
        return True

    def add_attempted_group(self, group: QueuedPodGroupInfo, code: Code) -> None:
        """The group's attempt is over: those of its pods that have come back wait for the next one.

        (`AddAttemptedPodGroupIfNeeded`.) After success they are tried at once.
        """
        self._popped = ""
        returning = self._returning.pop(group.group_key, {})
        now = self._cluster.get(PodGroup, group.group_key)
        if not returning or now is None:
            if returning:
                self._incomplete.setdefault(group.group_key, {}).update(returning)
            return
        keeps_time = code is Code.SUCCESS and bool(group.members.keys() & returning.keys())
        group.group, group.members = now, returning
        if code is Code.SUCCESS:
            group.unschedulable_count = group.consecutive_errors_count = 0
        elif code is Code.ERROR:
            group.consecutive_errors_count += 1
            group.backoff_expiration = None
        else:
            group.unschedulable_count += 1
            group.consecutive_errors_count, group.backoff_expiration = 0, None
        if not keeps_time:
            group.timestamp = self.now
        if code is not Code.SUCCESS and self.backoff.is_backing_off(group, self.now):
            self._move_to_backoff(group)
        else:
            self._move_to_active(group)

    def activate(self, pods: Iterable[PodInfo]) -> None:
        """Some plugin wants these pods, and their groups, to be tried at once."""
        for pod in pods:
            key = group_of(pod.pod)
            if not key:
                super().activate((pod,))
                continue
            group = self.group(key)
            waits = group is not None and group.key not in self.active.queue
            if group is None or not waits:
                self.active.add_events_if_in_flight(pod.uid, [FORCE_ACTIVATE], None, pod.pod)
                continue
            skips = self._take_out(group) is QueueingStrategy.AFTER_BACKOFF
            self._move_to_active(group, skip_pre_enqueue=skips)

    # --- parts --------------------------------------------------------------------------------------------

    def _rest(self, info: QueuedEntity) -> None:
        if isinstance(info, QueuedPodGroupInfo):
            self._resting[info.key] = info
        else:
            super()._rest(info)

    def _move_to_active(self, info: QueuedEntity, *, skip_pre_enqueue: bool = False, nominate: bool = False) -> bool:
        moved = super()._move_to_active(info, skip_pre_enqueue=skip_pre_enqueue, nominate=nominate)
        if moved and isinstance(info, QueuedPodGroupInfo):
            self._resting.pop(info.key, None)
        return moved

    def _move_to_backoff(self, info: QueuedEntity) -> bool:
        moved = super()._move_to_backoff(info)
        if moved and isinstance(info, QueuedPodGroupInfo):
            self._resting.pop(info.key, None)
        return moved

    def _run_pre_enqueue(self, info: QueuedEntity) -> None:
        """One gated pod gates the group; upstream names any of its gated pods."""
        if not isinstance(info, QueuedPodGroupInfo):
            super()._run_pre_enqueue(info)
            return
        gated = ""
        for member in info.members.values():
            super()._run_pre_enqueue(member)
            gated = member.gating_plugin or gated
            if gated == GangScheduling.name:
                break  # it gives the same answer for all of them
        info.gating_plugin = gated

    # --- events -------------------------------------------------------------------------------------------

    def _is_anyone_waiting(self) -> bool:
        return True  # pods of groups wait elsewhere, too

    def move_all_to_active_or_backoff(
        self,
        event: ClusterEvent,
        old: KubernetesObject | None,
        new: KubernetesObject | None,
        pre_check: Callable[[PodInfo], bool] | None = None,
    ) -> None:
        """Something happened: requeue the pods and groups that it may help."""
        super().move_all_to_active_or_backoff(event, old, new, pre_check)
        if self._resting and self._hints.is_of_interest(event):
            self._wake(list(self._resting.values()), Occurrence(event, old, new), pre_check)

    def _wake(
        self,
        groups: Iterable[QueuedPodGroupInfo],
        occurrence: Occurrence,
        pre_check: Callable[[PodInfo], bool] | None = None,
    ) -> None:
        for group in groups:
            if pre_check is not None and not any(pre_check(info.pod_info) for info in group.members.values()):
                continue
            if group.gated and not self._hints.reaches(occurrence.event, group.gating_plugin):
                continue
            strategy = self._worth(group, occurrence)
            if strategy is not QueueingStrategy.SKIP:
                del self._resting[group.key]
                self._requeue(group, strategy)

    def _worth(self, group: QueuedPodGroupInfo, occurrence: Occurrence) -> QueueingStrategy:
        """The best strategy that the event has for any of its pods (`isEntityWorthRequeuing`)."""
        best = QueueingStrategy.SKIP
        for info in group.members.values():
            best = max(best, self._judge(info, occurrence))
            if best is not QueueingStrategy.SKIP and not info.pending_plugins:
                break
        return best

    def flush_unschedulable_leftover(self) -> None:
        """Every 30 s: also groups that have waited too long."""
        super().flush_unschedulable_leftover()
        oldest = self.now - self._max_in_unschedulable_pods
        for group in [each for each in self._resting.values() if each.timestamp < oldest]:
            if self._worth(group, Occurrence(UNSCHEDULABLE_TIMEOUT, None, None)) is not QueueingStrategy.SKIP:
                del self._resting[group.key]
                self._requeue(group, QueueingStrategy.AFTER_BACKOFF)


def _forked(aside: _Aside) -> _Aside:
    return {group: {key: info.fork() for key, info in pods.items()} for group, pods in aside.items()}
