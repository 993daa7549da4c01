"""`DryRun`: a node from which pods were removed, and to which they return one by one, with all filters."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.filters import NamedFilter, run_filters
from kwhatif.scheduler.framework.guard import GuardedPlugin
from kwhatif.scheduler.framework.incremental import is_affected, is_relaxing, tracks_pods
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.scheduler.framework.status import SUCCESS, Code, Verdict, error
from kwhatif.scheduler.preemption.emptied_node import EmptiedNode
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo


def as_node_status(objection: Verdict) -> Verdict:
    """The objection as it is recorded for a node without candidate."""
    if objection.status.code is not Code.ERROR:
        return objection
    return Verdict(error(f'running "{objection.plugin}" filter plugin: {objection.status.message}'), objection.plugin)


class DryRun:
    """Tries out who can stay, on copies of the node and of the filters that follow pods: nothing is ever undone."""

    def __init__(self, cycle: Cycle, emptied: EmptiedNode) -> None:
        self._cycle = cycle
        self._before = emptied.whole
        self._node = emptied.node
        self._filters: list[NamedFilter] = []
        self._followers: list[NodeFilter] = []
        #: Filters whose answer these pods can change: once the others let the preemptor pass, they always will.
        self._volatile: list[NamedFilter] = []
        nominated = cycle.nominated_on(emptied.whole)
        self._crowded = bool(nominated)
        for named in cycle.filters:
            self._take(named, emptied.removed)
        #: The node with the nominated pods, where these need not be added again for every question.
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
        """Whether the filter has nothing against the preemptor with all pods in place: then never with fewer."""
        return (
            is_relaxing(plugin)
            and plugin.reads is Reads.PODS
            and not self._crowded
            and plugin.filter(self._before) is SUCCESS
        )

    def objection(self) -> Verdict | None:
        """What keeps the preemptor out of the node as it is now; all filters are asked."""
        objection = self._ask(self._filters, self._crowd.filters if self._crowd else ())
        return None if objection is None else as_node_status(objection)

    def reprieve(self, pods: Sequence[PodInfo]) -> dict[PodInfo, Verdict]:
        """Put the pods back one after another, but for those that the preemptor has no room beside.

        Returns:
            These, and what it ran into.
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
    """Whether no plugin can tell in which order pods come and go.

    QUIRK: (types.go, HostPortInfo) a port that two pods hold is free as soon as one of them goes. That does not matter:
    a pod whose ports a nominated one holds is kept out whoever goes.
    """
    return not is_reference() and not any(isinstance(plugin, GuardedPlugin) for plugin in cycle.profile.plugins)


class _Crowd:
    """A node as it is once the pods that are nominated to it are there, too, and filters that have seen them come."""

    def __init__(self, node: NodeInfo, nominated: Sequence[PodInfo], filters: Sequence[NamedFilter]) -> None:
        self.node = node.clone()
        self.filters = [(name, plugin.fork()) for name, plugin in filters]
        #: Those among them that follow which pods come and go.
        self.followers = [plugin for _, plugin in self.filters if tracks_pods(plugin)]
        for pod in nominated:
            self.node.add_pod(pod)
            for plugin in self.followers:
                plugin.add_pod(pod, self.node)
