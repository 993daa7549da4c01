"""One scheduling cycle of a group, and its results (`pkg/scheduler/schedule_one_podgroup.go`, 1.37).

Members are tried one at a time, each on what those before it leave; no other order is tried. A group with a topology
constraint is tried so on each of its placements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.scheduler.batch.result import ScheduleResult, result_of
from kwhatif.scheduler.framework.attempt import attempt
from kwhatif.scheduler.framework.plugin import Placement, Proposal
from kwhatif.scheduler.framework.profile import Profile, names
from kwhatif.scheduler.framework.status import Code, Status
from kwhatif.scheduler.plugins.gang_scheduling import GangScheduling
from kwhatif.scheduler.preemption.budgets import BudgetUse
from kwhatif.scheduler.preemption.victims import Unit
from kwhatif.state.change import Bind, Nominate
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: The text before the reasons, if a status wraps this error (`errPodGroupUnschedulable`).
GROUP_UNSCHEDULABLE = "pod group is unschedulable"


class GroupStatus(msgspec.Struct, frozen=True):
    """A status with the scheduler's own words; SUCCESS: the group is placed."""

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    #: Whether it wraps the error that the group is unschedulable: this then comes first, and is all that `error` says.
    wraps: bool = False
    #: How many of the reasons were there before PostFilter; None: all.
    before: int | None = None

    @property
    def message(self) -> str:
        """All reasons (`Status.Message()`)."""
        return ", ".join((GROUP_UNSCHEDULABLE, *self.reasons) if self.wraps else self.reasons)

    @property
    def error(self) -> str:
        """What the status says as an error (`Status.AsError()`)."""
        return GROUP_UNSCHEDULABLE if self.wraps else self.message

    def with_reason(self, reason: str) -> GroupStatus:
        """The status with one more reason (`AppendReason`)."""
        return replace(self, reasons=(*self.reasons, reason), before=len(self.reasons))

    @property
    def without_post_filter(self) -> GroupStatus:
        """The status of members that were not tried: a copy that was made before PostFilter."""
        return self if self.before is None else replace(self, reasons=self.reasons[: self.before], before=None)


def unschedulable(*reasons: str) -> GroupStatus:
    """The group cannot be placed; it wraps the error that says so."""
    return GroupStatus(Code.UNSCHEDULABLE, reasons, wraps=True)


def failure(message: str) -> GroupStatus:
    """The scheduler itself fails."""
    return GroupStatus(Code.ERROR, (message,))


class GroupPreemption(msgspec.Struct, frozen=True):
    """The pods that the group evicts, and the nodes that its members would then get."""

    #: The most important first.
    victims: Sequence[Unit] = ()
    #: Key of a member -> the node that it is nominated to.
    nominations: Mapping[str, str] = {}
    #: The budgets that count the victims, and the victims that break a budget, by key.
    budgets: Sequence[BudgetUse] = ()
    breaking: Mapping[str, Sequence[str]] = {}

    @property
    def pods(self) -> list[PodInfo]:
        """The pods to evict."""
        return [pod for unit in self.victims for pod in unit.pods]


class TriedPlacement(msgspec.Struct, frozen=True):
    """The result of trying the group on one placement."""

    #: The value of the label; "" for all nodes.
    name: str
    #: In the order in which members were tried there.
    results: Sequence[ScheduleResult]
    status: GroupStatus
    #: The sum of all scores, where the placement was compared with others.
    score: int | None = None

    @property
    def placed(self) -> int:
        """How many members found a node there."""
        return sum(each.node is not None for each in self.results)


class GroupResult(msgspec.Struct, frozen=True):
    """The result of one cycle."""

    group: PodGroup
    #: In the order in which they were tried; members that were not tried are absent.
    results: Sequence[ScheduleResult]
    #: All that wait for a node.
    members: Sequence[PodInfo]
    status: GroupStatus
    #: The placement that was taken, or the one whose failure is reported; "" for all nodes.
    placement: str = ""
    #: All placements that were tried, where there are several.
    tried: Sequence[TriedPlacement] = ()
    #: How many members had a node before.
    bound: int = 0
    #: The pods that it would evict; None: none.
    preemption: GroupPreemption | None = None
    #: Whether the group waits for victims of an earlier cycle, or of this one, to be gone.
    waits_for_victims: bool = False

    @property
    def is_placed(self) -> bool:
        """Whether the members that fit get their nodes."""
        return self.status.code is Code.SUCCESS

    @property
    def placed(self) -> list[ScheduleResult]:
        """The members that fit, whether the group is placed or not."""
        return [each for each in self.results if each.node is not None]

    def failure_of(self, member: PodInfo, own: ScheduleResult | None) -> ScheduleResult:
        """The result for a member that gets no node, with the message of its condition; `own`: the result of its try.

        (`submitPodGroupAlgorithmResult`)
        """
        status = self.status
        rejectors: tuple[str, ...] = ()
        failed = status.code is Code.ERROR
        if failed:
            message = own.message if own is not None and own.failed else status.message
        elif own is None:
            message = status.without_post_filter.message
        elif own.node is None:
            message, rejectors = own.message, own.rejectors
        else:
            message = status.message if self.waits_for_victims else f"{GROUP_UNSCHEDULABLE}, {status.message}"
        return ScheduleResult(member, "Unschedulable", message=message, rejectors=rejectors, failed=failed)


