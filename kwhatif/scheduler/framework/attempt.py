"""One scheduling attempt from queue to nomination: PreEnqueue, cycle, scores or PostFilter (`ScheduleOne`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from kwhatif.errors import PluginFailed
from kwhatif.scheduler.framework.cycle import Cycle, CycleError
from kwhatif.scheduler.framework.filters import NamedFilter, NodeResultCache
from kwhatif.scheduler.framework.plugin import PostFilterResult
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.scoring import Scores, score_nodes
from kwhatif.scheduler.framework.status import NO_NODES, Code, Status, Verdict, with_post_filter
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


class Objections:
    """All reasons why a pod does not fit on a node, not only the one that the scheduler names.

    kube-scheduler stops at the first filter that rejects a node. To help a user, the other filters run here as well,
    while the state is unchanged. The verdict of the cycle does not change, and comes first.

    Costs one call per filter after the one that rejected; answers of filters that read only a node's shape are kept.
    """

    def __init__(self, cycle: Cycle) -> None:
        self._cycle = cycle
        filters = cycle.filters
        self._behind = {name: filters[index + 1 :] for index, (name, _) in enumerate(filters)}
        # A filter that narrowed the search to some nodes has already rejected all others.
        self._open = [named for named in filters if named[1].only_nodes is None]

    def on(self, node: NodeInfo, first: Verdict) -> tuple[Verdict, ...]:
        """Every rejection of the node, in the order of the filters; `first` is the scheduler's own.

        Only that one if no filter ran: PreFilter stopped the cycle, or the node was not evaluated. A filter that fails
        after a rejection, where the scheduler would not run it, does not count.
        """
        cycle = self._cycle
        if cycle.pre_filter_message or not first.status.reasons:
            return (first,)
        if cycle.state.nominated and cycle.nominated_on(node):
            # A filter that passes the node may reject it with the nominated pods, and the other way round.
            others: Sequence[NamedFilter] = [named for named in cycle.filters if named[0] != first.plugin]
        else:
            others = self._behind.get(first.plugin, self._open)
        found = tuple(self._ask(node, others))
        return (first, *found) if found else (first,)

    def _ask(self, node: NodeInfo, filters: Sequence[NamedFilter]) -> Iterator[Verdict]:
        for named in filters:
            try:
                verdict = self._cycle.check(node, (named,))
            except PluginFailed:
                continue
            if verdict is not None and verdict.status.rejected:
                yield verdict


class Attempt(msgspec.Struct):
    """The result of one scheduling attempt. Exactly one of `gated`, `scores` and `message` gives the outcome."""

    cycle: Cycle
    #: The rejection by a PreEnqueue plugin, which keeps the pod out of the queue; nothing else was tried.
    gated: Verdict | None = None
    scores: Scores | None = None
    #: The FailedScheduling text; "" when the pod was placed.
    message: str = ""
    #: The attempt ended with an error, not with a verdict; `message` is its text.
    failed: bool = False
    post_filter: PostFilterResult | None = None


def attempt(
    profile: Profile,
    pod: PodInfo,
    state: State,
    hint: str = "",
    node_results: NodeResultCache | None = None,
    placement: frozenset[str] | None = None,
) -> Attempt:
    """Do what kube-scheduler would do with the pod if it were next in the queue.

    Args:
        profile: the pod's.
        pod: the pod to schedule.
        state: the cluster, which is not changed.
        hint: the name of a node to try first.
        node_results: scores from earlier attempts on this state or an earlier version of it.
        placement: the names of the nodes that are looked at, where the pod's group is tried on some of them.
    """
    cycle = Cycle(profile, pod, state, node_results, placement)
    result = Attempt(cycle)
    result.gated = run_pre_enqueue(profile, pod, state)
    if result.gated is not None:
        return result
    if not state.nodes:
        result.message = NO_NODES
        return result
    try:
        if cycle.pre_filter():
            cycle.filter_nodes(hint)
        if cycle.feasible:
            result.scores = _score(cycle)
        else:
            result.post_filter = _post_filter(cycle)
            result.message = with_post_filter(cycle.message(), result.post_filter.status.message)
    except CycleError as failure:
        result.failed = True
        result.message = str(failure)
    return result


def fits_somewhere(profile: Profile, pod: PodInfo, state: State) -> bool:
    """Whether some node passes all filters, without looking at all nodes; also False if that is not known.

    It is not known for a gated or nominated pod, or if extenders filter.
    """
    if profile.extenders or pod.pod.status.nominated_node_name or run_pre_enqueue(profile, pod, state) is not None:
        return False
    cycle = Cycle(profile, pod, state)
    try:
        if not cycle.pre_filter():
            return False
    except CycleError:
        return False
    allowed = cycle.node_set
    nodes = (node for node in state.nodes if allowed is None or node.name in allowed)
    return any(cycle.check(node, cycle.filters) is None for node in nodes)


def objections_on(profile: Profile, pod: PodInfo, state: State, name: str) -> tuple[Verdict, ...]:
    """Every reason why the pod does not fit on the node of that name, the scheduler's own first; none if it fits.

    None either where the pod is gated, or the attempt ends with an error.
    """
    node, cycle = state.node(name), filtered(profile, pod, state, frozenset({name}))
    first = None if cycle is None or cycle.feasible else cycle.verdict_of(name)
    return () if node is None or cycle is None or first is None else Objections(cycle).on(node, first)


def filtered(profile: Profile, pod: PodInfo, state: State, placement: frozenset[str] | None = None) -> Cycle | None:
    """The pod's cycle after Filter, without scores and PostFilter; None if the pod is gated, or it ends with an error.

    `placement`: see `attempt`.
    """
    if run_pre_enqueue(profile, pod, state) is not None:
        return None
    cycle = Cycle(profile, pod, state, placement=placement)
    try:
        if cycle.pre_filter():
            cycle.filter_nodes()
    except CycleError:
        return None
    return cycle


def run_pre_enqueue(profile: Profile, pod: PodInfo, state: State) -> Verdict | None:
    """Why the pod may not enter the queue (`runPreEnqueuePlugins`); None when it may."""
    for plugin in profile.pre_enqueue:
        status = plugin.pre_enqueue(pod, state)
        if status.rejected:
            return Verdict(status, plugin.name)
    return None


def _score(cycle: Cycle) -> Scores:
    try:
        return score_nodes(cycle)
    except CycleError:
        if len(cycle.feasible) > 1:
            raise
        # The scheduler takes a single feasible node without scoring it, so the error never shows.
        return Scores(tuple(cycle.feasible), {}, [0])


def _post_filter(cycle: Cycle) -> PostFilterResult:
    """Run PostFilter plugins until one helps or is sure that nothing will (`runPostFilterPlugins`)."""
    reasons: list[str] = []
    last = PostFilterResult(Status(Code.UNSCHEDULABLE))
    for plugin in cycle.profile.post_filter:
        result = plugin.post_filter(cycle)
        if result.status.code is not Code.UNSCHEDULABLE:
            return result
        reasons.extend(result.status.reasons)
        if result.nominated is not None or result.outcome is not None:
            last = result
    return msgspec.structs.replace(last, status=Status(Code.UNSCHEDULABLE, tuple(reasons)))
