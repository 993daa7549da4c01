"""The rows of the commands `upgrade` and `compare`: differences between two releases or two clusters."""

from __future__ import annotations

from typing import Literal

from kwhatif.admission.outcome import ChangeRow
from kwhatif.kube.model.meta import Row
from kwhatif.report.decision import Outcome
from kwhatif.report.inputs import SchedulerInfo, SnapshotInfo

# --- upgrade ---------------------------------------------------------------------------------------------------------


UpgradeDifference = Literal["flipped", "victims", "moved"]


class LandingRow(Row):
    """The result of a pod: every node that is equally good for it, and the pods that it evicts on the first of them."""

    outcome: Outcome
    nodes: tuple[str, ...] = ()
    victims: tuple[str, ...] = ()


class UpgradeRuleRow(Row):
    """A rule of the scheduler that is different in the two releases."""

    name: str
    #: "" for a gate, which may affect several.
    plugin: str
    #: The first release that has it.
    since: str
    #: The feature gate that is on by default since then; "": it is not behind a gate.
    gate: str = ""
    text: str = ""


class UpgradedRow(Row):
    """A pending pod, or a restarted workload, for which the other release decides differently.

    `flipped`: it has another outcome; `victims`: it evicts other pods; `moved`: other nodes are the best for it.
    """

    workload: str
    #: The first pod with a different decision.
    pod: str
    difference: UpgradeDifference
    before: LandingRow
    after: LandingRow
    #: The plugins with different scores or verdicts.
    plugins: tuple[str, ...] = ()
    #: Names of `UpgradeRow.rules` of these plugins.
    rules: tuple[str, ...] = ()


class UpgradeRow(Row):
    """What the scheduler of another release decides differently."""

    #: The release of the cluster, and the other one.
    before: str
    after: str
    pending: tuple[UpgradedRow, ...] = ()
    pending_judged: int = 0
    workloads: tuple[UpgradedRow, ...] = ()
    workloads_judged: int = 0
    rules: tuple[UpgradeRuleRow, ...] = ()

    @property
    def worse(self) -> tuple[UpgradedRow, ...]:
        """Pods that lose their node, or evict pods that they did not evict before."""
        return tuple(filter(_is_worse, (*self.pending, *self.workloads)))


def _is_worse(row: UpgradedRow) -> bool:
    if row.after.outcome == "Preempts":
        return row.before.outcome == "Placed" or not set(row.after.victims) <= set(row.before.victims)
    return row.after.outcome != "Placed" and row.before.outcome in ("Placed", "Preempts")


# --- compare ---------------------------------------------------------------------------------------------------------


Changed = Literal["added", "removed", "changed", "scheduler", "times"]
#: Whether a cause is the smallest set of changes (all smaller ones were tried), a set of which none can be left out, or
#: not found.
Proof = Literal["smallest", "minimal", "none"]


class ClusterChangeRow(Row, kw_only=True):
    """One change between the clusters, which can be made by itself.

    `scheduler`: another release or configuration; `times`: all times and identifiers of objects that are there in both.
    """

    change: Changed
    #: Such as `Node a1`; for `times`, the number of objects.
    object: str
    #: The workload of a pod; "" for other objects, and for pods without one.
    workload: str = ""
    fields: tuple[ChangeRow, ...] = ()


class ClusterAnswerRow(Row, kw_only=True):
    """Something that the two clusters answer differently; null where only one of them has it."""

    question: str
    #: The subject of the answer: a pod, or something else.
    subject: str
    before: str | None
    after: str | None
    #: Indexes in `CompareRow.changes`: with only these changes, the first cluster answers like the second.
    because: tuple[int, ...] = ()
    proof: Proof = "none"
    #: The number of sets of changes that were tried.
    tried: int = 0


class CompareRow(Row, kw_only=True):
    """What is different between two clusters, and which answers."""

    before: SnapshotInfo
    after: SnapshotInfo
    #: The scheduler of the first cluster; the scheduler of the second one is `scheduler` of the report.
    before_scheduler: SchedulerInfo
    changes: tuple[ClusterChangeRow, ...] = ()
    questions: tuple[str, ...] = ()
    answers: tuple[ClusterAnswerRow, ...] = ()
    #: The number of equal answers.
    unchanged: int = 0
