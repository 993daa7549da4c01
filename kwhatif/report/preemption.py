"""Whom a pod would evict, and why there."""

from __future__ import annotations

from kwhatif.kube.model.meta import Row
from kwhatif.report.nodes import RejectedRow
from kwhatif.scheduler.framework.evidence import Evidence


class VictimRow(Row):
    """A pod that would be evicted; `budgets` match it, and it breaks those in `violates`.

    `workload` is its owner; of a ReplicaSet that a Deployment has made, the Deployment.
    """

    pod: str
    priority: int
    start_time: str | None = None
    owner: str | None = None
    workload: str | None = None
    budgets: tuple[str, ...] = ()
    violates: tuple[str, ...] = ()
    terminating: bool = False


class BudgetRow(Row):
    """How many disruptions a budget allows before and after the eviction."""

    budget: str
    before: int
    after: int


class ReprieveRow(Row):
    """One step of bringing pods back: the pod stays (`kept`), or what kept it out."""

    pod: str
    priority: int
    kept: bool
    plugin: str = ""
    reasons: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


class CandidateRow(Row, kw_only=True):
    """A node where eviction makes room; where fewer were asked for, it has only its name and `pdb_violations`."""

    node: str
    pdb_violations: int
    victims: tuple[VictimRow, ...]
    #: What candidates are compared by, in turn: rung -> this candidate's value. kube-scheduler's rungs are
    #: `pdbViolations`, `highestPriority`, `prioritySum` (each raised by 2^31 when compared), `victims` (lower is
    #: better) and `earliestStart` (of the victims with the highest priority; later is better, null is now).
    ladder: dict[str, int | str | None]
    #: The first rung of the ladder on which the candidate before this one is better; "" when they tie.
    loses_by: str = ""
    budgets: tuple[BudgetRow, ...] = ()
    #: How the victims were found: every lower-priority pod was removed, then tried back in this order.
    reprieves: tuple[ReprieveRow, ...] = ()


class PreemptionRow(Row):
    """Whom the pod would evict: null in a decision unless no node is feasible."""

    eligible: bool
    message: str = ""
    node: str | None = None
    ties: tuple[str, ...] = ()
    candidates: tuple[CandidateRow, ...] = ()
    rejected: tuple[RejectedRow, ...] = ()
    cleared_nominations: tuple[str, ...] = ()

    @property
    def chosen(self) -> CandidateRow | None:
        """The candidate that the scheduler takes, if there is one."""
        return next((row for row in self.candidates if row.node == self.node), None) if self.node else None
