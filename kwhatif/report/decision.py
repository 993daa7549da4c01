"""What the scheduler would do with one pod."""

from __future__ import annotations

from typing import Literal

from kwhatif.admission.changes import ChangeRow
from kwhatif.kube.model.meta import Row
from kwhatif.report.inputs import SourceRow
from kwhatif.report.nodes import FeasibleRow, NearRow, RejectedRow
from kwhatif.report.preemption import PreemptionRow, VictimRow

Outcome = Literal["Placed", "Preempts", "Unschedulable", "Gated", "Denied", "Ignored", "Waits"]


class PreEnqueueRow(Row):
    """What keeps the pod out of the queue."""

    plugin: str
    message: str


class Decision(Row, kw_only=True):
    """What the scheduler would do with one pod."""

    pod: str
    owner: str | None = None
    priority: int = 0
    priority_class_name: str = ""
    preemption_policy: str = "PreemptLowerPriority"
    scheduler_name: str = "default-scheduler"
    #: What it asks for: milli-units of cpu, bytes, units of all else; empty where it was not tried.
    requests: dict[str, int] = {}
    outcome: Outcome
    node: str | None = None
    #: Of a pod of the cluster that was asked for by name: where it runs now. It is judged as if it were started again.
    runs_on: str | None = None
    ties: tuple[str, ...] = ()
    message: str = ""
    pre_enqueue: PreEnqueueRow | None = None
    #: Of a pod that is not even created (outcome `Waits`): the pod whose controller waits until it runs.
    waits_for: str | None = None
    #: Pods that were pending already and came first: without them it would fit, or fit by evicting others.
    after: tuple[str, ...] = ()
    feasible: tuple[FeasibleRow, ...] = ()
    rejected: tuple[RejectedRow, ...] = ()
    near: NearRow | None = None
    unschedulable_plugins: tuple[str, ...] = ()
    preemption: PreemptionRow | None = None
    source: SourceRow | None = None
    changes: tuple[ChangeRow, ...] = ()
    #: How much of the evidence is here: all of it (`full`), of nodes and candidates that say the same a few (`few`), or
    #: only what becomes of the pod (`short`), since a pod of the same workload with the same outcome has the rest.
    detail: Literal["full", "few", "short"] = "full"

    @property
    def said(self) -> str:
        """The scheduler's words; of a pod that is not queued, those of the plugin that holds it back."""
        return self.message or (self.pre_enqueue.message if self.pre_enqueue else "")

    @property
    def victims(self) -> tuple[VictimRow, ...]:
        """The pods that this decision evicts."""
        chosen = self.preemption.chosen if self.outcome == "Preempts" and self.preemption else None
        return chosen.victims if chosen else ()
