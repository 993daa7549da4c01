"""The order of victims, and the ranking of candidates.

Follows `MoreImportantPod` and `GetEarliestPodStartTime` in `pkg/scheduler/util/utils.go`, and
`pickOneNodeForPreemption` in `pkg/scheduler/framework/preemption/preemption.go`.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from kwhatif.state.pod_info import PodInfo

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

    QUIRK: (utils.go) for a pod without start time the clock is read at each comparison, for the left pod first, and
    Go sorts up to 12 elements by insertion: such pods of equal priority are reversed. Beyond 12 elements the order
    among equals depends on Go's sorting; it is treated the same here. Since 1.37 the clock is read once per pod, in
    the node's order (`NewVictim`), which is kept.
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
    best = pods[0]  # usually the result
    for pod in pods:
        if pod.priority > best.priority or (pod.priority == best.priority and _started(pod) < _started(best)):
            best = pod
    return best


def rank(pods: Sequence[PodInfo], pdb_violations: int) -> Rank:
    """The rank of a candidate with these victims, the most important first: a number for each of `RUNGS`."""
    # QUIRK: (preemption.go) the later start wins: the node whose victims have run for less time.
    return pdb_violations, pods[0].priority, priority_sum(pods), len(pods), -_started(oldest(pods))


def deciding_rung(rungs: Sequence[str], better: Rank, worse: Rank) -> str:
    """The first criterion by which the two differ; "" if they are equal."""
    for rung, ours, theirs in zip(rungs, better, worse, strict=True):
        if ours != theirs:
            return rung
    return ""
