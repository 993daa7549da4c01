"""What becomes of a pod that is resized in place: what the command `resize` adds to a report."""

from __future__ import annotations

from typing import Literal

from kwhatif.kube.model.meta import Row

#: `Refused`: by the API server; `Deferred`: its kubelet waits for room; `Infeasible`: its node never has the room.
ResizeDecision = Literal["Fits", "Deferred", "Infeasible", "Refused"]


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
