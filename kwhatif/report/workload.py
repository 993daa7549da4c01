"""What becomes of the pods of a workload."""

from __future__ import annotations

from typing import Literal

from kwhatif.kube.model.meta import Row
from kwhatif.report.decision import Outcome
from kwhatif.report.inputs import SourceRow

#: `restarted`: an object of the cluster that was asked for by name; all its pods are restarted.
UpdateKind = Literal["new", "unchanged", "scaled", "changed", "restarted"]


class RolloutRow(Row):
    """How far a rollout comes, and why not further: as a simulation of it ends."""

    #: At how many moments its controllers have made or deleted pods.
    steps: int
    completed: bool
    #: How many pods of the new template there are to be in the end, and how many run.
    wanted: int
    updated: int
    #: How many pods of the old one are left.
    old: int
    #: Of one that hangs: the pod that the next step waits for, as in `decisions`, where it has not been there before.
    waits_for: str | None = None
    #: What keeps its controller from going on all the same, such as `maxUnavailable 0`.
    limit: str = ""


class QueuedRow(Row, kw_only=True):
    """A pod that was pending already and is taken before the last of the report's pods: what it takes is gone then."""

    pod: str
    priority: int = 0
    outcome: Outcome
    node: str | None = None
    victims: tuple[str, ...] = ()


class WorkloadRow(Row):
    """What becomes of all pods of one object in the manifests; `nodes` counts them by node.

    The counts of outcomes add up to `replicas`, the pods that come; of an object that is in the cluster already, those
    by which it differs, and `removed` go; `rollout` says whether those of a changed template all come. `victims` and
    `violations` (budgets that break) are those of all its pods.
    """

    name: str
    source: SourceRow
    update: UpdateKind = "new"
    removed: int = 0
    replicas: int = 0
    placed: int = 0
    preempting: int = 0
    unschedulable: int = 0
    gated: int = 0
    denied: int = 0
    ignored: int = 0
    waiting: int = 0
    nodes: dict[str, int] = {}
    victims: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()
    message: str = ""
    rollout: RolloutRow | None = None
