"""Victims on one node if pods belong to groups, evicted or kept as a whole (`SelectVictimsOnNode`, since 1.37).

Follows `pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go`, and `types.go` and `util.go` of
`pkg/scheduler/framework/preemption`. A group that is evicted as a whole may also have pods elsewhere: filters that look
at other nodes see them leave, and the other nodes stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import msgspec

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod_group import PodGroup, group_of, has_groups, priority_of
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.filters import NamedFilter
from kwhatif.scheduler.framework.incremental import tracks_pods
from kwhatif.scheduler.framework.status import Verdict, error
from kwhatif.scheduler.preemption.budgets import Budgets, Split
from kwhatif.scheduler.preemption.candidate import Candidate, Reprieval
from kwhatif.scheduler.preemption.dry_run import as_node_status
from kwhatif.scheduler.preemption.policy import Policy, PolicySince137
from kwhatif.scheduler.preemption.victims import NO_VICTIMS, VictimSearch
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: Stands for the start of a pod that has not started. Upstream takes the current time; nothing that started is later.
_NOT_STARTED = 2**63


class Unit(msgspec.Struct, frozen=True, eq=False):
    """Pods that are evicted together or not at all: a single pod, or all pods of a group (`NewVictim`)."""

    pods: tuple[PodInfo, ...]
    #: That of the group, if there is one.
    priority: int
    #: Whether its pods are of a group, be they evicted one by one: then it is more important than a single pod.
    is_of_group: bool
    #: The key of the group that goes as a whole; "" for a pod.
    group: str = ""

    @property
    def start(self) -> int:
        """When the first of its pods has started."""
        return min(_NOT_STARTED if pod.start_time is None else pod.start_time for pod in self.pods)


def units_on(nodes: Iterable[NodeInfo], state: State) -> list[Unit]:
    """All units with pods on these nodes, in the order of the nodes; their other pods may be on others.

    Pods on nodes that do not exist are left out: upstream fails for them.
    """
    cluster, by_name = state.cluster, state.by_name
    found: list[Unit] = []
    seen: set[str] = set()
    for pod in chain.from_iterable(node.pods for node in nodes):
        key = group_of(pod.pod)
        group = cluster.get(PodGroup, key) if key else None
        if group is None or not group.is_evicted_whole:
            found.append(Unit((pod,), priority_of(pod.pod, cluster), pod.pod.spec.scheduling_group is not None))
        elif key not in seen:
            seen.add(key)
            members = state.members_of(key).values()
            pods = tuple(each for each in members if each.pod.spec.node_name in by_name)
            found.append(Unit(pods, group.priority, is_of_group=True, group=key))
    return found


def by_importance(units: Iterable[Unit]) -> list[Unit]:
    """The most important first: priority, then groups, then more pods, then the earlier start."""
    return sorted(units, key=lambda unit: (-unit.priority, not unit.is_of_group, -len(unit.pods), unit.start))


class SplitUnits(msgspec.Struct, frozen=True):
    """Units of which a pod breaks a budget, and the others; both by importance."""

    violating: Sequence[Unit]
    others: Sequence[Unit]
    #: What the budgets say of their pods.
    split: Split

    def violations(self, units: Iterable[Unit]) -> int:
        """How many pods of these units break a budget."""
        return sum(pod in self.split.broken for unit in units for pod in unit.pods)


def split_by_budgets(units: Sequence[Unit], budgets: Budgets) -> SplitUnits:
    """Count the budgets over all pods of the units, in their order: who breaks one takes the whole unit along."""
    split = budgets.split([pod for unit in units for pod in unit.pods])
    violating = [unit for unit in units if any(pod in split.broken for pod in unit.pods)]
    spared = set(map(id, violating))
    return SplitUnits(violating, [unit for unit in units if id(unit) not in spared], split)


def goes_by_units(cluster: Cluster) -> bool:
    """Whether there are groups whose pods may have to go together."""
    return bool(cluster.all(PodGroup)) and has_groups(cluster)


def victim_search(cycle: Cycle, policy: Policy, budgets: Budgets) -> VictimSearch:
    """What finds the victims of the cycle's pod: by units where the cluster has groups.

    A policy of your own says itself whom a pod may evict, pod by pod.
    """
    by_units = type(policy) in (Policy, PolicySince137) and goes_by_units(cycle.state.cluster)
    return (UnitSearch if by_units else VictimSearch)(cycle, policy, budgets)


class UnitSearch(VictimSearch):
    """Finds the units that have to go, node by node."""

    def on(self, node: NodeInfo) -> Candidate | Verdict:
        """The victims on the node, or why evicting pods there does not help."""
        state, priority = self._cycle.state, self._cycle.pod.priority
        units = [unit for unit in units_on((node,), state) if unit.priority < priority]
        if not units:
            return NO_VICTIMS
        room = _Room(self._cycle, node)
        for unit in units:
            room.remove(unit)
        objection = room.objection()
        if objection is not None:
            return objection
        split = split_by_budgets(by_importance(units), self._budgets)
        victims: list[Unit] = []
        objections: dict[PodInfo, Verdict] = {}
        for unit in (*split.violating, *split.others):
            room.add(unit)
            objection = room.objection()
            if objection is not None:
                room.remove(unit)
                victims.append(unit)
                objections.update(dict.fromkeys(unit.pods, objection))
        if not victims:
            return Verdict(error(f'expected at least one victim pod on node "{node.name}"'))
        if split.violating and split.others:
            victims = by_importance(victims)
        pods = [pod for unit in victims for pod in unit.pods]
        tried = [pod for unit in (*split.violating, *split.others) for pod in unit.pods]
        reprieval = Reprieval(tried, pods, lambda: objections)
        return self._candidate(node, pods, split.violations(victims), split.split, reprieval)


class _Room:
    """The node, and the filters that follow pods, while units go and come back."""

    def __init__(self, cycle: Cycle, node: NodeInfo) -> None:
        self._cycle = cycle
        self._node = node.clone()
        self._filters: list[NamedFilter] = [
            (name, plugin.fork() if tracks_pods(plugin) else plugin) for name, plugin in cycle.filters
        ]

    def remove(self, unit: Unit) -> None:
        for pod in unit.pods:
            node = self._node_of(pod)
            if node is self._node:
                node.remove_pod(pod)
            for _, plugin in self._filters:
                if tracks_pods(plugin):
                    plugin.remove_pod(pod, node)

    def add(self, unit: Unit) -> None:
        for pod in unit.pods:
            node = self._node_of(pod)
            if node is self._node:
                node.add_pod(pod)
            for _, plugin in self._filters:
                if tracks_pods(plugin):
                    plugin.add_pod(pod, node)

    def objection(self) -> Verdict | None:
        objection = self._cycle.check(self._node, self._filters)
        return None if objection is None else as_node_status(objection)

    def _node_of(self, pod: PodInfo) -> NodeInfo:
        name = pod.pod.spec.node_name
        return self._node if name == self._node.name else self._cycle.state.by_name[name]
