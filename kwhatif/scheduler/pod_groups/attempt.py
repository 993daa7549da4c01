"""`attempt_group`: one scheduling cycle of a group, from validation to preemption (`scheduleOnePodGroup`, 1.37)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from kwhatif.kube.gates import GROUP_POLICY_GATE, Gates
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.scheduler.framework.status import Code
from kwhatif.scheduler.pod_groups.cycle import GroupCycle, bound_members, run_algorithm, without_nominations
from kwhatif.scheduler.pod_groups.preemption import post_filter
from kwhatif.scheduler.pod_groups.result import GroupResult, failure
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

_POLICY = "PreemptLowerPriority"


def attempt_group(cycle: GroupCycle, group: PodGroup, members: Sequence[PodInfo], state: State) -> GroupResult:
    """Do what kube-scheduler would do with the group, were it next in the queue.

    Args:
        cycle: what it runs by.
        group: the PodGroup.
        members: its pods that wait for a node, in the queue's order; at least one.
        state: the cluster, which stays as it is.
    """
    refusal = why_invalid(group, members, state)
    if refusal:
        return GroupResult(group, (), members, failure(refusal), bound=bound_members(group, state))
    freed = without_nominations(state, members)
    found = run_algorithm(cycle, group, members, freed)
    if found.status.code is not Code.UNSCHEDULABLE:
        return found
    said, preemption = post_filter(cycle, found, state, freed)
    if said.code is Code.ERROR:
        return replace(found, status=said)
    waits = said.code is Code.SUCCESS
    return replace(found, status=found.status.with_reason(said.message), preemption=preemption, waits_for_victims=waits)


def why_invalid(group: PodGroup, members: Sequence[PodInfo], state: State) -> str:
    """What the pods of the group must agree on, and do not; "" if they do (`validatePodGroup`)."""
    bound = [pod for pod in state.members_of(key_of(group)).values() if pod.pod.spec.node_name]
    scheduler = members[0].pod.spec.scheduler_name
    gates = state.cluster.gates
    policy = (group.spec.preemption_policy or _POLICY) if GROUP_POLICY_GATE in gates else ""
    for info in (*members, *bound):
        spec, own = info.pod.spec, _policy_of(info.pod)
        if spec.scheduler_name != scheduler:
            return (
                "all pods in a single pod group should have the same .spec.schedulerName set,"
                f' got: "{spec.scheduler_name}" and "{scheduler}"'
            )
        if info.priority != group.priority:
            return (
                "all pods in a single pod group should have the same priority as the pod group's priority,"
                f" got {info.priority} and {group.priority}"
            )
        policy = policy or own
        if own != policy:
            return _other_policy(own, policy, gates)
    return ""


def _policy_of(pod: Pod) -> str:
    return pod.spec.preemption_policy or _POLICY


def _other_policy(own: str, policy: str, gates: Gates) -> str:
    if GROUP_POLICY_GATE in gates:
        return (
            "all pods in a single pod group should have the same preemption policy"
            f" as the pod group's preemption policy, got {own} and {policy}"
        )
    return f"all pods in a single pod group should have the same preemption policy, got {own} and {policy}"