class GroupOutcome(NamedTuple):
    """How the attempts of a group went."""

    #: The last one.
    result: GroupResult
    #: What the condition says; "" once the group was placed.
    message: str
    #: Those that evicted others.
    evicting: tuple[GroupResult, ...] = ()


NO_PLACEMENTS = "no feasible placements found"
#: Tries one pod, and returns the result.
Try = Callable[[PodInfo], ScheduleResult]
#: Returns a function that tries pods on the state, one by one: on the nodes of these names, or on all (None).
Tries = Callable[[State, frozenset[str] | None], Try]
#: Chooses one of several equally good placements, given their names in order.
Choose = Callable[[Sequence[str]], str]


class GroupCycle(NamedTuple):
    """The settings of a group's cycle."""

    #: The profile for all members: without PreEnqueue, and without eviction for a single member.
    profile: Profile
    tries: Tries
    choose: Choose = min
    #: Whether GangScheduling runs; without it any number of members is enough.
    is_gang: bool = True
    #: The names of the PodGroupPostFilter plugins.
    post_filter: Sequence[str] = ()


def plain_cycle(profile: Profile) -> GroupCycle:
    """A cycle in which every member is a whole attempt."""
    alone = for_members(profile)
    return group_cycle(profile, lambda state, some: lambda pod: result_of(attempt(alone, pod, state, placement=some)))


def group_cycle(profile: Profile, tries: Tries, choose: Choose = min) -> GroupCycle:
    """A cycle with the plugins of the profile."""
    is_gang = any(plugin.name == GangScheduling.name for plugin in profile.pre_enqueue)
    return GroupCycle(for_members(profile), tries, choose, is_gang, names(profile.pod_group_post_filter))


def for_members(profile: Profile) -> Profile:
    """The profile for a member of a group, which is in the queue already, and does not evict pods by itself."""
    return replace(profile, pre_enqueue=(), post_filter=())


def without_nominations(state: State, members: Sequence[PodInfo]) -> State:
    """A fork in which the members are not nominated.

    QUIRK: (scheduling_queue.go, nominatedPodToInfo) they are in flight, and so count as pods without requests.
    """
    fork = state.fork()
    fork.apply(*(Nominate(pod.key, None) for pod in members if state.nomination_of(pod.key) is not None))
    return fork


def run_algorithm(cycle: GroupCycle, group: PodGroup, members: Sequence[PodInfo], state: State) -> GroupResult:
    """Find nodes for the members, in this order; the state stays as it is (`runRootSchedulingAlgorithm`)."""
    found = _on_placements(cycle, group, members, state)
    if found.is_placed and not found.placed:
        return replace(found, status=unschedulable())
    return found


# --- placements --------------------------------------------------------------------------------------


def _on_placements(cycle: GroupCycle, group: PodGroup, members: Sequence[PodInfo], state: State) -> GroupResult:
    """Try the members on each placement, and take the best (`podGroupSchedulingPlacementAlgorithm`).

    Without the feature gate no plugin makes placements.
    """
    if not cycle.profile.placement_generate:
        return _on_nodes(cycle, group, members, state)
    bound = bound_members(group, state)
    placements = cycle.profile.placement_generate[0].generate_placements(group, state)
    if isinstance(placements, Status):
        return GroupResult(group, (), members, failure(placements.message), bound=bound)
    if not placements:
        return GroupResult(group, (), members, GroupStatus(Code.UNSCHEDULABLE, (NO_PLACEMENTS,)), bound=bound)
    found: list[GroupResult] = []
    for placement in placements:
        result = _on_nodes(cycle, group, members, state, placement)
        if result.status.code is Code.ERROR:
            return result
        found.append(replace(result, placement=placement.name))
    return _choose(cycle, state, list(zip(placements, found, strict=True)))


