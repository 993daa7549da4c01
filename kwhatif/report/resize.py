"""The result of resizing a pod in place: what the command `resize` adds to a report."""

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
    #: `cpu 1500m to 7`; "" if only limits change, or it is refused.
    change: str = ""
    #: The message of the API server or the kubelet that refuses it.
    message: str = ""
    #: For `Fits`: the containers that restart for it, by their `resizePolicy`.
    restarts: tuple[str, ...] = ()
    #: For `Deferred`: pods of the node with no higher priority; without all of them it fits, and none can stay.
    in_the_way: tuple[str, ...] = ()
