"""What a report rests on: the scheduler, the snapshot, edits of it, and manifests."""

from __future__ import annotations

from typing import Literal

from kwhatif.admission.outcome import ChangeRow
from kwhatif.kube.gates import BASE
from kwhatif.kube.model.meta import Row

#: How the cluster's version is known: it was given, its API server or a snapshot of it said so, or it is that of the
#: newest kubelet. `assumed`: nothing says it, and the newest release was taken.
VersionSource = Literal["asked", "server", "snapshot", "kubelets", "assumed"]


class SchedulerInfo(Row):
    """Whose decisions these are."""

    version: str = f"1.{BASE}"
    profile: str = "default-scheduler"
    version_source: VersionSource = "asked"
    #: Feature gates that were set by hand.
    feature_gates: dict[str, bool] = {}


class SnapshotInfo(Row):
    """What the decisions were made on."""

    sources: tuple[str, ...] = ()
    nodes: int = 0
    pods: int = 0
    #: None: they could not be read, so whether an eviction violates one is unknown.
    pod_disruption_budgets: int | None = 0
    #: When the dump was taken, as far as it shows that; null for a live cluster.
    taken_at: str | None = None


class SourceRow(Row):
    """Where the pod, or the workload that makes it, stands in the manifests; lines count from 1."""

    file: str
    line: int | None = None
    object: str = ""


class TouchedRow(Row):
    """An object that an edit has created, changed or deleted: `Node a1`; and its fields that are different."""

    object: str
    change: Literal["created", "changed", "deleted"]
    fields: tuple[ChangeRow, ...] = ()


class EditRow(Row):
    """An edit of the cluster that holds before the question is asked, what it touched, and what to know about it."""

    edit: str
    touched: tuple[TouchedRow, ...] = ()
    notes: tuple[str, ...] = ()


class ProblemRow(Row):
    """A manifest that could not be read; the others were judged without it."""

    where: str
    message: str
    field: str = ""
    hint: str = ""
    source: SourceRow | None = None


class StandInRow(Row):
    """A custom resource, and the object of Kubernetes' own that it is judged as; rows name the custom resource."""

    #: Such as `Rollout shop/web`.
    object: str
    #: Such as `Deployment shop/web`.
    judged_as: str
