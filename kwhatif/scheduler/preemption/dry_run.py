"""`DryRun`: removes pods from a copy of a node, and puts them back one at a time, with all filters."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.filters import NamedFilter, run_filters
from kwhatif.scheduler.framework.incremental import is_affected, is_relaxing, tracks_pods
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.scheduler.framework.status import SUCCESS, Code, Verdict, error
from kwhatif.scheduler.preemption.budgets import Budgets, Split
from kwhatif.scheduler.preemption.candidate import Candidate
from kwhatif.scheduler.preemption.policy import Policy, PolicySince137
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import PodRow

#: For how many priorities emptied nodes are cached: the priority of the workload whose pods are being scheduled, and of
#: one other workload whose pods are scheduled in between. Each additional priority needs a copy of every node.
_KEPT = 2
#: The key of the lowest priority of a node's pods, in the node's cache.
_LOWEST = "lowest priority"


class EmptiedNode:
    """A node without its evictable pods, and cached results for pods that would be placed on it.

    It is cached with the node, by the priority of the preemptor: it stays valid until a pod of the node is added or
    removed, or a budget of its pods changes.
    """

    __slots__ = ("answers", "generation", "node", "ordered", "original", "removed", "reprieve_order", "scopes", "split")

    def __init__(
        self,
        node: NodeInfo,
        original: NodeInfo,
        removed: Sequence[PodInfo],
        ordered: Sequence[PodInfo],
        budgets: Budgets,
    ) -> None:
        #: The node without the evictable pods. It is shared: copy it before adding pods.
        self.node = node
        self.original = original
        #: The evictable pods in the node's order.
        self.removed = removed
        #: The evictable pods by importance.
        self.ordered = ordered
        #: The effect of the evictions on budgets, valid for `generation` of the budgets.
        self.split: Split = budgets.split(ordered)
        self.generation = budgets.generation
        #: The evictable pods in the order in which they are put back: pods that break a budget first.
        self.reprieve_order = PodRow((*self.split.violating, *self.split.others))
        #: Cached results, by everything except the node that they depend on.
        self.answers: dict[Hashable, object] = {}
        #: Candidates for this node, each with the range of requests for which it is valid (`NodeFilter.in_scope`).
        self.scopes: Sequence[tuple[object, Candidate]] = ()

    def judged_by(self, budgets: Budgets) -> EmptiedNode:
        """The emptied node for these budgets: this object, if the budgets of its pods allow as much as before."""
        if self.generation != budgets.generation:
            if not self.split.allowed.items() <= budgets.allowed.items():
                return EmptiedNode(self.node, self.original, self.removed, self.ordered, budgets)
            self.generation = budgets.generation
        return self


class Emptying:
    """Removes the evictable pods from nodes, for one preemptor."""

    def __init__(self, cycle: Cycle, policy: Policy, budgets: Budgets) -> None:
        """Set up.

        Args:
            cycle: the scheduling cycle of the preemptor.
            policy: decides which pods may be evicted.
            budgets: the current budgets.
        """
        self._pod = cycle.pod
        self._policy = policy
        self._budgets = budgets
        # A custom policy may read anything, so its results are not cached.
        is_known = type(policy) in (Policy, PolicySince137) and not is_reference()
        self._key = (budgets.scope, self._pod.priority) if is_known else None

    def of(self, node: NodeInfo) -> EmptiedNode | None:
        """The node without the pods that may be evicted; None if no pod may be evicted."""
        key = self._key
        if key is None:
            return self._empty(node)
        memos = node.memos
        if memos is None:
            memos = node.memos = {}
        lowest: int | None = memos.get(_LOWEST)
        if lowest is None:
            lowest = memos[_LOWEST] = min([pod.priority for pod in node.pods], default=self._pod.priority)
        if lowest >= self._pod.priority:
            return None
        kept: dict[object, EmptiedNode] | None = memos.get(EmptiedNode)
        if kept is None:
            kept = memos[EmptiedNode] = {}
        known = kept.get(key)
        found = self._empty(node) if known is None else known.judged_by(self._budgets)
        if found is not None and found is not known:
            if known is None and len(kept) >= _KEPT:
                kept.clear()
            kept[key] = found
        return found

    def _empty(self, node: NodeInfo) -> EmptiedNode | None:
        policy = self._policy
        removed = policy.potential_victims(self._pod, node)
        if not removed:
            return None
        return EmptiedNode(node.clone_without(removed), node, removed, policy.by_importance(removed), self._budgets)


def as_node_status(objection: Verdict) -> Verdict:
    """The objection, as it is recorded for a node that is not a candidate."""
    if objection.status.code is not Code.ERROR:
        return objection
    return Verdict(error(f'running "{objection.plugin}" filter plugin: {objection.status.message}'), objection.plugin)


class DryRun:
    """Finds the pods that can stay, on copies of the node and of filters that track pods, so nothing must be undone."""

    def __init__(self, cycle: Cycle, emptied: EmptiedNode) -> None:
        self._cycle = cycle
        self._before = emptied.original
        self._node = emptied.node
        self._filters: list[NamedFilter] = []
        self._followers: list[NodeFilter] = []
        #: Filters whose result the evictable pods can change; all other filters accept the preemptor in any case.
        self._volatile: list[NamedFilter] = []
        nominated = cycle.nominated_on(emptied.original)
        self._crowded = bool(nominated)
        for named in cycle.filters:
            self._take(named, emptied.removed)
        #: The node with the nominated pods, unless they must be added again for every check.
        self._crowd = _Crowd(emptied.node, nominated, self._filters) if nominated and _is_known(cycle) else None

    def _take(self, named: NamedFilter, removed: Sequence[PodInfo]) -> None:
        name, plugin = named
        if plugin.reads is Reads.CLUSTER and not is_affected(plugin, self._before, removed):
            self._filters.append(named)
            return
        if tracks_pods(plugin):
            plugin = plugin.fork()
            for pod in removed:
                plugin.remove_pod(pod, self._node)
            self._followers.append(plugin)
        self._filters.append((name, plugin))
        if plugin.reads >= Reads.PODS and not self._is_content(plugin):
            self._volatile.append((name, plugin))

    def _is_content(self, plugin: NodeFilter) -> bool:
        """Whether the filter accepts the preemptor beside all pods, and so also beside fewer pods."""
        return (
            is_relaxing(plugin)
            and plugin.reads is Reads.PODS
            and not self._crowded
            and plugin.filter(self._before) is SUCCESS
        )

    def objection(self) -> Verdict | None:
        """Why the preemptor does not fit on the current node, checked with all filters; None if it fits."""
        objection = self._ask(self._filters, self._crowd.filters if self._crowd else ())
        return None if objection is None else as_node_status(objection)

    def reprieve(self, pods: Sequence[PodInfo]) -> dict[PodInfo, Verdict]:
        """Put the pods back in order, except the pods beside which the preemptor does not fit.

        Returns:
            The pods that were not put back, each with the reason.
        """
        self._node = self._node.clone()
        places = [(self._node, self._followers)]
        volatile: Sequence[NamedFilter] = ()
        if self._crowd is not None:
            places.append((self._crowd.node, self._crowd.followers))
            names = {name for name, _ in self._volatile}
            volatile = [named for named in self._crowd.filters if named[0] in names]
        refused = {}
        for pod in pods:
            for node, followers in places:
                node.add_pod(pod)
                for plugin in followers:
                    plugin.add_pod(pod, node)
            objection = self._ask(self._volatile, volatile)
            if objection is not None:
                refused[pod] = objection
                for node, followers in places:
                    node.remove_pod(pod)
                    for plugin in followers:
                        plugin.remove_pod(pod, node)
        return refused

    def _ask(self, filters: Sequence[NamedFilter], crowded: Sequence[NamedFilter]) -> Verdict | None:
        if self._crowd is not None:
            return run_filters(crowded, self._crowd.node) or run_filters(filters, self._node)
        if self._crowded:
            return self._cycle.check(self._node, filters)
        return run_filters(filters, self._node)


def _is_known(cycle: Cycle) -> bool:
    """Whether all plugins are independent of the order in which pods are added and removed.

    QUIRK: (types.go, HostPortInfo) if two pods use the same port, removing one pod frees the port. That does not
    matter here: if a nominated pod uses a port of the preemptor, the preemptor is rejected anyway.
    """
    return not is_reference() and not cycle.profile.has_custom_plugins


class _Crowd:
    """A copy of a node with its nominated pods added, and filters that have counted them."""

    def __init__(self, node: NodeInfo, nominated: Sequence[PodInfo], filters: Sequence[NamedFilter]) -> None:
        self.node = node.clone()
        self.filters = [(name, plugin.fork()) for name, plugin in filters]
        #: The filters that track pods.
        self.followers = [plugin for _, plugin in self.filters if tracks_pods(plugin)]
        for pod in nominated:
            self.node.add_pod(pod)
            for plugin in self.followers:
                plugin.add_pod(pod, self.node)
