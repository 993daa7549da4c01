"""The rows of the command `capacity`: how many more pods fit."""

from __future__ import annotations

from typing import Literal

from kwhatif.autoscaler.contract import Autoscaler, RefusedPod
from kwhatif.kube.model.meta import Row
from kwhatif.report.edit_notes import EditNote
from kwhatif.report.pod_groups import GroupRow
from kwhatif.scheduler.framework.evidence import Evidence

#: Why no more pods are counted: the scheduler finds no node, or none without eviction; the pod stays out of the queue,
#: belongs to another scheduler, or is refused by the API server.
StopOutcome = Literal["Unschedulable", "Preempts", "Gated", "Ignored", "Denied"]


class CountedRow(Row):
    """Pods of one workload that are counted: `times` of them are in each set.

    `pods` fit, as part of whole sets, by `nodes` and by `zones`; "" is a node without a zone.
    `requests` is what one of them asks for: milli-units of cpu, bytes, units of all else.
    """

    workload: str
    source: str
    times: int = 1
    priority: int = 0
    requests: dict[str, int] = {}
    pods: int = 0
    nodes: dict[str, int] = {}
    zones: dict[str, int] = {}


class ReasonRow(Row):
    """The number of nodes with this first reason; `evidence` is from `node`, which comes closest."""

    plugin: str
    reason: str
    nodes: int
    node: str | None = None
    evidence: Evidence | None = None


class TightestRow(Row):
    """The number of nodes that only lack room, and most of all this resource.

    `stranded` is the total of the pod's other resources that is free on these nodes, if one node has enough of it.
    """

    resource: str
    nodes: int
    stranded: dict[str, int] = {}


class StopRow(Row):
    """The first pod that no longer fits, and why; `report.decisions` has the decision about it.

    `gang`: the group that does not fit as a whole; then there is no decision.
    """

    pod: str
    workload: str
    outcome: StopOutcome
    message: str
    reasons: tuple[ReasonRow, ...] = ()
    tightest: tuple[TightestRow, ...] = ()
    gang: GroupRow | None = None


class GangFitRow(Row):
    """How many more groups of equal pods fit, each as a whole.

    `pods` are in each group, of which `min_count` must fit; `placements`: how many groups by value of the topology
    label.
    """

    group: str
    pods: int
    min_count: int
    fit: int = 0
    topology_key: str = ""
    placements: dict[str, int] = {}


class FitRow(Row):
    """How many sets fit; `stop` is null if the limit was reached first. `gangs`: the groups of pods in each set."""

    sets: int
    counted: tuple[CountedRow, ...]
    stop: StopRow | None = None
    gangs: tuple[GangFitRow, ...] = ()


class PreemptingRow(Row):
    """How many sets fit if pods may evict others: `fit` includes those that fit without eviction.

    `evicting` pods evict the `victims`, which breaks the budgets in `violations`.
    """

    fit: FitRow
    evicting: int
    victims: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()


class TargetRow(Row):
    """Whether the target fits; `lacking` is the sum of the missing sets' requests."""

    wanted: int
    met: bool
    missing: int = 0
    lacking: dict[str, int] = {}


class AddedNodesRow(Row, kw_only=True):
    """How many nodes like one it takes to reach the target: `nodes` are enough, and one fewer is not.

    `fit` is the answer with these nodes, `fewer` the number of sets with one node fewer. `nodes` is null if `limit`
    nodes are not enough; then `fit` is the answer with `limit` nodes. `edit` is the same as an edit for `--if`; `notes`
    are remarks.
    """

    like: str
    nodes: int | None
    edit: str
    fit: FitRow
    fewer: int | None = None
    limit: int
    notes: tuple[str, ...] = ()


class NodesToAdd(AddedNodesRow, kw_only=True):
    """The same with its notes as data, of which `render` makes the `notes`."""

    remarks: tuple[EditNote, ...] = ()


class GrownRow(Row, kw_only=True):
    """How many sets fit if an autoscaler may add nodes up to its limits: `fit` is the answer with these nodes.

    `nodes` are the new nodes by node group or NodePool, `unbounded` the groups without a maximum or limit. `refused` is
    the autoscaler's reason for the first pod that no longer fits; null if it gives none.
    """

    autoscaler: Autoscaler
    #: The moment for which ages are computed.
    at: str
    fit: FitRow
    nodes: dict[str, int] = {}
    unbounded: tuple[str, ...] = ()
    refused: RefusedPod | None = None


class ShapeRow(Row):
    """Pods of the cluster that are equal for the scheduler: how many are `running`, and their workloads.

    `fit` is how many more pods of the first workload fit, each kind as if it were the only one. If `gangs` is not 0,
    the pods belong to that many equal groups, and `fit` counts groups.
    """

    running: int
    workloads: tuple[str, ...]
    fit: FitRow
    gangs: int = 0


class PeakWorkloadRow(Row, kw_only=True):
    """A workload at the maximum of its autoscaler: how many of its pods `pending` are, and the scheduler's words."""

    workload: str
    replicas: int
    peak: int
    pending: int = 0
    message: str = ""


class PeakRow(Row, kw_only=True):
    """The cluster before more pods are counted: all workloads at their peak; `evicted` are the evicted pods."""

    workloads: tuple[PeakWorkloadRow, ...]
    evicted: tuple[str, ...] = ()

    @property
    def more(self) -> int:
        """The number of new pods."""
        return sum(each.peak - each.replicas for each in self.workloads)

    @property
    def pending(self) -> int:
        """The number of pods that find no node."""
        return sum(each.pending for each in self.workloads)


class CapacityRow(Row):
    """How many more pods fit, where, and what stops the next one."""

    #: The maximum number of sets that are counted: it is not known whether more fit.
    limit: int
    #: None if only the shapes of the cluster's pods are counted.
    fit: FitRow | None = None
    #: For counts at the peak of all workloads.
    peak: PeakRow | None = None
    preempting: PreemptingRow | None = None
    target: TargetRow | None = None
    added_nodes: AddedNodesRow | None = None
    grown: GrownRow | None = None
    #: The shapes with the most pods; then the number of other shapes, which are not counted, and of their pods.
    shapes: tuple[ShapeRow, ...] = ()
    other_shapes: int = 0
    other_pods: int = 0

    @property
    def best(self) -> FitRow | None:
        """The number that counts for the target: the largest of the counts that were requested."""
        if self.added_nodes is not None:
            return self.added_nodes.fit
        if self.grown is not None:
            return self.grown.fit
        return self.preempting.fit if self.preempting else self.fit
