"""Two clusters, and which answers differ because of what: what the command `compare` adds to a report."""

from __future__ import annotations

from typing import Literal

from kwhatif.admission.outcome import ChangeRow
from kwhatif.kube.model.meta import Row
from kwhatif.report.inputs import SchedulerInfo, SnapshotInfo

Changed = Literal["added", "removed", "changed", "scheduler", "times"]
#: Whether a cause is the smallest set of changes (all smaller ones were tried), a set of which none can be left out, or
#: not found.
Proof = Literal["smallest", "minimal", "none"]


class ClusterChangeRow(Row, kw_only=True):
    """One change between the clusters, which can be made by itself.

    `scheduler`: another release or configuration; `times`: all times and identifiers of objects that are there in both.
    """

    change: Changed
    #: `Node a1`; of `times`, how many objects it is about.
    object: str
    #: The workload of a pod; "" for other objects, and for pods without one.
    workload: str = ""
    fields: tuple[ChangeRow, ...] = ()


class ClusterAnswerRow(Row, kw_only=True):
    """Something that the two clusters answer differently; null where only one of them has it."""

    question: str
    #: A pod, or what else an answer is about.
    subject: str
    before: str | None
    after: str | None
    #: Indexes in `CompareRow.changes`: with only these changes, the first cluster answers like the second.
    because: tuple[int, ...] = ()
    proof: Proof = "none"
    #: How many sets of changes were asked about.
    tried: int = 0


class CompareRow(Row, kw_only=True):
    """What is different between two clusters, and which answers."""

    before: SnapshotInfo
    after: SnapshotInfo
    #: The scheduler of the first cluster; that of the second is the report's.
    before_scheduler: SchedulerInfo
    changes: tuple[ClusterChangeRow, ...] = ()
    questions: tuple[str, ...] = ()
    answers: tuple[ClusterAnswerRow, ...] = ()
    #: How many answers are the same.
    unchanged: int = 0
