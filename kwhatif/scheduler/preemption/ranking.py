"""The order of victims, and the ladder of candidates.

Follows `MoreImportantPod` and `GetEarliestPodStartTime` in `pkg/scheduler/util/utils.go`, and
`pickOneNodeForPreemption` in `pkg/scheduler/framework/preemption/preemption.go`.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from kwhatif.state.pod_info import PodInfo

#: What kube-scheduler compares candidates by, in turn; less is better on every rung but the last.
RUNGS = ("pdbViolations", "highestPriority", "prioritySum", "victims", "earliestStart")

Rank = tuple[int, ...]

#: Lifts every priority above zero, so that a node with fewer victims of a negative priority has the smaller sum.
_PRIORITY_OFFSET = 2**31
#: Stands for the start of a pod that has not started. Upstream takes the current time; nothing that started is later.
_NOT_STARTED = 2**63

_START, _PRIORITY = attrgetter("start_time"), attrgetter("priority")


def _started(pod: PodInfo) -> int:
    start = pod.start_time
    return _NOT_STARTED if start is None else start


def by_importance(pods: Sequence[PodInfo], *, unstarted_reversed: bool = True) -> list[PodInfo]:
    """The most important pod first: the higher priority, then the earlier start.

    QUIRK: (utils.go) a pod without start time takes the clock each time it is compared, the left one first, and
    Go sorts up to 12 elements by insertion: of equal priority, such pods come out in reverse. Beyond 12 elements
    the order among equals follows from Go's sorting alone; it is treated the same here. From 1.37 on the clock is
    taken once, in the order of the node (`NewVictim`): then they come out as they stand there.
    """
    started = [pod for pod in pods if pod.start_time is not None]
    started.sort(key=_START)
    if len(started) != len(pods):
        unstarted = [pod for pod in pods if pod.start_time is None]
        started.extend(reversed(unstarted) if unstarted_reversed else unstarted)
    started.sort(key=_PRIORITY, reverse=True)  # and this keeps the order among equals
    return started


def priority_sum(pods: Sequence[PodInfo]) -> int:
    """The sum of all priorities, each raised by 2^31."""
    return sum([pod.priority for pod in pods]) + len(pods) * _PRIORITY_OFFSET


def oldest(pods: Sequence[PodInfo]) -> PodInfo:
    """The pod that started first, of those with the highest priority."""
    best = pods[0]  # mostly it is
    for pod in pods:
        if pod.priority > best.priority or (pod.priority == best.priority and _started(pod) < _started(best)):
            best = pod
    return best


def rank(pods: Sequence[PodInfo], pdb_violations: int) -> Rank:
    """Where a candidate with these victims, most important first, stands on each of `RUNGS`; less is better."""
    # QUIRK: (preemption.go) the later start wins, so the node whose victims have run for less time.
    return pdb_violations, pods[0].priority, priority_sum(pods), len(pods), -_started(oldest(pods))


def deciding_rung(rungs: Sequence[str], better: Rank, worse: Rank) -> str:
    """The first rung on which the two differ; "" when they tie."""
    for rung, ours, theirs in zip(rungs, better, worse, strict=True):
        if ours != theirs:
            return rung
    return ""
