"""The scheduler's loop where pods are of groups (`pkg/scheduler/schedule_one_podgroup.go`, 1.37)."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from kwhatif.kube.matching.groups import has_groups
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.scheduler.batch.result import ScheduleResult
from kwhatif.scheduler.framework.status import Code
from kwhatif.scheduler.pod_groups.result import GROUP_UNSCHEDULABLE, GroupResult
from kwhatif.scheduler.queue.event_handlers import FailedAttempt, handle_failure
from kwhatif.scheduler.queue.group_queue import GroupSchedulingQueue
from kwhatif.scheduler.queue.profiles import QueueProfile
from kwhatif.scheduler.queue.queued_pod import QueuedPodGroupInfo, QueuedPodInfo
from kwhatif.scheduler.queue.scheduling_queue import SchedulingQueue
from kwhatif.simulation.scheduler import ACTOR, Scheduler
from kwhatif.simulation.world import World

#: The condition of a PodGroup that says whether it was placed; once it is True it stays so.
_CONDITION = "PodGroupInitiallyScheduled"


class GroupOutcome(NamedTuple):
    """How the attempts of a group went."""

    #: The last one.
    result: GroupResult
    #: What the condition says; "" once the group was placed.
    message: str
    #: Those that evicted others.
    evicting: tuple[GroupResult, ...] = ()


class GroupScheduler(Scheduler):
    """All profiles, and one queue in which the pods of a group are one entity."""

    #: By the key of the group, what came of it.
    groups: dict[str, GroupOutcome]
    #: UIDs of the pods that this scheduler has given their nodes.
    placed: set[str]

    def _make_queue(self, profiles: dict[str, QueueProfile], cluster: Cluster) -> SchedulingQueue:
        self.groups, self.placed = {}, set()
        return GroupSchedulingQueue(profiles, cluster)

    def fork(self, world: World) -> GroupScheduler:
        """An independent scheduler for a fork of the world."""
        other = super().fork(world)
        assert isinstance(other, GroupScheduler), "it is a copy"
        other.groups, other.placed = self.groups.copy(), self.placed.copy()
        return other

    # --- an attempt ----------------------------------------------------------------------------------

    def _try_group(self, info: QueuedPodGroupInfo) -> None:
        queue, world = self.queue, self._world
        assert isinstance(queue, GroupSchedulingQueue), "it made it"
        members = [member for member in info.in_order if member.pod_info.pod.metadata.deletion_timestamp is None]
        for member in info.members.values():
            if member not in members:
                queue.done(member.uid)
        group = world.state.cluster.get(PodGroup, info.group_key)
        if group is None or not members:
            queue.add_attempted_group(info, Code.SUCCESS)
            return
        because = next(filter(None, [self._causes.pop(member.uid, None) for member in members]), None)
        result = self.attempts.attempt_group(group, [member.pod_info for member in members])
        event = self._note_group(info, result, because)
        victims = [] if result.preemption is None else [pod for pod in result.preemption.pods if not pod.terminating]
        if victims:
            self._preempting.start(info.uid)
        self._submit(result, members, event)
        if victims:
            self._later(partial(self._preempt, info.uid, info.key, (), victims, event))
        queue.add_attempted_group(info, result.status.code)

    def _note_group(self, info: QueuedPodGroupInfo, result: GroupResult, because: int | None) -> int | None:
        """What the group's condition says; an event, if that is another one than before."""
        key, message = info.group_key, "" if result.is_placed else result.status.message
        before = self.groups.get(key)
        was_placed = before is not None and before.result.is_placed and not before.message
        evicting = () if before is None else before.evicting
        if result.preemption is not None and result.preemption.victims:
            evicting = (*evicting, result)
        self.groups[key] = GroupOutcome(result, "" if was_placed else message, evicting)
        if before is not None and before.result.status == result.status and not result.is_placed:
            self._in_vain[info.uid] += 1
            return because
        self._in_vain.clear()
        verb = "placed" if result.is_placed else "unschedulable"
        return self._world.note(because, ACTOR, verb, f"PodGroup {key}", detail=result.status.message)

    def _submit(self, result: GroupResult, members: list[QueuedPodInfo], event: int | None) -> None:
        """Each member as its own attempt and the group's went (`submitPodGroupAlgorithmResult`)."""
        tried = {each.pod.key: each for each in result.results}
        for info in members:
            self._tick()  # those that fail come back one after another
            own = tried.get(info.key)
            if own is not None and own.node is not None and result.is_placed:
                if self.watcher is not None:
                    self.watcher(own)
                self._bind(info, own, own.node, event)
            else:
                self._fail_member(info, result, own, event)

    def _bind(self, info: QueuedPodInfo, result: ScheduleResult, node: str, because: int | None) -> None:
        self.placed.add(info.uid)
        super()._bind(info, result, node, because)

    def _fail_member(
        self, info: QueuedPodInfo, result: GroupResult, own: ScheduleResult | None, event: int | None
    ) -> None:
        status, failed, message = result.status, False, ""
        nominated: str | None = ""
        rejectors: tuple[str, ...] = ()
        if status.code is Code.ERROR:
            failed = True
            message = own.message if own is not None and own.failed else status.message
        elif own is not None and own.node is None:
            message, rejectors, nominated = own.message, own.rejectors, None
        elif own is None:
            message, nominated = status.without_post_filter.message, None
        else:
            message = status.message if result.waits_for_victims else f"{GROUP_UNSCHEDULABLE}, {status.message}"
        if result.waits_for_victims and result.preemption is not None:
            nominated = result.preemption.nominations.get(info.key, nominated)
        self.messages[info.uid] = message
        pod = handle_failure(self.queue, info, FailedAttempt(rejectors, (), nominated), self._lister)
        if pod is not None:
            self._remember_nomination(info)
            reason = "SchedulerError" if failed else "Unschedulable"
            self._patch(pod, reason, pod.status.nominated_node_name if nominated is None else nominated, event)


def scheduler_for(cluster: Cluster) -> type[Scheduler]:
    """The scheduler of a cluster: one that knows groups only where there may be some."""
    return GroupScheduler if has_groups(cluster) else Scheduler
