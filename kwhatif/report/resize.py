"""What becomes of a pod that is resized in place: what the command `resize` adds to a report."""

from __future__ import annotations

from typing import Literal

from kwhatif.autoscaler.vertical_updater import Act, Why
from kwhatif.kube.model.meta import Row

#: `Refused`: by the API server; `Deferred`: its kubelet waits for room; `Infeasible`: its node never has the room.
ResizeDecision = Literal["Fits", "Deferred", "Infeasible", "Refused"]


class UpdaterRow(Row, kw_only=True):
    """What the updater of a VerticalPodAutoscaler does about the pod, and why.

    `waits`: until something changes; `leaves`: it has nothing to do about it. `replicas` are the pods of its group, and
    `needed` how many there must be. `after` are the seconds until it evicts. `refused`: the answer of the Eviction API.
    """

    vpa: str
    mode: str
    acts: Act
    why: Why = ""
    replicas: int = 0
    needed: int = 0
    after: float = 0.0
    refused: str = ""


class ResizeRow(Row, kw_only=True):
    """The decision, and what it costs."""

    pod: str
    node: str
    decision: ResizeDecision
    #: `cpu 1500m to 7`; "" where only limits change, or it is refused.
    change: str = ""
    #: The words of the API server or the kubelet that refuses it.
    message: str = ""
    #: Of `Fits`: the containers that restart for it, as their `resizePolicy` says.
    restarts: tuple[str, ...] = ()
    #: Of `Deferred`: pods of the node of no higher priority without which it fits; none of them can stay.
    in_the_way: tuple[str, ...] = ()
    #: Where it is asked what a VerticalPodAutoscaler does.
    updater: UpdaterRow | None = None

    @property
    def is_resized(self) -> bool:
        """Whether the pod has what was asked for, where it runs."""
        return self.decision == "Fits" and (self.updater is None or self.updater.acts == "resizes")
