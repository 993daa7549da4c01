"""The result of preemption as data: candidates with their victims and their ranking, or why there are none.

Follows `MoreImportantPod` and `GetEarliestPodStartTime` in `pkg/scheduler/util/utils.go`, and
`pickOneNodeForPreemption` in `pkg/scheduler/framework/preemption/preemption.go`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

import msgspec

from kwhatif.kube.model.pod import Pod, pod_condition
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.scheduler.preemption.budgets import Budgets, BudgetUse, Split
from kwhatif.state.change import Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: The criteria by which kube-scheduler compares candidates, in order; lower is better for all but the last.
RUNGS = ("pdbViolations", "highestPriority", "prioritySum", "victims", "earliestStart")

Rank = tuple[int, ...]

#: Makes every priority positive, so that a node with fewer victims of a negative priority has the smaller sum.
_PRIORITY_OFFSET = 2**31
#: The start of a pod that has not started. Upstream uses the current time, which is later than all others.
_NOT_STARTED = 2**63

_START, _PRIORITY = attrgetter("start_time"), attrgetter("priority")


def _started(pod: PodInfo) -> int:
    start = pod.start_time
    return _NOT_STARTED if start is None else start


def by_importance(pods: Sequence[PodInfo], *, unstarted_reversed: bool = True) -> list[PodInfo]:
    """The most important pod first: by higher priority, then by earlier start.

    QUIRK: (utils.go) a pod without start time counts as started now. Each comparison reads the clock again, for the
    left pod first, and Go sorts up to 12 elements by insertion: so such pods of equal priority are reversed. Beyond
    12 elements their order depends on Go's sorting algorithm; here they are reversed as well. Since 1.37 the clock is
    read once per pod, in the node's order (`NewVictim`): so such pods keep the node's order.
    """
    started = [pod for pod in pods if pod.start_time is not None]
    started.sort(key=_START)
    if len(started) != len(pods):
        unstarted = [pod for pod in pods if pod.start_time is None]
        started.extend(reversed(unstarted) if unstarted_reversed else unstarted)
    started.sort(key=_PRIORITY, reverse=True)  # a stable sort
    return started


def priority_sum(pods: Sequence[PodInfo]) -> int:
    """The sum of all priorities, each raised by 2^31."""
    return sum([pod.priority for pod in pods]) + len(pods) * _PRIORITY_OFFSET


def oldest(pods: Sequence[PodInfo]) -> PodInfo:
    """The pod that started first among those with the highest priority."""
    best = pods[0]  # most often already the result
    for pod in pods:
        if pod.priority > best.priority or (pod.priority == best.priority and _started(pod) < _started(best)):
            best = pod
    return best


def rank(pods: Sequence[PodInfo], pdb_violations: int) -> Rank:
    """The rank of a candidate with these victims, the most important first: a number for each of `RUNGS`."""
    # QUIRK: (preemption.go) the later start wins: a node is preferred if its victims have run for less time.
    return pdb_violations, pods[0].priority, priority_sum(pods), len(pods), -_started(oldest(pods))


def deciding_rung(rungs: Sequence[str], better: Rank, worse: Rank) -> str:
    """The first criterion for which the two ranks differ; "" if they are equal."""
    for rung, ours, theirs in zip(rungs, better, worse, strict=True):
        if ours != theirs:
            return rung
    return ""


class Victim(msgspec.Struct, frozen=True, gc=False):
    """A pod to evict; its eviction counts against `budgets` and breaks `violates`, both as `namespace/name`."""

    pod: PodInfo
    budgets: tuple[str, ...] = ()
    violates: tuple[str, ...] = ()


class Reprieve(msgspec.Struct, frozen=True, gc=False):
    """An attempt to put a pod back: `objection` is None if it stays, or why the preemptor does not fit with it."""

    pod: PodInfo
    objection: Verdict | None = None


class Reprieval(NamedTuple):
    """The result of putting pods back."""

    #: All pods that may be evicted, in the order in which they were put back: pods that break a budget first.
    tried: Sequence[PodInfo]
    #: The pods that must be evicted: beside them the preemptor does not fit.
    refused: Sequence[PodInfo]
    #: Computes why the preemptor does not fit beside each of the `refused` pods.
    find_objections: Callable[[], Mapping[PodInfo, Verdict]]


#: For victims that an extender chose.
NOT_TRIED = Reprieval((), (), dict)


class Candidate(msgspec.Struct, frozen=True, eq=False):
    """A node where evicting the victims makes room for the pod.

    There may be thousands of candidates, and only one is chosen: details for reports are computed on demand.
    """

    node: str
    #: The victims' pods, in the scheduler's order: the most important one first.
    pods: Sequence[PodInfo]
    #: The number of victims that break a budget.
    pdb_violations: int
    #: The rank by the policy's criteria; the lowest one wins.
    rank: Rank
    #: The budgets that select the pods.
    split: Split
    #: The result of putting pods back.
    reprieval: Reprieval

    @property
    def victims(self) -> tuple[Victim, ...]:
        """The victims, with their budgets and the budgets that they break."""
        counting, broken = self.split.counting, self.split.broken
        return tuple([Victim(pod, counting.get(pod, ()), broken.get(pod, ())) for pod in self.pods])

    @property
    def budgets(self) -> tuple[BudgetUse, ...]:
        """The budgets that select any victim."""
        return self.split.uses(self.pods)

    @property
    def reprieves(self) -> tuple[Reprieve, ...]:
        """The result of putting each pod back."""
        refused = self.reprieval.find_objections()
        return tuple([Reprieve(pod, refused.get(pod)) for pod in self.reprieval.tried])

    @property
    def oldest(self) -> PodInfo:
        """The victim that started first among those with the highest priority; its start time is the last criterion."""
        return oldest(self.pods)


class Preemption(msgspec.Struct, frozen=True):
    """The pods that the pod would evict, and why on this node."""

    #: Whether the pod may evict others; if not, `message` says why, and nothing was tried.
    eligible: bool = True
    #: The scheduler's message, without its prefix; "" if a node was found.
    message: str = ""
    #: The node that the pod is nominated to.
    node: str | None = None
    #: Names of all nodes that are equally good, sorted; the scheduler takes any of these nodes.
    ties: tuple[str, ...] = ()
    #: The best candidate first; equally good ones by name.
    candidates: tuple[Candidate, ...] = ()
    #: The criteria of a candidate's `rank`, one per number.
    rungs: tuple[str, ...] = RUNGS
    #: Nodes that were tried without success.
    rejected: Mapping[str, Verdict] = {}
    #: Pods of lower priority that lose their nomination to `node`.
    cleared_nominations: tuple[PodInfo, ...] = ()

    def deciding_rung(self, better: Candidate, worse: Candidate) -> str:
        """The criterion by which the first candidate beats the second; "" if they are equal."""
        return deciding_rung(self.rungs, better.rank, worse.rank)


def disrupt(state: State, victims: Iterable[Victim]) -> None:
    """Update the budgets of victims that were removed from the state, as the controller would.

    Follows `countHealthyPods` in `pkg/controller/disruption/disruption.go`. The dry run of preemption itself counts
    every pod that a budget selects, ready or not: see `budgets`.
    """
    disruptions = counted(victims)
    if disruptions:
        state.apply(*map(Upsert, Budgets(state.cluster).spent_by(disruptions)))


def counted(victims: Iterable[Victim]) -> list[tuple[str, ...]]:
    """For each victim that budgets count, the budgets (`namespace/name`)."""
    return [victim.budgets for victim in victims if victim.budgets and _counts_as_healthy(victim.pod.pod)]


def _counts_as_healthy(pod: Pod) -> bool:
    """Whether a budget allows less once the pod is gone: it must be ready, and not already terminating.

    The kubelet sets the condition Ready on every pod that it runs. A pod without the condition was written by hand, as
    was the status of its budget: such a pod counts as ready if it is running.
    """
    if pod.metadata.deletion_timestamp is not None:
        return False
    ready = pod_condition(pod, "Ready")
    if ready is None:
        return pod.status.phase != "Pending"
    return ready.status == "True"
