"""What a report is based on: the scheduler, the snapshot, its edits, and manifests; and the cluster for a map."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from kwhatif.admission.outcome import ChangeRow
from kwhatif.kube.gates import BASE
from kwhatif.kube.model.meta import Row
from kwhatif.report.edit_notes import EditNote

#: The source of the cluster's version: an option, its API server or a snapshot of that, or the newest kubelet.
#: `assumed`: it is not known, and the newest release was taken.
VersionSource = Literal["asked", "server", "snapshot", "kubelets", "assumed"]


class SchedulerInfo(Row):
    """The scheduler that decides."""

    version: str = f"1.{BASE}"
    profile: str = "default-scheduler"
    version_source: VersionSource = "asked"
    #: Feature gates that were set by hand.
    feature_gates: dict[str, bool] = {}


class SnapshotInfo(Row):
    """The cluster that the decisions are about."""

    sources: tuple[str, ...] = ()
    nodes: int = 0
    pods: int = 0
    #: None: they could not be read, so it is not known whether an eviction violates one.
    pod_disruption_budgets: int | None = 0
    #: When the dump was taken, if it shows that; null for a live cluster.
    taken_at: str | None = None


class SourceRow(Row):
    """Where the pod, or the workload that makes it, is in the manifests; lines count from 1."""

    file: str
    line: int | None = None
    object: str = ""


class TouchedRow(Row):
    """An object that an edit has created, changed or deleted: `Node a1`; and its fields that are different."""

    object: str
    change: Literal["created", "changed", "deleted"]
    fields: tuple[ChangeRow, ...] = ()


class EditRow(Row):
    """An edit of the cluster before the question, the objects that it changed, and remarks."""

    edit: str
    touched: tuple[TouchedRow, ...] = ()
    notes: tuple[str, ...] = ()


class MadeEdit(EditRow):
    """An edit with its notes as data: `render` makes an `EditRow` of it, with these in words."""

    remarks: tuple[EditNote, ...] = ()

    def in_simulation(self) -> MadeEdit:
        """Without notes that are not true in a simulation."""
        return replace(self, remarks=tuple(note for note in self.remarks if not note.at_rest))


class ProblemRow(Row):
    """A manifest that could not be read; the others are judged without it."""

    where: str
    message: str
    field: str = ""
    hint: str = ""
    source: SourceRow | None = None


class StandInRow(Row):
    """A custom resource, and the Kubernetes object as which it is judged; rows name the custom resource."""

    #: Such as `Rollout shop/web`.
    object: str
    #: Such as `Deployment shop/web`.
    judged_as: str


# --- the map of a page -----------------------------------------------------------------------------------------------
#
# It is only made if a page is wanted. It uses lists instead of objects: 110,000 pods must fit into a few megabytes.


class PictureNode(Row, array_like=True):
    """A node: `place` and `pool` are its labels' values; amounts are in the order of the picture's `resources`.

    `state`: "cordoned", "not ready", its taints. `pods` are (index in `groups`, name).
    """

    name: str
    place: str
    pool: str
    state: tuple[str, ...]
    allocatable: tuple[int, ...]
    used: tuple[int, ...]
    most_pods: int
    pods: tuple[tuple[int, str], ...]


class PictureGroup(Row, array_like=True):
    """Pods of one workload and priority with the same requests; "" for bare pods."""

    namespace: str
    workload: str
    priority: int
    requests: tuple[int, ...]


class Picture(Row):
    """Nodes with their pods. `place_label` is the label that groups them: zones, or racks of groups of pods."""

    place_label: str
    pool_label: str
    resources: tuple[str, ...]
    nodes: tuple[PictureNode, ...]
    groups: tuple[PictureGroup, ...]
    pending: tuple[tuple[int, str], ...] = ()
