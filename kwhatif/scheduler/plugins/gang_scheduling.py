"""GangScheduling: pods of a group wait for one another (`plugins/gangscheduling/gangscheduling.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup, group_of
from kwhatif.scheduler.framework.events import ActionType, EventResource
from kwhatif.scheduler.framework.hints import QUEUE_SKIP, ClusterEventWithHint, QueueingHint, builtin, queue_if
from kwhatif.scheduler.framework.status import SUCCESS, Status, unresolvable
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

TOO_FEW = unresolvable("waiting for minCount pods from a gang to appear in scheduling queue")


def missing_group(name: str) -> Status:
    """The pods wait for their PodGroup."""
    return unresolvable(f'waiting for pods\'s pod group "{name}" to appear in scheduling queue')


class GangScheduling:
    """Keeps the pods of a gang out of the queue until there are enough of them.

    That they are placed together or not at all is the group's cycle (`pod_groups`).
    """

    name: ClassVar[str] = "GangScheduling"

    def pre_enqueue(self, pod: PodInfo, state: State) -> Status:
        """SUCCESS, or whom the pod waits for. Pods that have a node count, too, be they of another scheduler.

        The scheduler knows no pending pods of others; a group of pods of several of its profiles fails later anyway.
        """
        key = group_of(pod.pod)
        if not key:
            return SUCCESS
        group = state.cluster.get(PodGroup, key)
        if group is None:
            return missing_group(key.partition("/")[2])
        if group.spec.scheduling_policy.gang is None:
            return SUCCESS
        members, own = state.members_of(key).values(), pod.pod.spec.scheduler_name
        known = sum(bool(each.pod.spec.node_name) or each.pod.spec.scheduler_name == own for each in members)
        return SUCCESS if known >= group.min_count else TOO_FEW

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """A pod of the group comes, the group comes, or it needs fewer pods."""
        return (
            builtin(EventResource.UNSCHEDULABLE_POD, ActionType.ADD, _after_pod_added),
            builtin(EventResource.ASSIGNED_POD, ActionType.ADD, _after_pod_added),
            builtin(EventResource.POD_GROUP, ActionType.ADD, _after_group_added),
            builtin(EventResource.POD_GROUP, ActionType.UPDATE, _after_group_updated),
        )


def _after_pod_added(pod: PodInfo, _old: Pod | None, new: Pod, _cluster: Cluster) -> QueueingHint:
    key = group_of(pod.pod)
    return queue_if(key and key == group_of(new))


def _after_group_added(pod: PodInfo, _old: None, new: PodGroup, _cluster: Cluster) -> QueueingHint:
    return queue_if(group_of(pod.pod) == key_of(new))


def _after_group_updated(pod: PodInfo, old: PodGroup, new: PodGroup, _cluster: Cluster) -> QueueingHint:
    if group_of(pod.pod) != key_of(new):
        return QUEUE_SKIP
    before, after = old.spec.scheduling_policy.gang, new.spec.scheduling_policy.gang
    return queue_if(before is not None and after is not None and after.min_count < before.min_count)
