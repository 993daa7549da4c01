"""The report: all data for renderers, and what `-o json` prints.

A contract: fields are added, never renamed or removed (`apiVersion` would change). `schema/report.json` is made from
these types by `make generated`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.meta import Row
from kwhatif.report.advise import AdviseRow
from kwhatif.report.capacity import CapacityRow
from kwhatif.report.deciders import AutoscaleRow, ConsolidateRow, DescheduleRow, ResizeRow
from kwhatif.report.decision import Decision, PolicyRow, QueuedRow, WorkloadRow
from kwhatif.report.differences import CompareRow, UpgradeRow
from kwhatif.report.inputs import EditRow, ProblemRow, SchedulerInfo, SnapshotInfo, StandInRow
from kwhatif.report.pod_groups import PodGroupsRow
from kwhatif.report.queue import QueueRow
from kwhatif.report.risks import AuditRow, ThreatsRow, WhoFitsRow
from kwhatif.report.row import Document, frame, main_part, rows_of
from kwhatif.report.story import ScenarioRow, Story


class Report(Document, kw_only=True, tag_field="kind", tag="Report", dict=True, gc=True):
    """Decisions, and what they rest on."""

    command: str
    scheduler: SchedulerInfo = SchedulerInfo()
    snapshot: SnapshotInfo = SnapshotInfo()
    #: What-if edits, in the order in which they were made.
    changes: tuple[EditRow, ...] = ()
    #: The sentences of `caveat_details`, some of them combined.
    caveats: tuple[str, ...] = ()
    caveat_details: tuple[Caveat, ...] = ()
    decisions: tuple[Decision, ...] = ()
    #: Whether every pod is judged as if it were the only one; otherwise each sees what earlier pods have taken.
    alone: bool = False
    #: In the order of the manifests; empty if every pod is judged alone.
    workloads: tuple[WorkloadRow, ...] = ()
    #: The cluster's own pending pods that are queued before the last of these, in the order of the queue.
    queued_before: tuple[QueuedRow, ...] = ()
    policy: PolicyRow | None = None
    #: The answer of `queue`: the pending pods, in the order of `decisions`.
    queue: QueueRow | None = None
    #: The answer of `deschedule`.
    deschedule: DescheduleRow | None = None
    #: The answer of `upgrade`.
    upgrade: UpgradeRow | None = None
    #: The answer of `advise` and of `gate --fixes`.
    advise: AdviseRow | None = None
    #: The answer of `autoscale`: the added nodes.
    autoscaler: AutoscaleRow | None = None
    #: The answer of `consolidate`: the removed nodes.
    consolidate: ConsolidateRow | None = None
    #: The answer of `capacity`.
    capacity: CapacityRow | None = None
    #: The results of groups of pods; null if the cluster has none, or its scheduler does not know them.
    pod_groups: PodGroupsRow | None = None
    #: The answer of `audit`.
    audit: AuditRow | None = None
    #: The answer of `compare`.
    compare: CompareRow | None = None
    #: The answer of `resize`.
    resize: ResizeRow | None = None
    #: The answer of `threats`.
    threats: ThreatsRow | None = None
    #: The answer of `who-fits`.
    who_fits: WhoFitsRow | None = None
    problems: tuple[ProblemRow, ...] = ()
    #: The custom resources that rows name, and the objects as which they are judged.
    stand_ins: tuple[StandInRow, ...] = ()
    #: What follows, for commands that simulate it.
    story: Story | None = None
    #: The scenarios of `drain --each` and `outage --each`, the worst first.
    scenarios: tuple[ScenarioRow, ...] = ()

    def rows(self, part: str = "") -> Sequence[Row]:
        """The rows that answer the question; or those of a part, such as "decisions.rejected" or "story.events".

        Rows are frozen data classes: their fields are in `docs/json.md`, by names as Python has them.

        Raises:
            ValueError: there is no such part, or it is not made of rows.
        """
        return rows_of(self, part or self._main)

    def frame(self, part: str = "") -> Any:
        """The same as a pandas.DataFrame, a column for each field; a nested row is named `preemption.node`.

        Raises:
            ImportError: pandas is not installed; the message says what to install.
            ValueError: there is no such part, or it is not made of rows.
        """
        return frame(self, part or self._main)

    @property
    def _main(self) -> str:
        return main_part(self.command, many=bool(self.scenarios))

    @property
    def is_judged(self) -> bool:
        """Whether the answer is about single pods: then the story is only the aftermath."""
        return self.command in ("schedule", "preempt", "gate")
