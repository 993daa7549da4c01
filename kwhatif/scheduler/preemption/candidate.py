"""What preemption found out: candidates with their victims, or why there are none, as data."""

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
    """An attempt to put a pod back: `objection` None when it stays, else what the preemptor ran into with it there."""

    pod: PodInfo
    objection: Verdict | None = None


class Reprieval(NamedTuple):
    """What came of trying pods back."""

    #: All pods that may be evicted, in the order in which they were tried: those that break a budget first.
    tried: Sequence[PodInfo]
    #: Those beside which the preemptor has no room.
    refused: Sequence[PodInfo]
    #: Finds out what it ran into beside each of these.
    find_objections: Callable[[], Mapping[PodInfo, Verdict]]


#: For victims that somebody else chose.
NOT_TRIED = Reprieval((), (), dict)


class Candidate(msgspec.Struct, frozen=True, eq=False):
    """A node where evicting the victims makes room.

    There may be thousands, and most lose: what only a reader wants to know is found out when it is asked for.
    """

    node: str
    #: The victims' pods, in the scheduler's order: the most important one first.
    pods: Sequence[PodInfo]
    #: Victims that break a budget.
    pdb_violations: int
    #: The standing by the policy's rungs; the least one wins.
    rank: Rank
    #: Which budgets the pods count against.
    split: Split
    #: What came of trying them back.
    reprieval: Reprieval

    @property
    def victims(self) -> tuple[Victim, ...]:
        """Whom to evict, and what budgets say to it."""
        counting, broken = self.split.counting, self.split.broken
        return tuple([Victim(pod, counting.get(pod, ()), broken.get(pod, ())) for pod in self.pods])

    @property
    def budgets(self) -> tuple[BudgetUse, ...]:
        """The budgets that match any victim."""
        return self.split.uses(self.pods)

    @property
    def reprieves(self) -> tuple[Reprieve, ...]:
        """What came of trying the pods back, pod by pod."""
        refused = self.reprieval.find_objections()
        return tuple([Reprieve(pod, refused.get(pod)) for pod in self.reprieval.tried])

    @property
    def oldest(self) -> PodInfo:
        """The victim that started first, of those with the highest priority; its start is the last rung."""
        return ranking.oldest(self.pods)


class Preemption(msgspec.Struct, frozen=True):
    """Whom the pod would evict, and why there."""

    #: Whether the pod may evict at all; if not, `message` says why and nothing was tried.
    eligible: bool = True
    #: The scheduler's own text, without its prefix; "" when a node was found.
    message: str = ""
    #: The node that the pod is nominated to.
    node: str | None = None
    #: All nodes that are equally good, sorted; the scheduler takes any of them.
    ties: tuple[str, ...] = ()
    #: Best first, then by name.
    candidates: tuple[Candidate, ...] = ()
    #: What the numbers of a candidate's `rank` mean.
    rungs: tuple[str, ...] = ranking.RUNGS
    #: Nodes that were tried without success.
    rejected: Mapping[str, Verdict] = {}
    #: Pods of lower priority that lose their nomination to `node`.
    cleared_nominations: tuple[PodInfo, ...] = ()

    def deciding_rung(self, better: Candidate, worse: Candidate) -> str:
        """On which rung of the ladder the one beats the other; "" when they tie."""
        return ranking.deciding_rung(self.rungs, better.rank, worse.rank)
