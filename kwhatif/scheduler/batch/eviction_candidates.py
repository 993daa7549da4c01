"""`EvictionCandidates`: the ranked nodes where a pod could preempt others, updated with the state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial

from msgspec.structs import replace

from kwhatif.kube.model.overlay import Overlay
from kwhatif.scheduler.batch.feasible_nodes import all_ties, node_of
from kwhatif.scheduler.batch.node_class import ClassVerdicts, NodeClass
from kwhatif.scheduler.batch.result import ScheduleResult
from kwhatif.scheduler.framework.cycle import Cycle, CycleError
from kwhatif.scheduler.framework.incremental import class_state, node_class
from kwhatif.scheduler.framework.plugin import NodeFilter, PostFilterKind, Reads, post_filter_kind
from kwhatif.scheduler.framework.status import Code, Status, Verdict, fit_error, histogram, with_post_filter
from kwhatif.scheduler.preemption.budgets import Budgets
from kwhatif.scheduler.preemption.candidate import Candidate, Preemption
from kwhatif.scheduler.preemption.evaluator import NOT_HELPFUL, cleared_nominations
from kwhatif.scheduler.preemption.policy import EvictsByPolicy, Policy
from kwhatif.scheduler.preemption.victims import VictimSearch
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo


class NodeClasses:
    """The class of each node that has a verdict, by filters that read more than a node; and its results."""

    def __init__(self, cycle: Cycle, candidates: Mapping[str, Candidate], rejected: Mapping[str, Verdict]) -> None:
        """Start with the results for the first pod: its cycle's verdicts, and its preemption candidates."""
        self._cycle = cycle
        self._classes: dict[Hashable, NodeClass] = {}
        #: Name of a node -> the key of its class.
        self._key_of: Overlay[str, Hashable] = Overlay()
        self._begin(candidates, rejected)

    def fork(self, cycle: Cycle) -> NodeClasses:
        """An independent copy, with the filters of a fork of the state."""
        other = NodeClasses.__new__(NodeClasses)
        other._cycle = cycle
        other._classes = {key: each.copy() for key, each in self._classes.items()}
        other._key_of = self._key_of.fork()
        return other

    def __iter__(self) -> Iterator[NodeClass]:
        return iter(self._classes.values())

    def __contains__(self, name: object) -> bool:
        return name in self._key_of

    def __len__(self) -> int:
        """The number of nodes in all classes."""
        return len(self._key_of)

    def of(self, name: str) -> NodeClass:
        """The class of the node."""
        return self._classes[self._key_of[name]]

    def refresh(self, shared: Sequence[NodeFilter]) -> None:
        """Update the state of these filters for each class, after pods were added or removed."""
        for each in list(self._classes.values()):
            if each.names:
                each.set_state(self._state(each, shared))
            else:
                del self._classes[each.key]

    @property
    def shared(self) -> Sequence[NodeFilter]:
        """The filters that read more than a node."""
        return [plugin for _, plugin in self._cycle.filters if plugin.reads is Reads.CLUSTER]

    def _begin(self, candidates: Mapping[str, Candidate], rejected: Mapping[str, Verdict]) -> None:
        verdicts, shared = self._cycle.verdicts, self.shared
        members: dict[Hashable, dict[str, Verdict]] = {}
        if not shared and verdicts:
            members[()] = verdicts
        elif shared:
            by_name = self._cycle.state.by_name
            for name, verdict in verdicts.items():
                members.setdefault(self._key(by_name[name], shared), {})[name] = verdict
        for key, said in members.items():
            each = self._classes[key] = NodeClass(key, said)
            begun = ClassVerdicts(())
            begun.begin(said, candidates, rejected)
            each.begin(self._state(each, shared), begun)
            self._key_of.update(dict.fromkeys(said, key))

    def assign(self, node: NodeInfo, shared: Sequence[NodeFilter]) -> None:
        """Put the node into its class, and drop all results for it."""
        key = self._key(node, shared)
        before = self._key_of[node.name]
        if before == key:
            self._classes[key].invalidate(node.name)
            return
        self._classes[before].remove(node.name)
        after = self._classes.get(key)
        if after is None:
            after = self._classes[key] = NodeClass(key)
        after.add(node.name)
        self._key_of.put(node.name, key)

    def _key(self, node: NodeInfo, shared: Sequence[NodeFilter]) -> Hashable:
        if not shared:
            return ()
        return tuple([node_class(plugin, node) for plugin in shared]), node.name if self._is_crowded(node) else ""

    def _state(self, each: NodeClass, shared: Sequence[NodeFilter]) -> Hashable:
        """The state of the filters that read more than a node, for the class; always new for a crowded node."""
        if not shared:
            return ()
        node = node_of(self._cycle.state, next(iter(each.names)))
        return object() if self._is_crowded(node) else tuple([class_state(plugin, node) for plugin in shared])

    def _is_crowded(self, node: NodeInfo) -> bool:
        """Whether filters that read more than a node must also run with nominated pods on it."""
        cycle = self._cycle
        return bool(cycle.state.nominated and cycle.nominated_on(node))


