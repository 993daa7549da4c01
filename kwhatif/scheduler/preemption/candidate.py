"""The result of preemption as data: candidates with their victims, or why there are none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from kwhatif.scheduler.framework.status import Verdict
from kwhatif.scheduler.preemption import ranking
from kwhatif.scheduler.preemption.budgets import BudgetUse, Split
from kwhatif.scheduler.preemption.ranking import Rank
from kwhatif.state.pod_info import PodInfo


class Victim(msgspec.Struct, frozen=True, gc=False):
    """A pod to evict; its disruption counts against `budgets` and breaks those in `violates` (`namespace/name`)."""

    pod: PodInfo
    budgets: tuple[str, ...] = ()
    violates: tuple[str, ...] = ()


class Reprieve(msgspec.Struct, frozen=True, gc=False):
    """An attempt to put a pod back: `objection` is None if it stays, or why the preemptor does not fit with it."""

    pod: PodInfo
    objection: Verdict | None = None


class Reprieval(NamedTuple):
    """The result of putting pods back."""

    #: All pods that may be evicted, in the order in which they were put back: those that break a budget first.
    tried: Sequence[PodInfo]
    #: The pods that the preemptor does not fit beside.
    refused: Sequence[PodInfo]
    #: Finds out why the preemptor does not fit beside each of these.
    find_objections: Callable[[], Mapping[PodInfo, Verdict]]


#: For victims that an extender chose.
NOT_TRIED = Reprieval((), (), dict)


class Candidate(msgspec.Struct, frozen=True, eq=False):
    """A node where evicting the victims makes room for the pod.

    There may be thousands, and most are not chosen: details for reports are computed on demand.
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
        return ranking.oldest(self.pods)


class Preemption(msgspec.Struct, frozen=True):
    """The pods that the pod would evict, and why on this node."""

    #: Whether the pod may evict others; if not, `message` says why, and nothing was tried.
    eligible: bool = True
    #: The scheduler's own text, without its prefix; "" if a node was found.
    message: str = ""
    #: The node that the pod is nominated to.
    node: str | None = None
    #: All nodes that are equally good, sorted; the scheduler takes any of them.
    ties: tuple[str, ...] = ()
    #: The best first, then by name.
    candidates: tuple[Candidate, ...] = ()
    #: The criteria of a candidate's `rank`, one per number.
    rungs: tuple[str, ...] = ranking.RUNGS
    #: Nodes that were tried without success.
    rejected: Mapping[str, Verdict] = {}
    #: Pods of lower priority that lose their nomination to `node`.
    cleared_nominations: tuple[PodInfo, ...] = ()

    def deciding_rung(self, better: Candidate, worse: Candidate) -> str:
        """The criterion by which the first candidate beats the second; "" if they are equal."""
        return ranking.deciding_rung(self.rungs, better.rank, worse.rank)
