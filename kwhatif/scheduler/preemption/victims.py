"""Victims on one node: evict all, then put back all pods that still fit (`SelectVictimsOnNode`).

Follows `pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go`. Since 1.37 a pod group can be evicted
or kept as a whole (`types.go` and `util.go` of `pkg/scheduler/framework/preemption`). Such a group may also have pods
on other nodes: filters that track pods see that these pods are removed, but the other nodes themselves are unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import cast

import msgspec
from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod_group import PodGroup, group_of, has_groups, priority_of
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.extender import ExtenderVictims
from kwhatif.scheduler.framework.filters import NamedFilter
from kwhatif.scheduler.framework.incremental import Reprieving, is_affected, is_relaxing, tracks_pods
from kwhatif.scheduler.framework.plugin import Reads
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.scheduler.framework.status import SUCCESS, Code, Status, Verdict, error, unresolvable
from kwhatif.scheduler.preemption.budgets import Budgets, Split
from kwhatif.scheduler.preemption.candidate import NOT_TRIED, Candidate, Reprieval
from kwhatif.scheduler.preemption.dry_run import DryRun, EmptiedNode, Emptying, as_node_status
from kwhatif.scheduler.preemption.policy import Policy, PolicySince137
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: For how many signatures each node caches results: the signature of the workload whose pods are being scheduled, and
#: of one other workload whose pods are scheduled in between.
_KEPT = 2

AfterReprieves = Callable[[EmptiedNode, Reprieval], Candidate | Verdict]


class _Answer:
    """The filter's result for a node without all evictable pods, and the result of putting them back."""

    __slots__ = ("found", "status")

    def __init__(self, status: Status) -> None:
        self.status = status
        #: None: not computed yet.
        self.found: Candidate | Verdict | None = None


class SoleFilter:
    """A fast path for one cycle, for nodes where a single filter decides which pods can stay.

    Usually that is the filter for resource requests. As it reads only the node, it need not be tried together with the
    other filters. Its results are cached, because workloads often have similar requests.
    """

    def __init__(self, cycle: Cycle, name: str, decides: Reprieving) -> None:
        self._cycle = cycle
        self._name = name
        self._decides = decides
        self._signature: Hashable = name, decides.signature

    def on(self, emptied: EmptiedNode, settle: AfterReprieves) -> Candidate | Verdict | None:
        """The candidate, or why the node is not a candidate; None: other filters matter as well.

        Args:
            emptied: the node.
            settle: makes this result from the result of putting the node's pods back.
        """
        node = emptied.original
        if self._cycle.nominated_on(node):
            return None
        answer = self._answer(emptied)
        for name, plugin in self._cycle.filters:
            if plugin is self._decides:
                status = answer.status
            elif plugin.reads is Reads.CLUSTER and is_affected(plugin, node, emptied.removed):
                return None
            else:
                status = plugin.filter(node)
            if status is not SUCCESS and status.code is not Code.SUCCESS:
                if plugin.reads is Reads.PODS and plugin is not self._decides:
                    return None  # the filter may accept the preemptor after pods are removed
                return as_node_status(Verdict(status, name))
        if answer.found is None:
            answer.found = self._reprieve(emptied, settle)
        return answer.found

    def _answer(self, emptied: EmptiedNode) -> _Answer:
        answer = cast("_Answer | None", emptied.answers.get(self._signature))
        if answer is None:
            if len(emptied.answers) >= _KEPT:
                emptied.answers.clear()
            answer = emptied.answers[self._signature] = _Answer(self._decides.filter(emptied.node))
        return answer

    def _reprieve(self, emptied: EmptiedNode, settle: AfterReprieves) -> Candidate | Verdict | None:
        plugin = self._decides
        for scope, known in emptied.scopes:
            if plugin.has_same_answer(scope):
                return replace(known, reprieval=self._reprieval(emptied, known.reprieval.refused))
        found = plugin.reprieve_all(emptied.reprieve_order, emptied.node)
        if found is None:
            return None
        settled = settle(emptied, self._reprieval(emptied, found.refused))
        if isinstance(settled, Candidate):
            emptied.scopes = [*emptied.scopes[1 - _KEPT :], (found.scope, settled)]
        return settled

    def _reprieval(self, emptied: EmptiedNode, refused: Sequence[PodInfo]) -> Reprieval:
        pods = emptied.reprieve_order.pods
        return Reprieval(pods, refused, partial(_objections, self._name, self._decides, pods, refused, emptied.node))


def sole_filter_of(cycle: Cycle) -> SoleFilter | None:
    """The fast path, if only one filter depends on the node's pods; None if removing pods may change other filters."""
    if is_reference():
        return None
    decides: list[tuple[str, Reprieving]] = []
    for name, plugin in cycle.filters:
        if plugin.reads < Reads.PODS:
            continue
        if isinstance(plugin, Reprieving) and not tracks_pods(plugin):
            decides.append((name, plugin))
        elif plugin.reads is not Reads.CLUSTER and not is_relaxing(plugin):
            return None
    return SoleFilter(cycle, *decides[0]) if len(decides) == 1 else None


def _objections(
    name: str, plugin: Reprieving, pods: Sequence[PodInfo], refused: Sequence[PodInfo], node: NodeInfo
) -> dict[PodInfo, Verdict]:
    return {pod: Verdict(status, name) for pod, status in plugin.statuses_with(pods, refused, node).items()}