def fit_error_of(cycle: Cycle, current: Sequence[ClassVerdicts], known: int) -> str:
    """Why no node is feasible, as a full attempt would say; `known` nodes have a separate verdict."""
    reasons: Counter[str] = Counter()
    for verdicts in current:
        verdicts.count_reasons(reasons)
    total = len(cycle.state.nodes)
    for reason in cycle.absent.status.reasons if cycle.absent else ():
        reasons[reason] += total - known
    return fit_error(total, histogram(+reasons))


def post_filter_message(cycle: Cycle, why: str) -> str | None:
    """The message of PostFilter plugins if no pods can be evicted; None if another plugin may help."""
    said: list[str] = []
    own = f"preemption: {why}"
    for plugin in cycle.profile.post_filter:
        evicts = isinstance(plugin, EvictsByPolicy)
        if evicts and own not in said:
            said.append(own)
            continue
        if evicts or post_filter_kind(plugin) is not PostFilterKind.REPORTS:
            return None
        status = plugin.post_filter(cycle).status
        if status.code is not Code.UNSCHEDULABLE:
            return None
        said.extend(status.reasons)
    return Status(Code.UNSCHEDULABLE, tuple(said)).message


def not_helpful(current: Sequence[ClassVerdicts], total: int) -> str:
    """Why evicting pods does not help on any of the nodes, with the evaluator's message."""
    refusals: Counter[str] = Counter()
    tried = sum(verdicts.count_refusals(refusals) for verdicts in current)
    for reason in NOT_HELPFUL.reasons:
        refusals[reason] += total - tried
    return fit_error(total, histogram(+refusals))


