"""Victims on one node: evict all, then put back whoever still fits (`SelectVictimsOnNode`).

Follows `pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go`. Every node is tried on copies, of
the node and of the filters that follow pods; copies are thrown away, never undone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwhatif.framework.cycle import Cycle
from kwhatif.framework.extender import ExtenderVictims
from kwhatif.framework.filters import NamedFilter, run_filters
from kwhatif.framework.plugin import NodeFilter, Reads
from kwhatif.framework.status import SUCCESS, Code, Verdict, error, unresolvable
from kwhatif.preemption.budgets import Budgets, Split
from kwhatif.preemption.candidate import Candidate, Victim
from kwhatif.preemption.emptied import Emptied, emptied
from kwhatif.preemption.policy import Policy
from kwhatif.preemption.recall import Recall
from kwhatif.snapshot.node_info import NodeInfo
from kwhatif.snapshot.pod_info import PodInfo

NO_VICTIMS = Verdict(unresolvable("No preemption victims found for incoming pod"))


def _follows_pods(plugin: NodeFilter) -> bool:
    kind = type(plugin)
    return kind.add_pod is not NodeFilter.add_pod or kind.remove_pod is not NodeFilter.remove_pod


class VictimSearch:
    """Finds the victims of one pod, node by node."""

    def __init__(self, cycle: Cycle, policy: Policy, budgets: Budgets) -> None:
        self._cycle = cycle
        self._policy = policy
        self._budgets = budgets
        #: Nobody knows what a policy of your own looks at.
        self._remember = cycle.snapshot.remembers and type(policy) is Policy
        self._recall = Recall(cycle, remember=self._remember)

    def on(self, node: NodeInfo) -> Candidate | Verdict:
        """The victims on the node, or why evicting pods there does not help."""
        without = emptied(node, self._cycle.pod, self._policy, self._budgets, remember=self._remember)
        if without is None:
            return NO_VICTIMS
        known = self._recall.on(without)
        if known is None:
            return self._try(without)
        return _as_node_status(known) if isinstance(known, Verdict) else known

    def _try(self, without: Emptied) -> Candidate | Verdict:
        trial = _Trial(self._cycle, without)
        objection = trial.objection()
        if objection is not None:
            if objection.plugin == self._recall.asked and trial.hangs_on(objection.plugin):
                self._recall.keep(without, objection.status)
            return _as_node_status(objection)
        refused = trial.put_back(without.tried)
        if not refused:
            return Verdict(error(f'expected at least one victim pod on node "{without.whole.name}"'))
        victims = list(refused)
        split = without.split
        violations = sum([pod in split.broken for pod in victims])
        if split.violating and split.others:
            victims = self._policy.by_importance(victims)
        found = self._candidate(without.whole, victims, violations, split, (without.tried, refused))
        if trial.hangs_on(self._recall.asked):
            self._recall.keep(without, SUCCESS, found)
        return found

    def adopt(self, node: NodeInfo, proposal: ExtenderVictims, found: Candidate | None) -> Candidate:
        """The candidate that an extender makes of the one that was found on the node, if any was."""
        if found is not None and (found.pods, found.pdb_violations) == (proposal.pods, proposal.pdb_violations):
            return found
        split = self._budgets.split(proposal.pods)
        story = ((), {}) if found is None else (found.tried, found.refused)
        return self._candidate(node, proposal.pods, proposal.pdb_violations, split, story)

    def _candidate(
        self,
        node: NodeInfo,
        victims: Sequence[PodInfo],
        violations: int,
        split: Split,
        story: tuple[Sequence[PodInfo], Mapping[PodInfo, Verdict]],
    ) -> Candidate:
        counting, broken = split.counting, split.broken
        return Candidate(
            node.name,
            tuple([Victim(pod, counting.get(pod, ()), broken.get(pod, ())) for pod in victims]),
            violations,
            self._policy.rank(node, victims, violations),
            self._budgets.uses([counting[pod] for pod in victims if pod in counting]) if counting else (),
            *story,
        )


class _Trial:
    """A copy of a node from which pods were removed, and to which they return, with filters that follow them."""

    def __init__(self, cycle: Cycle, without: Emptied) -> None:
        self._cycle = cycle
        self._before = without.whole
        self._node = without.node
        self._filters: list[NamedFilter] = []
        self._followers: list[NodeFilter] = []
        #: Filters whose answer these pods can change: once the others let the preemptor pass, they always will.
        self.volatile: list[NamedFilter] = []
        self._crowded = bool(cycle.nominated_on(without.whole))
        for named in cycle.filters:
            self._take(named, without.removed)

    def _take(self, named: NamedFilter, removed: Sequence[PodInfo]) -> None:
        name, plugin = named
        if plugin.reads is Reads.CLUSTER and not (plugin.heeds_on(self._before) and any(map(plugin.heeds, removed))):
            self._filters.append(named)
            return
        if _follows_pods(plugin):
            plugin = plugin.fork()
            for pod in removed:
                plugin.remove_pod(pod, self._node)
            self._followers.append(plugin)
        self._filters.append((name, plugin))
        if plugin.reads >= Reads.PODS and not self._is_content(plugin):
            self.volatile.append((name, plugin))

    def _is_content(self, plugin: NodeFilter) -> bool:
        """Whether the filter has nothing against the preemptor with all pods in place: then never with fewer."""
        return (
            plugin.monotone
            and plugin.reads is Reads.PODS
            and not self._crowded
            and not self._before.wide
            and plugin.filter(self._before) is SUCCESS
        )

    def _remove(self, pod: PodInfo) -> None:
        self._node.remove_pod(pod)
        for plugin in self._followers:
            plugin.remove_pod(pod, self._node)

    def hangs_on(self, name: str) -> bool:
        """Whether no filter but that one says different things with different pods on the node."""
        return len(self.volatile) == 1 and self.volatile[0][0] == name and not self._crowded

    def objection(self) -> Verdict | None:
        """What keeps the preemptor out of the node as it is now; all filters are asked."""
        return self._ask(self._filters)

    def put_back(self, pods: Sequence[PodInfo]) -> dict[PodInfo, Verdict]:
        """Put the pods back one after another, but for those that the preemptor has no room beside; returns these."""
        if len(self.volatile) == 1 and not self._crowded:
            name, plugin = self.volatile[0]
            refused = plugin.readmit(pods, self._node)
            if refused is not None:
                return {pod: Verdict(status, name) for pod, status in refused.items()}
        return self._try_out(pods)

    def _try_out(self, pods: Sequence[PodInfo]) -> dict[PodInfo, Verdict]:
        self._node = self._node.clone()
        refused = {}
        for pod in pods:
            self._node.add_pod(pod)
            for plugin in self._followers:
                plugin.add_pod(pod, self._node)
            objection = self._ask(self.volatile)
            if objection is not None:
                self._remove(pod)
                refused[pod] = objection
        return refused

    def _ask(self, filters: Sequence[NamedFilter]) -> Verdict | None:
        if self._crowded:
            return self._cycle.check(self._node, filters)
        return run_filters(filters, self._node)


def _as_node_status(objection: Verdict) -> Verdict:
    if objection.status.code is not Code.ERROR:
        return objection
    return Verdict(error(f'running "{objection.plugin}" filter plugin: {objection.status.message}'), objection.plugin)
