"""The scheduling cycle for one pod: PreFilter, Filter, and what follows (`pkg/scheduler/schedule_one.go`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import chain

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.scheduler.framework.extender import ExtenderCalls, ExtenderError
from kwhatif.scheduler.framework.filters import (
    ConstantFilter,
    KnownAnswers,
    NamedFilter,
    NodeResultCache,
    leading,
    once_per_shape,
    run_filters,
    split_by_shape,
)
from kwhatif.scheduler.framework.incremental import possibly_rejected
from kwhatif.scheduler.framework.plugin import FilterPlugin, NodeFilter
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.status import (
    Code,
    SkipUntil,
    Status,
    Verdict,
    fit_error,
    no_nodes_left,
    not_in_node_set,
    reasons_histogram,
)
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import NodeRow, State

#: `Cycle.check`.
NodeCheck = Callable[[NodeInfo, Sequence[NamedFilter]], Verdict | None]


class NodeSearch:
    """Filter on all nodes that PreFilter left (`findNodesThatPassFilters` in `pkg/scheduler/schedule_one.go`).

    Few nodes need a call if answers depend on shapes, or are known from earlier attempts.
    """

    def __init__(
        self,
        filters: Sequence[NamedFilter],
        state: State,
        node_set: frozenset[str] | None,
        node_results: NodeResultCache | None,
    ) -> None:
        self._by_shape, self._filters = split_by_shape(filters)
        self._state = state
        self._node_set = node_set
        self._node_results = node_results
        #: The indexes of the nodes, ascending.
        self.left = self._indexes_left()

    def objections(self, check: NodeCheck) -> Iterator[tuple[int, Verdict]]:
        """The indexes of rejected nodes, ascending, and why; `check` is used for nodes with nominated pods."""
        known, rest = _split(self._known(*named) for named in self._filters)
        failing = self._failing_shapes()
        nominated, nodes = self._state.nominated, self._state.nodes
        names, shapes = self._state.names_and_shapes
        for index in self._doubtful(failing, known, rest):
            objection = failing.get(shapes[index])
            if objection is None:
                name = names[index]
                if nominated and name in nominated:
                    objection = check(nodes[index], self._filters)
                else:
                    objection = known.get(name) or (run_filters(rest, nodes[index]) if rest else None)
            if objection is not None:
                yield index, objection

    def _indexes_left(self) -> Sequence[int]:
        by_name, node_set = self._state.index_by_name, self._node_set
        if node_set is None:
            return range(len(by_name))
        return sorted(index for name in node_set if (index := by_name.get(name)) is not None)

    def _failing_shapes(self) -> Mapping[int, Verdict]:
        """The shapes of the remaining nodes that are rejected by filters that read only shapes."""
        if not self._by_shape:
            return {}
        nodes = self._state.nodes
        some = (
            self._state.of_shape if self._node_set is None else {nodes[at].shape: nodes[at] for at in self.left[::-1]}
        )
        found = ((shape, run_filters(self._by_shape, node)) for shape, node in some.items())
        return {shape: objection for shape, objection in found if objection is not None}

    def _doubtful(
        self, failing: Mapping[int, Verdict], known: Mapping[str, Verdict], rest: Sequence[NamedFilter]
    ) -> Sequence[int]:
        """The indexes of all nodes that a filter may reject, ascending: often known without checking each."""
        suspects = possibly_rejected([plugin for _, plugin in rest], self._state)
        if self._node_set is not None or suspects is None:
            return self.left
        by_name = self._state.index_by_name
        names = {*known, *suspects, *self._state.nominated}
        if len(names) >= len(by_name):
            return self.left
        doubtful = {index for name in names if (index := by_name.get(name)) is not None}
        if failing:
            shapes = self._state.names_and_shapes[1]
            doubtful.update([index for index, shape in enumerate(shapes) if shape in failing])
        return sorted(doubtful)

    def _known(self, name: str, filter_: NodeFilter) -> NamedFilter:
        """The filter, or its known answers from earlier attempts."""
        known = None if self._node_results is None else self._node_results.objections(name, filter_, self._state)
        return (name, filter_) if known is None else (name, KnownAnswers(known))


def _split(found: Iterable[NamedFilter]) -> tuple[Mapping[str, Verdict], Sequence[NamedFilter]]:
    """The first rejection of each node by the leading filters whose answers are known; and the other filters."""
    filters = list(found)
    number = leading(filters, KnownAnswers)
    known = [each.objections for _, each in filters[:number] if isinstance(each, KnownAnswers)]
    if len(known) == 1:
        return known[0], filters[number:]
    return {name: found for each in reversed(known) for name, found in each.items()}, filters[number:]


#: Pseudo-plugin that is recorded for nodes that an extender rejected (`framework.ExtenderName`).
EXTENDER = "Extender"


class CycleError(Exception):
    """The scheduler's attempt ends with an error (reason SchedulerError), not with a verdict."""