class EvictionCandidates:
    """The result of preemption on every node, for pods of one signature.

    Filters that read more than a node divide the nodes into classes. While their state for a class does not change,
    only nodes where pods are added or removed must be evaluated again.
    """

    def __init__(self, cycle: Cycle, policy: Policy, found: Preemption, budgets: Budgets) -> None:
        """Set up.

        Args:
            cycle: the cycle of the first pod; its verdicts are up to date, and its filters are kept up to date.
            policy: the rules of preemption.
            found: the result of preemption for the first pod.
            budgets: the budgets at that time.
        """
        self._policy = policy
        self._use(cycle, budgets)
        #: The generation of the state up to which all changes are processed.
        self.generation = cycle.state.generation
        #: Plugins that rejected the pod before any node was evaluated.
        asked = {verdict.plugin for verdict in cycle.verdicts.values()}
        self.rejected_before = frozenset(cycle.unschedulable_plugins - asked)
        candidates = {candidate.node: candidate for candidate in found.candidates}
        self._classes = NodeClasses(cycle, candidates, found.rejected)

    def _use(self, cycle: Cycle, budgets: Budgets) -> None:
        self._cycle, self._budgets = cycle, budgets
        self._search = VictimSearch(cycle, self._policy, budgets)

    def use_for(self, pod: PodInfo) -> None:
        """From now on they are asked for this pod, which has the same candidates."""
        self._cycle.pod = pod

    def fork(self, cycle: Cycle) -> EvictionCandidates:
        """An independent copy, with the filters of a fork of the state."""
        other = copy(self)
        other._use(cycle, self._budgets)
        other._classes = self._classes.fork(cycle)
        return other

    def place(self, pod: PodInfo) -> ScheduleResult | None:
        """Evict where that costs least, or fail if no pods can be evicted; None: a full attempt is needed."""
        cycle = self._cycle
        if self._policy.why_not_eligible(cycle):
            return None
        best = self._best()
        current = [each.verdicts for each in self._classes]
        if best is None and any(verdicts.feasible for verdicts in current):
            return None
        message, rejectors = self._fit_error(current)
        if best is None:
            said = post_filter_message(cycle, not_helpful(current, len(cycle.state.nodes)))
            if said is None:
                return None
            return ScheduleResult(pod, "Unschedulable", message=with_post_filter(message, said), rejectors=rejectors)
        tops = [verdicts.order.best() for verdicts in current]
        orders = [
            each.order for each, top in zip(current, tops, strict=True) if top is not None and top[0] == best.rank
        ]
        result = ScheduleResult(
            pod,
            "Preempts",
            message=message,
            rejectors=rejectors,
            find_ties=all_ties((verdicts.order, best.rank) for verdicts in current),
            tied=len(orders) > 1 or any(order.is_tied() for order in orders),
            reserve=cycle.reserve,
        )
        return self._on(result, best)

    def _on(self, result: ScheduleResult, candidate: Candidate) -> ScheduleResult:
        """The result with evictions on this node."""
        cleared = cleared_nominations(self._cycle, candidate)
        words = self._policy.said_of(candidate.node, len(candidate.pods))
        return replace(
            result,
            node=candidate.node,
            message=with_post_filter(result.message, f"preemption: {words}") if words else result.message,
            candidate=candidate,
            cleared_nominations=cleared,
            nominated=candidate.node,
            elsewhere=partial(self._elsewhere, result),
        )

    def _elsewhere(self, result: ScheduleResult, name: str) -> ScheduleResult | None:
        """The result with evictions on another node; None if there are no victims."""
        verdicts = self._classes.of(name).verdicts
        self._look_at(name, verdicts)
        candidate = verdicts.candidates.get(name)
        return None if candidate is None else self._on(result, candidate)

    def refuse(self, cycle: Cycle) -> ScheduleResult | None:
        """The result for the cycle's pod, which is nominated and may not evict others; None: it may."""
        refusal = self._policy.why_not_eligible(cycle)
        current = [each.verdicts for each in self._classes]
        said = post_filter_message(cycle, refusal) if refusal else None
        if said is None or any(verdicts.feasible for verdicts in current):
            return None
        message, rejectors = self._fit_error(current)
        nominated = cycle.pod.pod.status.nominated_node_name
        message = with_post_filter(message, said)
        return ScheduleResult(cycle.pod, "Unschedulable", message=message, rejectors=rejectors, nominated=nominated)

    def _fit_error(self, current: Sequence[ClassVerdicts]) -> tuple[str, tuple[str, ...]]:
        """The message why no node is feasible, and the plugins that reject nodes."""
        rejectors = tuple(sorted({*self.rejected_before, *(plugin for each in current for plugin in each.plugins)}))
        return fit_error_of(self._cycle, current, len(self._classes)), rejectors

    def _best(self) -> Candidate | None:
        """The best candidate, computed again: its rank is valid, but numbers in its evidence may be outdated.

        So the comparison of the ranks is only a safeguard: should `refresh` miss a change, a worse node is not taken.
        """
        while tops := [top for each in self._classes if (top := each.verdicts.order.best()) is not None]:
            rank, name = min(tops)
            verdicts = self._classes.of(name).verdicts
            self._look_at(name, verdicts)
            best = verdicts.candidates.get(name)
            if best is not None and best.rank == rank:
                return best
        return None

    # --- updating ------------------------------------------------------------------------------------

    @property
    def feasible(self) -> list[str]:
        """The names of the nodes that have room without evicting pods, sorted."""
        return sorted(name for each in self._classes for name in each.verdicts.feasible)

    def refresh(self, names: Iterable[str], budgets: Collection[str]) -> None:
        """Update after pods of these nodes, and these budgets, have changed.

        Raises:
            CycleError: a plugin failed.
        """
        before = self._budgets
        if budgets:
            self._use(self._cycle, Budgets(self._cycle.state.cluster))
        shared = self._classes.shared
        for name in names:
            if name in self._classes:
                self._classes.assign(node_of(self._cycle.state, name), shared)
        for budget in budgets if any(each.has_candidates for each in self._classes) else ():
            was, now = before.allowed[budget], self._budgets.allowed[budget]
            if was != now:
                self._invalidate_guarded(budget, min(was, now))
        self._classes.refresh(shared)
        for each in self._classes:
            for name in sorted(each.verdicts.outdated):
                self._look_at(name, each.verdicts)

    def knows(self, budgets: Collection[str]) -> bool:
        """Whether these budgets select the same pods as before, regardless of what they allow."""
        return not budgets or Budgets(self._cycle.state.cluster).scope == self._budgets.scope

    def _invalidate_guarded(self, budget: str, allowed: int) -> None:
        """Invalidate candidates on nodes with more pods of the budget than it allows to evict.

        On other nodes no eviction breaks it.
        """
        state, policy, pod = self._cycle.state, self._policy, self._cycle.pod
        selector = self._budgets.selector(budget)
        if selector is None:
            return
        guarded = Counter[str]()
        for group in state.index.labels.matching(budget.partition("/")[0], selector):
            guarded.update(group.pods)
        for name, number in guarded.items():
            if number <= allowed or name not in self._classes:
                continue
            each = self._classes.of(name)
            if not each.has_candidate(name):
                continue
            evictable = policy.potential_victims(pod, node_of(state, name))
            if sum(budget in self._budgets.of(other) for other in evictable) > allowed:
                each.invalidate(name)

    def _look_at(self, name: str, verdicts: ClassVerdicts) -> None:
        """Evaluate the node again, and search for victims on it; `verdicts`: those of its class.

        Raises:
            CycleError: a plugin failed.
        """
        cycle = self._cycle
        node = node_of(cycle.state, name)
        objection = cycle.check(node, cycle.filters)
        found: Candidate | Verdict | None = None
        if objection is not None and objection.status.code is Code.UNSCHEDULABLE:
            found = self._search.on(node)
        for verdict in (objection, found):
            if isinstance(verdict, Verdict) and verdict.status.code is Code.ERROR:
                raise CycleError(verdict.status.message)
        verdicts.record(name, objection, found)


def candidates_after(cycle: Cycle, found: Preemption, budgets: Budgets) -> EvictionCandidates | None:
    """The candidates after preemption for the first pod; None if they cannot be updated."""
    for plugin in cycle.profile.post_filter:
        kind = post_filter_kind(plugin)
        if isinstance(plugin, EvictsByPolicy):
            evaluates = kind is PostFilterKind.EVALUATES
            return EvictionCandidates(cycle, plugin.policy, found, budgets) if evaluates else None
        if kind is not PostFilterKind.REPORTS:
            return None  # it may matter for the next pod
    return None
