"""`EvictionCandidates`: the nodes where a pod could make room for itself, ranked, and kept up with the state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from copy import copy
from functools import partial

from msgspec.structs import replace

from kwhatif.batch.feasible_nodes import node_of
from kwhatif.batch.node_class import ClassVerdicts, NodeClass
from kwhatif.batch.ranked_nodes import all_ties
from kwhatif.batch.result import ScheduleResult
from kwhatif.framework.cycle import Cycle, CycleError
from kwhatif.framework.diagnosis import fit_error, histogram, with_post_filter
from kwhatif.framework.guard import unguarded
from kwhatif.framework.incremental import class_state, node_class
from kwhatif.framework.plugin import NodeFilter, PostFilterKind, Reads, post_filter_kind
from kwhatif.framework.status import Code, Status, Verdict
from kwhatif.model.overlay import Overlay
from kwhatif.preemption.budgets import Budgets
from kwhatif.preemption.candidate import Candidate, Preemption
from kwhatif.preemption.evaluator import NOT_HELPFUL, cleared_nominations
from kwhatif.preemption.policy import EvictsByPolicy, Policy
from kwhatif.preemption.victims import VictimSearch
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo


class EvictionCandidates:
    """What preemption comes to on every node, for pods of one signature.

    Filters that look beyond a node divide the nodes into classes. While their state stays the same as seen from a
    class, only nodes where pods come or go have to be looked at again.
    """

    def __init__(self, cycle: Cycle, policy: Policy, found: Preemption, budgets: Budgets) -> None:
        """Set up.

        Args:
            cycle: of the first pod; its verdicts are up to date, and its filters are kept so.
            policy: the rules of preemption.
            found: what preemption came to for the first pod.
            budgets: what they allowed then.
        """
        self._policy = policy
        self._use(cycle, budgets)
        self._classes: dict[Hashable, NodeClass] = {}
        #: By name of the node, the key of its class.
        self._key_of: Overlay[str, Hashable] = Overlay()
        #: Plugins that rejected the pod before any node was looked at.
        self._before = cycle.unschedulable_plugins - {verdict.plugin for verdict in cycle.verdicts.values()}
        self._begin({candidate.node: candidate for candidate in found.candidates}, found.rejected)

    def _use(self, cycle: Cycle, budgets: Budgets) -> None:
        self._cycle, self._budgets = cycle, budgets
        self._search = VictimSearch(cycle, self._policy, budgets)

    @property
    def _shared(self) -> list[NodeFilter]:
        return [plugin for _, plugin in self._cycle.filters if plugin.reads is Reads.CLUSTER]

    def fork(self, cycle: Cycle) -> EvictionCandidates:
        """An independent copy, with the filters of a fork of the state."""
        other = copy(self)
        other._use(cycle, self._budgets)
        other._classes = {key: each.copy() for key, each in self._classes.items()}
        other._key_of = self._key_of.fork()
        return other

    def _begin(self, candidates: Mapping[str, Candidate], rejected: Mapping[str, Verdict]) -> None:
        verdicts, shared = self._cycle.verdicts, self._shared
        members: dict[Hashable, dict[str, Verdict]] = {}
        if not shared and verdicts:
            members[()] = verdicts
        elif shared:
            by_name = self._cycle.snapshot.by_name
            for name, verdict in verdicts.items():
                members.setdefault(self._key(by_name[name], shared), {})[name] = verdict
        for key, said in members.items():
            each = self._classes[key] = NodeClass(key, said)
            begun = ClassVerdicts(())
            begun.begin(said, candidates, rejected)
            each.begin(self._state(each, shared), begun)
            self._key_of.update(dict.fromkeys(said, key))

    def place(self, pod: PodInfo) -> ScheduleResult | None:
        """Evict where that costs least, or fail where nobody can be evicted; None: a whole attempt has to say."""
        cycle = self._cycle
        if self._policy.why_not_eligible(cycle):
            return None
        best = self._best()
        current = [each.verdicts for each in self._classes.values()]
        if best is None and any(verdicts.feasible for verdicts in current):
            return None
        message, rejectors = self._fit_error(current)
        if best is None:
            said = self._post_filter_message(self._not_helpful(current, len(cycle.snapshot.nodes)))
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
        """The pod evicts there."""
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
        """The pod evicts on another node; None where it finds nobody there after all."""
        self._look_at(name)
        candidate = self._class_of(name).verdicts.candidates.get(name)
        return None if candidate is None else self._on(result, candidate)

    def refuse(self, cycle: Cycle) -> ScheduleResult | None:
        """What becomes of the cycle's pod, which is nominated and may not evict anybody; None: it may."""
        refusal = self._policy.why_not_eligible(cycle)
        current = [each.verdicts for each in self._classes.values()]
        said = self._post_filter_message(refusal) if refusal else None
        if said is None or any(verdicts.feasible for verdicts in current):
            return None
        message, rejectors = self._fit_error(current)
        nominated = cycle.pod.pod.status.nominated_node_name
        message = with_post_filter(message, said)
        return ScheduleResult(cycle.pod, "Unschedulable", message=message, rejectors=rejectors, nominated=nominated)

    def _fit_error(self, current: Sequence[ClassVerdicts]) -> tuple[str, tuple[str, ...]]:
        """Why no node is feasible, and the plugins that say so."""
        cycle = self._cycle
        reasons: Counter[str] = Counter()
        for verdicts in current:
            verdicts.count_reasons(reasons)
        total = len(cycle.snapshot.nodes)
        for reason in cycle.absent.status.reasons if cycle.absent else ():
            reasons[reason] += total - len(self._key_of)
        rejectors = tuple(sorted({*self._before, *(plugin for each in current for plugin in each.plugins)}))
        return fit_error(total, histogram(+reasons)), rejectors

    def _post_filter_message(self, why: str) -> str | None:
        """What PostFilter plugins say where nobody can be evicted; None where another one may help."""
        said: list[str] = []
        own = f"preemption: {why}"
        for plugin in self._cycle.profile.post_filter:
            evicts = isinstance(unguarded(plugin), EvictsByPolicy)
            if evicts and own not in said:
                said.append(own)
                continue
            if evicts or post_filter_kind(plugin) is not PostFilterKind.REPORTS:
                return None
            status = plugin.post_filter(self._cycle).status
            if status.code is not Code.UNSCHEDULABLE:
                return None
            said.extend(status.reasons)
        return Status(Code.UNSCHEDULABLE, tuple(said)).message

    def _not_helpful(self, current: Sequence[ClassVerdicts], total: int) -> str:
        """As the evaluator says it."""
        refusals: Counter[str] = Counter()
        tried = sum(verdicts.count_refusals(refusals) for verdicts in current)
        for reason in NOT_HELPFUL.reasons:
            refusals[reason] += total - tried
        return fit_error(total, histogram(+refusals))

    def _best(self) -> Candidate | None:
        """The best candidate as it is now: of the right rank they all are, but numbers in their story may be old."""
        while tops := [top for each in self._classes.values() if (top := each.verdicts.order.best()) is not None]:
            rank, name = min(tops)
            self._look_at(name)
            best = self._class_of(name).verdicts.candidates.get(name)
            if best is not None and best.rank == rank:
                return best
        return None

    # --- keeping up ----------------------------------------------------------------------------------

    def refresh(self, names: Iterable[str], budgets: Collection[str]) -> list[str]:
        """Pods came to these nodes or left them, and these budgets are others now; returns which nodes are feasible.

        Raises:
            CycleError: a plugin failed.
        """
        before = self._budgets
        if budgets:
            self._use(self._cycle, Budgets(self._cycle.snapshot.cluster))
        for name in names:
            if name in self._key_of:
                self._assign(node_of(self._cycle.snapshot, name))
                self._class_of(name).invalidate(name)
        has_candidates = any(each.has_candidates for each in self._classes.values())
        for budget in budgets if has_candidates else ():
            was, now = before.allowed[budget], self._budgets.allowed[budget]
            if was != now:
                self._invalidate_guarded(budget, min(was, now))
        shared = self._shared
        for each in list(self._classes.values()):
            if not each.names:
                del self._classes[each.key]
                continue
            each.set_state(self._state(each, shared))
            for name in sorted(each.verdicts.outdated):
                self._look_at(name)
        return sorted(name for each in self._classes.values() for name in each.verdicts.feasible)

    def knows(self, budgets: Collection[str]) -> bool:
        """Whether these budgets are about the same pods as before, whatever they allow."""
        return not budgets or Budgets(self._cycle.snapshot.cluster).scope == self._budgets.scope

    def _invalidate_guarded(self, budget: str, allowed: int) -> None:
        """Candidates come out otherwise now where a budget does not allow all the pods there to be evicted.

        As long as it does, it breaks for nobody.
        """
        snapshot, policy, pod = self._cycle.snapshot, self._policy, self._cycle.pod
        selector = self._budgets.selector(budget)
        if selector is None:
            return
        namespace, index = budget.partition("/")[0], snapshot.index
        pair = selector.pair
        groups = index.labels.groups(namespace) if pair is None else index.labels.groups_with(namespace, pair)
        guarded = Counter[str]()
        for group in groups:
            if selector.matches(group.labels):
                guarded.update(group.pods)
        for name, number in guarded.items():
            if number <= allowed or name not in self._key_of:
                continue
            each = self._class_of(name)
            if not each.has_candidate(name):
                continue
            evictable = policy.potential_victims(pod, node_of(snapshot, name))
            if sum(budget in self._budgets.of(other) for other in evictable) > allowed:
                each.invalidate(name)

    def _assign(self, node: NodeInfo) -> None:
        """Put the node into its class; what is known of it in another one is forgotten."""
        key = self._key(node, self._shared)
        before = self._key_of[node.name]
        if before == key:
            return
        self._classes[before].remove(node.name)
        after = self._classes.get(key)
        if after is None:
            after = self._classes[key] = NodeClass(key)
        after.add(node.name)
        self._key_of.put(node.name, key)

    def _class_of(self, name: str) -> NodeClass:
        return self._classes[self._key_of[name]]

    def _key(self, node: NodeInfo, shared: Sequence[NodeFilter]) -> Hashable:
        if not shared:
            return ()
        return tuple([node_class(plugin, node) for plugin in shared]), node.name if self._is_crowded(node) else ""

    def _state(self, each: NodeClass, shared: Sequence[NodeFilter]) -> Hashable:
        """The state of the filters that look beyond a node, as seen from the class; for a crowded node none lasts."""
        if not shared:
            return ()
        node = node_of(self._cycle.snapshot, next(iter(each.names)))
        return object() if self._is_crowded(node) else tuple([class_state(plugin, node) for plugin in shared])

    def _is_crowded(self, node: NodeInfo) -> bool:
        """Whether filters that look beyond a node have to be asked with nominated pods on it, too."""
        cycle = self._cycle
        return bool(cycle.snapshot.nominated and cycle.nominated_on(node))

    def _look_at(self, name: str) -> None:
        """Judge the node anew, and search it for victims.

        Raises:
            CycleError: a plugin failed.
        """
        cycle, verdicts = self._cycle, self._class_of(name).verdicts
        node = node_of(cycle.snapshot, name)
        objection = cycle.check(node, cycle.filters)
        found: Candidate | Verdict | None = None
        if objection is not None and objection.status.code is Code.UNSCHEDULABLE:
            found = self._search.on(node)
        for verdict in (objection, found):
            if isinstance(verdict, Verdict) and verdict.status.code is Code.ERROR:
                raise CycleError(verdict.status.message)
        verdicts.record(name, objection, found)


def candidates_after(cycle: Cycle, found: Preemption, budgets: Budgets) -> EvictionCandidates | None:
    """What is kept after the first pod has looked for a node to make room on; None where that cannot be kept up."""
    for plugin in map(unguarded, cycle.profile.post_filter):
        kind = post_filter_kind(plugin)
        if isinstance(plugin, EvictsByPolicy):
            evaluates = kind is PostFilterKind.EVALUATES
            return EvictionCandidates(cycle, plugin.policy, found, budgets) if evaluates else None
        if kind is not PostFilterKind.REPORTS:
            return None  # it may have something to say about the next pod
    return None
