"""GangScheduling: pods of a gang wait until there are enough of them (`plugins/gangscheduling/gangscheduling.go`)."""

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
    """The status of pods whose PodGroup does not exist."""
    return unresolvable(f'waiting for pods\'s pod group "{name}" to appear in scheduling queue')


class GangScheduling:
    """Keeps the pods of a gang out of the queue until there are enough of them.

    The scheduling cycle of the group (`pod_groups`) places all of them or none.
    """

    name: ClassVar[str] = "GangScheduling"

    def pre_enqueue(self, pod: PodInfo, state: State) -> Status:
        """SUCCESS, or the reason why the pod waits. Pods that have a node count, also pods of another scheduler.

        Pending pods count only if they have the pod's scheduler name: the scheduler does not know the pending pods of
        other schedulers, and a group with pods of several profiles fails later anyway.
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
        """A pod of the group is added, the group is added, or its minCount decreases."""
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