def _choose(cycle: GroupCycle, state: State, found: Sequence[tuple[Placement, GroupResult]]) -> GroupResult:
    fitting = [(placement, result) for placement, result in found if result.is_placed]
    first = found[0][1]
    if not fitting:
        tried = tuple(_tried(found, {}))
        why = f"0/{len(found)} placements are available, first placement status: {first.status.error}"
        return replace(first, status=unschedulable(why), tried=tried)
    scores = _scores(cycle, state, fitting) if len(fitting) > 1 else {fitting[0][0].name: 0}
    best = max(scores.values())
    name = cycle.choose(sorted(each for each, score in scores.items() if score == best))
    chosen = next(result for placement, result in fitting if placement.name == name)
    return replace(chosen, tried=tuple(_tried(found, scores if len(fitting) > 1 else {})))


def _tried(found: Sequence[tuple[Placement, GroupResult]], scores: dict[str, int]) -> Iterator[TriedPlacement]:
    for placement, result in found:
        yield TriedPlacement(placement.name, result.results, result.status, scores.get(placement.name))


def _scores(cycle: GroupCycle, state: State, fitting: Sequence[tuple[Placement, GroupResult]]) -> dict[str, int]:
    """(`RunPlacementScorePlugins`.) The weights are those of the plugins' Score, as a configuration has only these."""
    total = [0] * len(fitting)
    for plugin in cycle.profile.placement_score:
        raw = [
            plugin.score_placement(result.group, state, Proposal(placement, [each.pod for each in result.placed]))
            for placement, result in fitting
        ]
        weight = cycle.profile.weights.get(plugin.name, 1)
        for index, score in enumerate(plugin.normalize_placement_scores(raw)):
            total[index] += score * weight
    return dict(zip([placement.name for placement, _ in fitting], total, strict=True))


# --- one placement -----------------------------------------------------------------------------------


def bound_members(group: PodGroup, state: State) -> int:
    """How many members have a node (`ScheduledPodsCount`)."""
    return sum(bool(pod.pod.spec.node_name) for pod in state.members_of(key_of(group)).values())


def _progress(least: int, scheduled: int, remaining: int) -> GroupStatus | None:
    """The status of a placement so far (GangScheduling's PlacementFeasible); None: `least` can still be reached."""
    if scheduled + remaining < least:
        why = f"minCount ({least}) cannot be satisfied: {scheduled} scheduled, {remaining} remaining"
        return GroupStatus(Code.UNSCHEDULABLE, (why,))
    return None if scheduled < least else GroupStatus()


def _on_nodes(
    cycle: GroupCycle, group: PodGroup, members: Sequence[PodInfo], state: State, placement: Placement | None = None
) -> GroupResult:
    """Try members one at a time, as long as enough of them may find a node (`podGroupSchedulingDefaultAlgorithm`)."""
    least = group.min_count if cycle.is_gang else 0
    bound = scheduled = bound_members(group, state)
    remaining = len(members)
    status = _progress(least, scheduled, remaining)
    if status is not None and status.code is Code.UNSCHEDULABLE:
        return GroupResult(group, (), members, replace(status, wraps=True), bound=bound)
    results: list[ScheduleResult] = []
    for result in _tried_in_turn(cycle, members, state, placement):
        results.append(result)
        if result.failed:
            why = f"failed to schedule other pod from a pod group: {result.message}"
            return GroupResult(group, results, members, failure(why), bound=bound)
        remaining -= 1
        scheduled += result.node is not None
        status = _progress(least, scheduled, remaining)
        if status is not None and status.code is Code.UNSCHEDULABLE:
            break
    if status is None:
        why = f"minCount ({least}) is not yet satisfied: {scheduled} scheduled, {remaining} remaining"
        status = unschedulable(why)
    return GroupResult(group, results, members, status, bound=bound)


def _tried_in_turn(
    cycle: GroupCycle, members: Sequence[PodInfo], state: State, placement: Placement | None
) -> Iterator[ScheduleResult]:
    """Try each member on the room that those before it leave, and yield its result."""
    work = state.fork()
    work.cluster.forget_derived(Pod)  # no filter asks for it, and keeping it up takes as long as a tenth of the rest
    some = None if placement is None or not placement.name else frozenset(node.name for node in placement.nodes)
    attempts = cycle.tries(work, some)
    for pod in members:
        result = attempts(pod)
        if result.node is None:
            yield result
            continue
        reserved = result.reserve(work.by_name[result.node])
        yield replace(result, reserve=partial(_as_found, reserved))
        work.apply(Bind(pod.key, result.node, reserved))


def _as_found(reserved: tuple[KubernetesObject, ...], _node: NodeInfo) -> tuple[KubernetesObject, ...]:
    return reserved