class Cycle:
    """The cycle of one pod on one state: the compiled filters and every node's verdict.

    After `filter_nodes`, `feasible` holds the nodes that passed, in the state's order, and `verdicts` the
    others' statuses by name. Nodes in neither share `absent`.
    """

    def __init__(
        self,
        profile: Profile,
        pod: PodInfo,
        state: State,
        node_results: NodeResultCache | None = None,
        placement: frozenset[str] | None = None,
    ) -> None:
        self.profile = profile
        self.pod = pod
        self.state = state
        #: The names of the nodes that are looked at, where the pod's group is tried on some of them; None: all.
        self.placement = placement
        #: Scores of earlier attempts, if the caller keeps them.
        self.node_results = node_results
        self.extenders = ExtenderCalls(profile.extenders, pod, state)
        #: The compiled filters by plugin name, in PreFilter order, without plugins that skipped.
        self.compiled: dict[str, NodeFilter] = {}
        #: Plugins whose PreFilter was called, up to the one that stopped the cycle.
        self.asked: set[str] = set()
        #: For plugins that skipped: whether they no longer skip once that pod is on a node.
        self.skipped_until: list[Callable[[PodInfo], bool]] = []
        #: The filters to run, in Filter order.
        self.filters: list[NamedFilter] = []
        self.node_set: frozenset[str] | None = None
        self.verdicts: dict[str, Verdict] = {}
        #: The verdict of nodes that have none of their own.
        self.absent: Verdict | None = None
        self.feasible: Sequence[NodeInfo] = ()
        #: The message of the PreFilter plugin that stopped the cycle; then no filter ran.
        self.pre_filter_message = ""
        #: Plugins that rejected anything (upstream's `Diagnosis.UnschedulablePlugins`).
        self.unschedulable_plugins: set[str] = set()

    # --- PreFilter -----------------------------------------------------------------------------------

    def pre_filter(self) -> bool:
        """Run PreFilter of every plugin; False if one stops the cycle.

        Raises:
            CycleError: a plugin failed.
        """
        restrictors: set[str] = set()
        rejection: Verdict | None = None
        for plugin in self.profile.pre_filter:
            result = self._compile(plugin)
            if isinstance(result, Status):
                if result.code is Code.UNRESOLVABLE:
                    return self._stop(Verdict(result, plugin.name))
                if result.code is Code.UNSCHEDULABLE:
                    rejection = Verdict(result, plugin.name)
                continue
            if result.only_nodes is not None:
                restrictors.add(plugin.name)
                known = result.only_nodes
                self.node_set = known if self.node_set is None else self.node_set & known
                if not self.node_set:
                    self.unschedulable_plugins |= restrictors
                    return self._stop(Verdict(no_nodes_left(restrictors)))
        self.unschedulable_plugins |= restrictors
        self._prepare_filters()
        if rejection is not None:  # preemption may still ask the other plugins' filters
            return self._stop(rejection)
        return True

    def _compile(self, plugin: FilterPlugin) -> NodeFilter | Status:
        self.asked.add(plugin.name)
        result = plugin.pre_filter(self.pod, self.state)
        if isinstance(result, Status):
            if result.code is Code.ERROR:
                raise CycleError(f'running PreFilter plugin "{plugin.name}": {result.message}')
            self.note_skip(result)
        else:
            self.compiled[plugin.name] = result
        return result

    def note_skip(self, status: Status) -> None:
        """Note that a plugin has nothing to check, perhaps only for now."""
        if isinstance(status, SkipUntil):
            self.skipped_until.append(status.concerns)

    def fork(self, state: State, kept: Mapping[str, NodeFilter]) -> Cycle:
        """A copy of the cycle for a fork of the state, with these filters in place of those of the same plugins."""
        other = copy(self)
        other.state = state
        other.replace_filters(kept)
        return other

    def replace_filters(self, compiled: Mapping[str, NodeFilter]) -> None:
        """Replace filters of these plugins by equivalent ones."""
        self.compiled = {**self.compiled, **compiled}
        self.filters = [
            (name, once_per_shape(compiled[name]) if name in compiled else plugin) for name, plugin in self.filters
        ]

    def _stop(self, rejection: Verdict) -> bool:
        self.absent = rejection
        self.pre_filter_message = rejection.status.message
        if rejection.plugin:
            self.unschedulable_plugins.add(rejection.plugin)
        return False

    def _prepare_filters(self) -> None:
        has_pre_filter = {plugin.name for plugin in self.profile.pre_filter}
        for plugin in self.profile.filter:
            if plugin.name not in has_pre_filter:
                self._compile_alone(plugin)
            if plugin.name in self.compiled:
                self.filters.append((plugin.name, once_per_shape(self.compiled[plugin.name])))

    def _compile_alone(self, plugin: FilterPlugin) -> None:
        """The filter of a plugin without PreFilter: it has none upstream, or it is disabled."""
        result = getattr(plugin, "without_pre_filter", plugin.pre_filter)(self.pod, self.state)
        if not isinstance(result, Status):
            self.compiled[plugin.name] = result
        elif result.code is Code.SKIP:
            self.note_skip(result)
        else:
            self.compiled[plugin.name] = ConstantFilter(result)

    # --- Filter --------------------------------------------------------------------------------------

    def nominated_on(self, node: NodeInfo) -> Sequence[PodInfo]:
        """Pods of equal or higher priority that are nominated to the node: the pod must leave them room."""
        pod, pods = self.pod, self.state.nominated.get(node.name, ())
        return [other for other in pods if other.priority >= pod.priority and other.uid != pod.uid]

    def check(self, node: NodeInfo, filters: Sequence[NamedFilter]) -> Verdict | None:
        """Run the filters with nominated pods: these may never arrive, so the pod must fit with and without them.

        (`RunFilterPluginsWithNominatedPods` in `pkg/scheduler/framework/runtime/framework.go`.)
        """
        nominated = self.nominated_on(node) if self.state.nominated else ()
        if nominated:
            by_shape, filters = split_by_shape(filters)  # these do not depend on pods
            objection = run_filters(by_shape, node)
            if objection is not None:
                return objection
            forked = [(name, plugin.fork()) for name, plugin in filters]
            crowded = node.clone()
            for other in nominated:
                crowded.add_pod(other)
                for _, plugin in forked:
                    plugin.add_pod(other, crowded)
            objection = run_filters(forked, crowded)
            if objection is not None:
                return objection
        return run_filters(filters, node)

    def filter_nodes(self, hint: str = "") -> None:
        """Run the filters on every node that PreFilter left, and then the extenders.

        A pod without a nominated node is tried on the node `hint` first.

        Raises:
            CycleError: a plugin or an extender failed.
        """
        if self._first_choice_fits(self.pod.pod.status.nominated_node_name or hint):
            return
        node_set = self.node_set
        if self.placement is not None:
            node_set = self.placement if node_set is None else node_set & self.placement
        if self.node_set is not None:
            # QUIRK: (schedule_one.go) a plugin that has just rejected the nominated node is named with those that
            # narrowed the search: upstream keeps both in one set.
            self.absent = Verdict(not_in_node_set(self.unschedulable_plugins))
        search = NodeSearch(self.filters, self.state, node_set, self.node_results)
        names, _ = self.state.names_and_shapes
        objecting: set[int] = set()
        for index, objection in search.objections(self.check):
            objecting.add(index)
            self._record(names[index], objection)
        left = search.left
        feasible = [index for index in left if index not in objecting] if objecting else left
        self.feasible = self._filter_by_extenders(NodeRow.at(self.state, feasible))
        if len(self.feasible) != len(feasible):
            self.unschedulable_plugins.add(EXTENDER)

    def _first_choice_fits(self, name: str) -> bool:
        """If a nominated or hinted node fits, no other node is evaluated (`evaluateNominatedNode`)."""
        node = self.state.node(name)
        if node is None or (self.placement is not None and name not in self.placement):
            return False
        objection = self.check(node, self.filters)
        if objection is not None:
            if objection.status.code is not Code.ERROR:
                self._record(name, objection)
            return False
        try:
            self.feasible = self._filter_by_extenders([node])
        except CycleError:  # upstream logs it and goes on with all nodes
            return False
        return bool(self.feasible)

    def _record(self, node_name: str, objection: Verdict) -> None:
        if objection.status.code is Code.ERROR:
            raise CycleError(f'running "{objection.plugin}" filter plugin: {objection.status.message}')
        self.verdicts[node_name] = objection
        self.unschedulable_plugins.add(objection.plugin)

    def _filter_by_extenders(self, nodes: Sequence[NodeInfo]) -> Sequence[NodeInfo]:
        try:
            return self.extenders.filter(nodes, self.verdicts)
        except ExtenderError as failure:
            raise CycleError(str(failure)) from failure

    # --- results -------------------------------------------------------------------------------------

    def reserve(self, node: NodeInfo) -> tuple[KubernetesObject, ...]:
        """The objects that change when the pod is reserved on the node, as the plugins' Filter decided."""
        reserved = (self.compiled[name].reserve(node, self.state) for name, _ in self.filters)
        return tuple(chain.from_iterable(reserved))

    def verdict_of(self, node_name: str) -> Verdict | None:
        """Why the node was rejected; None if it is feasible, or if nothing was recorded about it."""
        return self.verdicts.get(node_name, self.absent)

    def message(self) -> str:
        """The FitError without the PostFilter part."""
        total = len(self.state.nodes if self.placement is None else self.placement)
        absent = self.absent.status if self.absent else None
        statuses = [verdict.status for verdict in self.verdicts.values()]
        reasons = self.pre_filter_message or reasons_histogram(statuses, absent, total - len(statuses))
        return fit_error(total, reasons)
