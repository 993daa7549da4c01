"""What has happened, in order, each with what it happened because of; and what became of pods that are gone."""

from __future__ import annotations

import msgspec

from kwhatif.controllers.contract import How
from kwhatif.kube.model.meta import Row


class EventRow(Row):
    """One thing that happened, and the event because of which."""

    id: int
    #: Seconds since the start.
    at: float
    #: None for what a user does, and for what was due from the start.
    because: int | None
    #: Who did it: "scheduler", "kubelet a1", "user", "ReplicaSet shop/web-6d4".
    actor: str
    verb: str
    #: Kind and key.
    object: str
    #: Of a pod: the workload that it belongs to, known in the end.
    workload: str | None = None
    node: str | None = None
    detail: str = ""


class Gone(msgspec.Struct, frozen=True):
    """A pod that was taken away, or is on its way out."""

    pod: str
    uid: str
    #: The workload that it belongs to, as "Deployment shop/web"; None for a bare pod.
    owner: str | None
    #: Whether it was there at the start.
    initial: bool
    node: str | None
    how: How
    by: str
    at: float
    #: Why it was on its way out before the start, where the cluster says so.
    earlier: How | None = None


class History:
    """Grows, and is never changed."""

    def __init__(self) -> None:
        self.events: list[EventRow] = []
        #: By UID.
        self.gone: dict[str, Gone] = {}

    def fork(self) -> History:
        """An independent history of the same past."""
        other = History()
        other.events, other.gone = self.events.copy(), self.gone.copy()
        return other

    def note(self, event: EventRow) -> int:
        """Write it down; returns its id."""
        self.events.append(event)
        return event.id

    def lose(self, gone: Gone) -> None:
        """The pod goes; why it went first is what counts."""
        self.gone.setdefault(gone.uid, gone)
