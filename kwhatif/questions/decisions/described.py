"""From a scheduler's results to decisions (`Described`), also where each pod is tried once (`AtOnce`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from msgspec.structs import replace

from kwhatif.controllers.taint_eviction import evicted_after
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.scheduling import (
    Batching,
    BindingNotDated,
    NodeNameSet,
    PreemptionSampling,
    Sampling,
)
from kwhatif.kube.model.caveat.workloads import EvictedByTaint
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.decisions.decide import decision_of, ignored, in_full, in_short, objections_of
from kwhatif.questions.rows import with_chosen
from kwhatif.report.decision import CandidateRow, Decision, Outcome
from kwhatif.scheduler.batch import ScheduleResult
from kwhatif.scheduler.framework.attempt import Attempt, attempt
from kwhatif.scheduler.framework.profile import Profile, profile_of
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.scheduler.plugins.dynamic_resources import DynamicResources
from kwhatif.scheduler.plugins.dynamic_resources.filtering import ClaimFilter
from kwhatif.scheduler.preemption.candidate import Preemption, Victim, counted
from kwhatif.scheduler.preemption.policy import EvictsByPolicy
from kwhatif.simulation.api_server import ApiServer
from kwhatif.state.change import Delete, Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


def took_room(
    asked: ScheduleResult, before: Sequence[ScheduleResult], profile: Profile, state: State
) -> tuple[str, ...]:
    """The keys of earlier pods without which the pod would fit, or would need no eviction; none if they do not matter.

    Args:
        asked: of a pod that evicts others, or stays pending.
        before: the pods in question, in the order in which they were placed.
        profile: of the pod's scheduler.
        state: what the pod was judged on.
    """
    there = [each for each in before if _is_there(each, state)]
    result = attempt(profile, asked.pod, without(there, state))
    if result.scores is not None:
        nodes = {node.name for node in result.cycle.feasible}
    elif asked.outcome == "Unschedulable":
        outcome = result.post_filter.outcome if result.post_filter else None
        nodes = {each.node for each in outcome.candidates} if isinstance(outcome, Preemption) else set()
    else:
        nodes = set()
    return in_the_way(there, nodes)


def without(placed: Sequence[ScheduleResult], state: State, gone: Sequence[PodInfo] = ()) -> State:
    """A fork without these placed pods, but with their victims, and with others that are gone."""
    fork = state.fork()
    fork.apply(*(Delete(Pod, each.pod.key) for each in placed))
    for victim in (*(victim.pod for each in placed for victim in each.victims), *gone):
        if victim.key not in fork.pods:
            fork.apply(Upsert(victim.pod))
    return fork


def in_the_way(placed: Sequence[ScheduleResult], nodes: Collection[str]) -> tuple[str, ...]:
    """The keys of the placed pods on the nodes where another pod would fit without all of them.

    If there is none on these nodes, all are in the way: by affinity, spreading, a volume or a device.
    """
    here = tuple(each.pod.key for each in placed if each.node in nodes)
    return here or (tuple(each.pod.key for each in placed) if nodes else ())


def _is_there(placed: ScheduleResult, state: State) -> bool:
    """Whether it was not evicted meanwhile."""
    pod = state.pods.get(placed.pod.key)
    return pod is not None and pod.pod.spec.node_name == placed.node


class Explainer(Protocol):
    """Which decisions say why, and how."""

    def explains(self, result: ScheduleResult, explained: Collection[Outcome]) -> bool:
        """Whether the decision about the pod is to say why; `explained`: outcomes that pods like it have explained."""

    def describe(self, whole: Attempt) -> Decision:
        """The decision that says why; called before anything changes."""


#: Which decisions about the pods of a workload say why. `failures`: the first of each outcome but `Placed`, with a few
#: nodes of each kind. `outcomes`: the first of each outcome, with all nodes.
Explain = Literal["nothing", "failures", "outcomes"]


class ExplainedAttempt(NamedTuple):
    """A pod, the cluster just before its attempt, and the objections to each node."""

    pod: PodInfo
    state: State
    objections: Mapping[str, Sequence[Verdict]]


class WorkloadExplainer:
    """Explains decisions about the pods of workloads."""

    def __init__(self, explain: Explain, described: int | None = None, *, keeps: bool = False) -> None:
        """Set up.

        Args:
            explain: which decisions say why.
            described: how many candidates for eviction each describes where all nodes are shown, best first; None: all.
            keeps: whether explained attempts are kept.
        """
        self._explain, self._described, self._keeps = explain, described, keeps
        #: By key of the pod, the attempts that were explained.
        self.kept: dict[str, ExplainedAttempt] = {}

    def explains(self, result: ScheduleResult, explained: Collection[Outcome]) -> bool:
        """See `Explainer`."""
        if self._explain == "nothing" or result.outcome in explained:
            return False
        return self._explain == "outcomes" or result.outcome != "Placed"

    def describe(self, whole: Attempt) -> Decision:
        """See `Explainer`."""
        if self._keeps:
            pod = whole.cycle.pod
            self.kept[pod.key] = ExplainedAttempt(pod, whole.cycle.state.fork(), objections_of(whole))
        return in_full(whole) if self._explain == "failures" else decision_of(whole, described=self._described)


_NOT_EXPLAINED = WorkloadExplainer("nothing")


class UncountedEvictions:
    """Evictions since the disruption controller has counted budgets."""

    def __init__(self) -> None:
        self._spent: Counter[str] = Counter()

    def add(self, victims: Iterable[Victim]) -> None:
        """Count the evictions."""
        self._spent.update(budget for budgets in counted(victims) for budget in budgets)

    def over(self, budget: str) -> None:
        """The controller has counted this budget (`namespace/name`) again."""
        self._spent.pop(budget, None)

    def as_left(self, decision: Decision) -> Decision:
        """The decision with what budgets really allow; the reasons for its node are still those of the scheduler."""
        return with_chosen(decision, self._as_left) if self._spent else decision

    def _as_left(self, chosen: CandidateRow) -> CandidateRow:
        spent = self._spent
        if not any(row.budget in spent for row in chosen.budgets):
            return chosen
        rows = tuple(
            replace(row, before=row.before - spent[row.budget], after=row.after - spent[row.budget])
            for row in chosen.budgets
        )
        left = {row.budget: row.before for row in rows}
        victims = []
        for victim in chosen.victims:
            budgets = [budget for budget in victim.budgets if budget in left]
            broken = [budget for budget in budgets if left[budget] <= 0]
            left.update((budget, left[budget] - 1) for budget in budgets)
            victims.append(replace(victim, violates=tuple(dict.fromkeys((*victim.violates, *broken)))))
        return replace(chosen, budgets=rows, victims=tuple(victims))


class Explained:
    """The outcomes that were explained for one of several equal pods."""

    def __init__(self) -> None:
        self.outcomes: set[Outcome] = set()


class Described:
    """Results of a scheduler as decisions, each described before anything changes."""

    def __init__(self, api_server: ApiServer, profiles: Mapping[str, Profile], explain: Explainer) -> None:
        """`explain`: which decisions say why, and how."""
        self._api_server = api_server
        self._profiles = profiles
        self._explain = explain
        self.caveats: dict[Caveat, None] = {}
        #: The results of other pods that were pending before, in the order in which they were first tried.
        self._earlier: dict[str, ScheduleResult] = {}
        self.uncounted = UncountedEvictions()

    def decide(self, result: ScheduleResult, explained: Explained | None) -> Decision | None:
        """The decision about a tried pod, if it is final; `explained`: None if the pod is not asked about."""
        raise NotImplementedError

    def note(self, result: ScheduleResult) -> None:
        """Record the caveats of the result."""
        if result.whole is not None:
            self.caveats.update(dict.fromkeys(caveats_of(result.whole)))
        if result.hinted:
            self.caveats[Batching()] = None

    def profile_of(self, pod: Pod) -> Profile | None:
        """The profile of the pod; None: another scheduler places it."""
        return profile_of(pod, self._profiles)

    def described(self, explained: Explained, result: ScheduleResult, whole: Attempt | None = None) -> Decision:
        """The decision, with reasons if pods like it have not explained its outcome yet.

        Args:
            explained: what pods like it have explained already.
            result: about the pod.
            whole: the whole attempt, as things are; None: it is yet to be made, if it is needed.
        """
        explains = self._explain.explains(result, explained.outcomes)
        explained.outcomes.add(result.outcome)
        if not explains:
            return in_short(result)
        found = self._with_others(result, whole or self.attempt(result.pod))
        if result.outcome == "Placed" and found.node != result.node:
            found = replace(found, node=result.node)
        return replace(found, ties=result.ties) if result.hinted else found

    def _with_others(self, result: ScheduleResult, whole: Attempt) -> Decision:
        before = [each for each in self._earlier.values() if each.node is not None]
        decision = self._explain.describe(whole)
        if not before or result.outcome not in ("Preempts", "Unschedulable"):
            return decision
        return replace(decision, after=took_room(result, before, whole.cycle.profile, whole.cycle.state))

    def attempt(self, pod: PodInfo) -> Attempt:
        """A whole attempt for the pod, as things are."""
        state = self._api_server.state.fork()
        state.apply(Delete(Pod, pod.key))
        profile = self.profile_of(pod.pod)
        assert profile is not None, "it was tried"
        return attempt(profile, pod, state)


class AtOnce(Described):
    """Each pod is tried once; the result is the decision."""

    def __init__(
        self,
        api_server: ApiServer,
        profiles: Mapping[str, Profile],
        explain: Explainer = _NOT_EXPLAINED,
        *,
        counts_budgets: bool = True,
    ) -> None:
        """`explain`: which decisions say why, and how; `counts_budgets`: see `InstantEngine`."""
        super().__init__(api_server, profiles, explain)
        self._counts_budgets = counts_budgets
        #: The decisions about other pods that were pending before, in the order in which they were tried.
        self.earlier: list[Decision] = []

    def note(self, result: ScheduleResult) -> None:
        """Record the caveats of the result, and of the node where it is to run."""
        super().note(result)
        if result.outcome == "Placed" and result.node is not None:
            self._look_at_taints(result.pod, result.node)

    def decide(self, result: ScheduleResult, explained: Explained | None) -> Decision:
        """See `Described`: the only attempt of a pod is final."""
        if result.outcome == "Ignored":
            return ignored(result.pod.pod)
        self.note(result)
        decision = in_short(result) if explained is None else self.described(explained, result, result.whole)
        if result.victims and not self._counts_budgets:
            decision = self.uncounted.as_left(decision)
            self.uncounted.add(result.victims)
        if explained is None:
            self._earlier[result.pod.key] = result.settled
            self.earlier.append(decision)
        return decision

    def _look_at_taints(self, pod: PodInfo, name: str) -> None:
        node = self._api_server.state.by_name[name].node
        seconds = evicted_after(pod.pod, node) if node.spec.taints else None
        if seconds is not None:
            self.caveats[EvictedByTaint(seconds=int(seconds), pods=(pod.key,))] = None


_MIN_FEASIBLE_NODES = 100


def nodes_looked_for(profile: Profile, nodes: int) -> int:
    """After how many feasible nodes kube-scheduler stops looking (`numFeasibleNodesToFind`)."""
    if nodes < _MIN_FEASIBLE_NODES:
        return nodes
    percentage = profile.percentage_of_nodes_to_score or max(5, 50 - nodes // 125)
    return max(nodes * percentage // 100, _MIN_FEASIBLE_NODES) if percentage < 100 else nodes


def caveats_of(result: Attempt) -> Iterator[Caveat]:
    """Caveats about one attempt."""
    cycle = result.cycle
    pod = cycle.pod
    if pod.pod.spec.node_name:
        yield NodeNameSet(pods=(pod.key,))
    looked_for = nodes_looked_for(cycle.profile, len(cycle.state.nodes))
    if len(cycle.feasible) > looked_for:
        yield Sampling(looked_for=looked_for, nodes=len(cycle.state.nodes))
    yield from (replace(remark, pods=(pod.key,)) for remark in cycle.extenders.remarks)
    devices = cycle.compiled.get(DynamicResources.name)
    for claim in devices.undated if isinstance(devices, ClaimFilter) else ():
        yield BindingNotDated(claim=claim, pods=(pod.key,))
    yield from _preemption_caveats(result)


def _preemption_caveats(result: Attempt) -> Iterator[Caveat]:
    outcome = result.post_filter.outcome if result.post_filter else None
    if not isinstance(outcome, Preemption):
        return
    tried = len(outcome.candidates) + len(outcome.rejected)
    for plugin in result.cycle.profile.post_filter:
        if isinstance(plugin, EvictsByPolicy):
            enough = plugin.sufficient_candidates(tried)
            if len(outcome.candidates) > enough:
                yield PreemptionSampling(enough=enough, candidates=len(outcome.candidates))
