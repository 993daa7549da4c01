"""`GroupCycle`: the scheduler's cycle for pod groups, in clusters that have any (`schedule_one_podgroup.go`, 1.37)."""

from __future__ import annotations

from kwhatif.kube.model.cluster import Cluster, ObjectRef
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.scheduler.batch.result import ScheduleResult
from kwhatif.scheduler.framework.status import Code
from kwhatif.scheduler.pod_groups.cycle import GroupOutcome, GroupResult
from kwhatif.scheduler.queue.group_queue import GroupSchedulingQueue
from kwhatif.scheduler.queue.hinting import QueueProfile
from kwhatif.scheduler.queue.queued_pod import QueuedPodGroupInfo, QueuedPodInfo
from kwhatif.simulation.history import Verb
from kwhatif.simulation.scheduler import ACTOR, Scheduler


class GroupCycle:
    """See `PodGroupCycle`."""

    def __init__(self) -> None:
        self.outcomes: dict[str, GroupOutcome] = {}
        self.placed: set[str] = set()

    def fork(self) -> GroupCycle:
        """An independent copy."""
        other = GroupCycle()
        other.outcomes, other.placed = self.outcomes.copy(), self.placed.copy()
        return other

    def queue(self, profiles: dict[str, QueueProfile], cluster: Cluster) -> GroupSchedulingQueue:
        """See `PodGroupCycle`."""
        return GroupSchedulingQueue(profiles, cluster)

    def schedule(self, info: QueuedPodGroupInfo, scheduler: Scheduler) -> None:
        """See `PodGroupCycle`."""
        queue, api_server = scheduler.queue, scheduler.api_server
        assert isinstance(queue, GroupSchedulingQueue), "it made it"
        members = [member for member in info.in_order if member.pod_info.pod.metadata.deletion_timestamp is None]
        for member in info.members.values():
            if member.pod_info.pod.metadata.deletion_timestamp is not None:
                queue.done(member.uid)
        group = api_server.state.cluster.get(PodGroup, info.group_key)
        if group is None or not members:
            queue.add_attempted_group(info, Code.SUCCESS)
            return
        because = next(filter(None, [scheduler.pop_cause(member.uid) for member in members]), None)
        result = scheduler.attempts.attempt_group(group, [member.pod_info for member in members])
        event = self._note(info, result, because, scheduler)
        victims = scheduler.begin_preemption(info.uid, [] if result.preemption is None else result.preemption.pods)
        self._submit(result, members, event, scheduler)
        scheduler.preempt(info, victims, (), event)
        queue.add_attempted_group(info, result.status.code)

    def _note(
        self, info: QueuedPodGroupInfo, result: GroupResult, because: int | None, scheduler: Scheduler
    ) -> int | None:
        """Record the outcome for the condition `PodGroupInitiallyScheduled`, which stays True; returns its event."""
        key, message = info.group_key, "" if result.is_placed else result.status.message
        before = self.outcomes.get(key)
        was_placed = before is not None and before.result.is_placed and not before.message
        evicting = () if before is None else before.evicting
        if result.preemption is not None and result.preemption.victims:
            evicting = (*evicting, result)
        self.outcomes[key] = GroupOutcome(result, "" if was_placed else message, evicting)
        same = before is not None and before.result.status == result.status and not result.is_placed
        if scheduler.is_in_vain(info.uid, same=same):
            return because
        verb: Verb = "placed" if result.is_placed else "unschedulable"
        return scheduler.api_server.note(because, ACTOR, verb, ObjectRef("PodGroup", key), detail=result.status.message)

    def _submit(
        self, result: GroupResult, members: list[QueuedPodInfo], event: int | None, scheduler: Scheduler
    ) -> None:
        """Each member as its own attempt and the group's went (`submitPodGroupAlgorithmResult`)."""
        tried = {each.pod.key: each for each in result.results}
        for info in members:
            scheduler.tick()  # those that fail come back one at a time
            own = tried.get(info.key)
            if own is not None and own.node is not None and result.is_placed:
                for watcher in scheduler.attempt_watchers:
                    watcher(own)
                scheduler.bind(info, own, own.node, event)
            else:
                _fail_member(info, result, own, event, scheduler)


def _fail_member(
    info: QueuedPodInfo, result: GroupResult, own: ScheduleResult | None, event: int | None, scheduler: Scheduler
) -> None:
    failure = result.failure_of(info.pod_info, own)
    is_infeasible = own is None or own.node is None
    nominated = None if is_infeasible and not failure.failed else ""
    if result.waits_for_victims and result.preemption is not None:
        nominated = result.preemption.nominations.get(info.key, nominated)
    scheduler.messages[info.uid] = failure.message
    scheduler.back_to_queue(info, failure.rejectors, nominated, event, is_error=failure.failed)
