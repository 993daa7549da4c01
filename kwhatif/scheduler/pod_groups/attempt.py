"""`attempt_group`: one scheduling cycle of a group, from validation to preemption (`scheduleOnePodGroup`, 1.37)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from kwhatif.kube.gates import GROUP_POLICY_GATE, Gates
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup, priority_of
from kwhatif.scheduler.batch.result import ScheduleResult
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.filters import NamedFilter
from kwhatif.scheduler.framework.incremental import tracks_pods
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.scheduler.framework.status import Code, Status, error, unresolvable, unschedulable
from kwhatif.scheduler.plugins.dynamic_resources import DynamicResources
from kwhatif.scheduler.pod_groups.cycle import (
    GroupCycle,
    GroupPreemption,
    GroupResult,
    bound_members,
    failure,
    run_algorithm,
    without_nominations,
)
from kwhatif.scheduler.preemption.budgets import Budgets
from kwhatif.scheduler.preemption.policy import NEVER, terminating_by_preemption
from kwhatif.scheduler.preemption.victims import Unit, by_importance, split_by_budgets, units_on
from kwhatif.state.change import Bind, Evict
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

_CLAIMS_DONE = "deallocation and deletion of ResourceClaims completed"
_PREFIX = "pod group preemption: "
_ONGOING = "ongoing preemption on nominated nodes"
_NOBODY = "No preemption victims found for incoming preemptor"


def post_filter(
    cycle: GroupCycle, found: GroupResult, state: State, freed: State
) -> tuple[Status, GroupPreemption | None]:
    """Results of the PodGroupPostFilter plugins, and the pods that the group evicts (`RunPodGroupPostFilterPlugins`).

    Args:
        cycle: the settings.
        found: the result so far.
        state: the cluster.
        freed: the same without the members' nominations.
    """
    reasons: list[str] = []
    for plugin in cycle.post_filter:
        if plugin == DynamicResources.name:
            if cycle.profile.placement_generate and found.group.spec.scheduling_constraints is not None:
                continue
            if not found.results:  # QUIRK: its PreFilter has not run, so it does not find what that leaves
                return error(f'error in "{plugin}" PodGroupPostFilter plugins: not found'), None
            reasons.append(_CLAIMS_DONE)
            continue
        said, preemption = _preempt(cycle, found, state, freed)
        if said.code is not Code.UNSCHEDULABLE:
            return _prefixed(said), preemption
        reasons += _prefixed(said).reasons
    return Status(Code.UNSCHEDULABLE, tuple(reasons)), None


def _prefixed(status: Status) -> Status:
    return Status(status.code, (_PREFIX + status.message,)) if status.message else status


def _preempt(
    cycle: GroupCycle, found: GroupResult, state: State, freed: State
) -> tuple[Status, GroupPreemption | None]:
    """DefaultPreemption for a group (`pkg/scheduler/framework/preemption/podgrouppreemption.go`, 1.37).

    All pods of lower priority are removed, everywhere, and the group is tried once on what is left. Then the victims
    are put back one by one, as long as the members still find room on the nodes that they have got.
    """
    group, members = found.group, found.members
    gated = GROUP_POLICY_GATE in state.cluster.facts.gates
    policies = [group.spec.preemption_policy] if gated else [pod.pod.spec.preemption_policy for pod in members]
    if "Never" in policies:
        return unschedulable(NEVER), None
    if _is_under_way(found, state):
        nominations = {pod.key: pod.pod.status.nominated_node_name for pod in members}
        return Status(Code.SUCCESS, (_ONGOING,)), GroupPreemption(nominations=nominations)
    units = [unit for unit in units_on(freed.nodes, freed) if unit.priority < group.priority]
    if not units:
        return unresolvable(_NOBODY), None
    emptied = freed.fork()
    emptied.apply(*(Evict(pod.key) for unit in units for pod in unit.pods))
    without = run_algorithm(cycle, group, members, emptied)
    if not without.is_placed:
        said = without.status
        return Status(said.code, (said.message,)), None
    assigned = _Assigned(cycle.profile, without.placed, emptied)
    split = split_by_budgets(by_importance(units), Budgets(state.cluster))
    victims = by_importance(unit for unit in (*split.violating, *split.others) if not assigned.leaves(unit))
    pods = [pod for unit in victims for pod in unit.pods]
    outcome = GroupPreemption(
        victims=victims,
        nominations={each.pod.key: each.node or "" for each in without.placed},
        budgets=split.split.uses(pods),
        breaking={pod.key: split.split.broken[pod] for pod in pods if pod in split.split.broken},
    )
    return Status(Code.SUCCESS, (f"found a placement for podgroup, preempting {len(pods)} victims",)), outcome


def _is_under_way(found: GroupResult, state: State) -> bool:
    """Whether victims of the group are on their way out of a node that a member is nominated to."""
    names = {pod.pod.status.nominated_node_name for pod in found.members} - {""}
    nodes = (node for name in names if (node := state.node(name)) is not None)
    return any(
        terminating_by_preemption(pod) and priority_of(pod.pod, state.cluster) < found.group.priority
        for node in nodes
        for pod in node.pods
    )


class _Assigned:
    """The cluster without the victims, with members on their nodes; victims return one by one (`reprieveVictim`)."""

    def __init__(self, profile: Profile, placed: Sequence[ScheduleResult], emptied: State) -> None:
        self._emptied = emptied
        self._nodes: dict[str, NodeInfo] = {}
        self._on: dict[str, list[_Assignment]] = {}
        work = emptied.fork()
        for each in placed:
            assert each.node is not None, "it was placed"
            self._on.setdefault(each.node, []).append(_Assignment(each.pod, Cycle(profile, each.pod, work.fork())))
            work.apply(Bind(each.pod.key, each.node, each.reserve(work.by_name[each.node])))
        self._followers = [plugin for there in self._on.values() for each in there for plugin in each.followers]
        #: Nodes with members whose filters look at other nodes as well.
        self._far = {name for name, there in self._on.items() if any(each.followers for each in there)}

    def leaves(self, unit: Unit) -> bool:
        """Whether the members still fit if the unit is put back; then it stays."""
        self._move(unit, came=True)
        touched = {pod.pod.spec.node_name for pod in unit.pods}
        asked = self._on if is_reference() else touched | self._far
        if all(map(self._fits, asked)):
            return True
        self._move(unit, came=False)
        return False

    def _move(self, unit: Unit, *, came: bool) -> None:
        for pod in unit.pods:
            node = self._node(pod.pod.spec.node_name)
            (node.add_pod if came else node.remove_pod)(pod)
            for plugin in self._followers:
                (plugin.add_pod if came else plugin.remove_pod)(pod, node)

    def _node(self, name: str) -> NodeInfo:
        """A copy that only this object may change."""
        node = self._nodes.get(name)
        if node is None:
            node = self._nodes[name] = self._emptied.by_name[name].clone()
        return node

    def _fits(self, name: str) -> bool:
        """Whether the members on the node fit there, one at a time."""
        members = self._on.get(name)
        if not members:
            return True
        node = self._node(name).clone()
        for each in members:
            if each.cycle.check(node, each.filters) is not None:
                return False
            node.add_pod(each.pod)
        return True


class _Assignment:
    """A member on its node, with its filters as they are once the members before it have their nodes."""

    def __init__(self, pod: PodInfo, cycle: Cycle) -> None:
        cycle.pre_filter()
        self.pod, self.cycle = pod, cycle
        self.filters: list[NamedFilter] = [
            (name, plugin.fork() if tracks_pods(plugin) else plugin) for name, plugin in cycle.filters
        ]
        self.followers = [plugin for _, plugin in self.filters if tracks_pods(plugin)]


_POLICY = "PreemptLowerPriority"


def attempt_group(cycle: GroupCycle, group: PodGroup, members: Sequence[PodInfo], state: State) -> GroupResult:
    """Do what kube-scheduler would do with the group if it were next in the queue.

    Args:
        cycle: the settings.
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
        return replace(found, status=failure(said.message))
    waits = said.code is Code.SUCCESS
    return replace(found, status=found.status.with_reason(said.message), preemption=preemption, waits_for_victims=waits)


def why_invalid(group: PodGroup, members: Sequence[PodInfo], state: State) -> str:
    """Why the group is not valid: its pods differ in a field; "" if they do not (`validatePodGroup`)."""
    bound = [pod for pod in state.members_of(key_of(group)).values() if pod.pod.spec.node_name]
    scheduler = members[0].pod.spec.scheduler_name
    gates = state.cluster.facts.gates
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
