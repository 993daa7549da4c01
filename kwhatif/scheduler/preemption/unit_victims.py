"""Victims on one node where pods are of groups: units go and stay as a whole (`SelectVictimsOnNode`, since 1.37).

Follows `pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go`. A group that is evicted as a whole
may have pods elsewhere, too: filters that look at other nodes learn that they go, the other nodes stay as they are.
"""

from __future__ import annotations

from kwhatif.kube.matching.groups import has_groups
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.filters import NamedFilter
from kwhatif.scheduler.framework.incremental import tracks_pods
from kwhatif.scheduler.framework.status import Verdict, error
from kwhatif.scheduler.preemption.budgets import Budgets
from kwhatif.scheduler.preemption.candidate import Candidate, Reprieval
from kwhatif.scheduler.preemption.dry_run import as_node_status
from kwhatif.scheduler.preemption.policy import Policy, PolicySince137
from kwhatif.scheduler.preemption.units import Unit, by_importance, split_by_budgets, units_on
from kwhatif.scheduler.preemption.victims import NO_VICTIMS, VictimSearch
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo


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