NO_VICTIMS = Verdict(unresolvable("No preemption victims found for incoming pod"))


class VictimSearch:
    """Finds the victims of one pod, one node at a time."""

    def __init__(self, cycle: Cycle, policy: Policy, budgets: Budgets) -> None:
        self._cycle = cycle
        self._policy = policy
        self._budgets = budgets
        self._emptying = Emptying(cycle, policy, budgets)
        self._sole_filter = sole_filter_of(cycle)

    def on(self, node: NodeInfo) -> Candidate | Verdict:
        """The victims on the node, or why evicting pods there does not help."""
        emptied = self._emptying.of(node)
        if emptied is None:
            return NO_VICTIMS
        found = self._sole_filter and self._sole_filter.on(emptied, self._settle)
        return found or self._try(emptied)

    def _try(self, emptied: EmptiedNode) -> Candidate | Verdict:
        dry_run = DryRun(self._cycle, emptied)
        objection = dry_run.objection()
        if objection is not None:
            return objection
        refused = dry_run.reprieve(emptied.reprieve_order.pods)
        return self._settle(emptied, Reprieval(emptied.reprieve_order.pods, list(refused), partial(dict, refused)))

    def _settle(self, emptied: EmptiedNode, reprieval: Reprieval) -> Candidate | Verdict:
        victims, split = reprieval.refused, emptied.split
        if not victims:
            return Verdict(error(f'expected at least one victim pod on node "{emptied.original.name}"'))
        violations = sum([pod in split.broken for pod in victims]) if split.violating else 0
        if split.violating and split.others:
            victims = self._policy.by_importance(victims)
        return self._candidate(emptied.original, victims, violations, split, reprieval)

    def adopt(self, node: NodeInfo, proposal: ExtenderVictims, found: Candidate | None) -> Candidate:
        """The candidate for an extender's proposal; `found` is the candidate without extenders, if the node is one."""
        if found is not None and (tuple(found.pods), found.pdb_violations) == (proposal.pods, proposal.pdb_violations):
            return found
        split = self._budgets.split(proposal.pods)
        reprieval = NOT_TRIED if found is None else found.reprieval
        return self._candidate(node, proposal.pods, proposal.pdb_violations, split, reprieval)

    def _candidate(
        self, node: NodeInfo, victims: Sequence[PodInfo], violations: int, split: Split, reprieval: Reprieval
    ) -> Candidate:
        rank = self._policy.rank(node, victims, violations)
        return Candidate(node.name, victims, violations, rank, split, reprieval)


#: The start time of a pod that has not started: upstream uses the current time, which is later than all others.
_NOT_STARTED = 2**63


class Unit(msgspec.Struct, frozen=True, eq=False):
    """Pods that are evicted together or not at all: a single pod, or all pods of a group (`NewVictim`)."""

    pods: tuple[PodInfo, ...]
    #: The group's priority, if there is a group.
    priority: int
    #: Whether its pods are in a group, even one whose pods are evicted one by one. It ranks above a single pod.
    is_of_group: bool
    #: The key of the group that is evicted as a whole; "" for a single pod.
    group: str = ""

    @property
    def start(self) -> int:
        """The earliest start time of its pods."""
        return min(_NOT_STARTED if pod.start_time is None else pod.start_time for pod in self.pods)


def units_on(nodes: Iterable[NodeInfo], state: State) -> list[Unit]:
    """All units with pods on these nodes, in the order of the nodes; pods of a unit may also be on other nodes.

    Pods of a group on nodes that do not exist are left out: upstream fails for these pods.
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
    """The most important unit first: by priority, then groups first, then more pods, then the earlier start."""
    return sorted(units, key=lambda unit: (-unit.priority, not unit.is_of_group, -len(unit.pods), unit.start))


class SplitUnits(msgspec.Struct, frozen=True):
    """Units with a pod that breaks a budget, and the others; both by importance."""

    violating: Sequence[Unit]
    others: Sequence[Unit]
    #: The budgets that select pods of these units.
    split: Split

    def violations(self, units: Iterable[Unit]) -> int:
        """The number of pods of `units` that break a budget."""
        return sum(pod in self.split.broken for unit in units for pod in unit.pods)


def split_by_budgets(units: Sequence[Unit], budgets: Budgets) -> SplitUnits:
    """Split the units, with the evictions of all pods counted in order: one pod that breaks a budget is enough."""
    split = budgets.split([pod for unit in units for pod in unit.pods])
    violating = [unit for unit in units if any(pod in split.broken for pod in unit.pods)]
    spared = set(map(id, violating))
    return SplitUnits(violating, [unit for unit in units if id(unit) not in spared], split)


def goes_by_units(cluster: Cluster) -> bool:
    """Whether there are groups whose pods may have to be evicted together."""
    return bool(cluster.all(PodGroup)) and has_groups(cluster)


def victim_search(cycle: Cycle, policy: Policy, budgets: Budgets) -> VictimSearch:
    """The search for victims of the cycle's pod: by units if the cluster has groups.

    A custom policy decides for each pod separately, so it is not used with units.
    """
    by_units = type(policy) in (Policy, PolicySince137) and goes_by_units(cycle.state.cluster)
    return (UnitSearch if by_units else VictimSearch)(cycle, policy, budgets)


class UnitSearch(VictimSearch):
    """Finds the units that must be evicted, one node at a time."""

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
    """A copy of the node, and of the filters that track pods, while units are removed and put back."""

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
