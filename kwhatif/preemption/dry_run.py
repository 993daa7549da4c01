"""`DryRun`: a node from which pods were removed, and to which they return one by one, with all filters."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.framework.cycle import Cycle
from kwhatif.framework.filters import NamedFilter, run_filters
from kwhatif.framework.incremental import is_affected, is_relaxing, tracks_pods
from kwhatif.framework.plugin import NodeFilter, Reads
from kwhatif.framework.status import SUCCESS, Code, Verdict, error
from kwhatif.preemption.emptied_node import EmptiedNode
from kwhatif.state.pod_info import PodInfo


def as_node_status(objection: Verdict) -> Verdict:
    """The objection as it is recorded for a node without candidate."""
    if objection.status.code is not Code.ERROR:
        return objection
    return Verdict(error(f'running "{objection.plugin}" filter plugin: {objection.status.message}'), objection.plugin)


class DryRun:
    """See the module. Copies, of the node and of the filters that follow pods, are thrown away, never undone."""

    def __init__(self, cycle: Cycle, emptied: EmptiedNode) -> None:
        self._cycle = cycle
        self._before = emptied.whole
        self._node = emptied.node
        self._filters: list[NamedFilter] = []
        self._followers: list[NodeFilter] = []
        #: Filters whose answer these pods can change: once the others let the preemptor pass, they always will.
        self._volatile: list[NamedFilter] = []
        self._crowded = bool(cycle.nominated_on(emptied.whole))
        for named in cycle.filters:
            self._take(named, emptied.removed)

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
        objection = self._ask(self._filters)
        return None if objection is None else as_node_status(objection)

    def reprieve(self, pods: Sequence[PodInfo]) -> dict[PodInfo, Verdict]:
        """Put the pods back one after another, but for those that the preemptor has no room beside.

        Returns:
            These, and what it ran into.
        """
        self._node = self._node.clone()
        refused = {}
        for pod in pods:
            self._node.add_pod(pod)
            for plugin in self._followers:
                plugin.add_pod(pod, self._node)
            objection = self._ask(self._volatile)
            if objection is not None:
                self._remove(pod)
                refused[pod] = objection
        return refused

    def _remove(self, pod: PodInfo) -> None:
        self._node.remove_pod(pod)
        for plugin in self._followers:
            plugin.remove_pod(pod, self._node)

    def _ask(self, filters: Sequence[NamedFilter]) -> Verdict | None:
        if self._crowded:
            return self._cycle.check(self._node, filters)
        return run_filters(filters, self._node)
