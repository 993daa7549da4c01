"""The events in order, each with its cause; and the fate of pods that are gone."""

from __future__ import annotations

import msgspec

from kwhatif.controllers.contract import How
from kwhatif.kube.model.meta import Row


class EventRow(Row):
    """An event, and the event that caused it."""

    id: int
    #: Seconds since the start.
    at: float
    #: None for actions of a user, and for what was due from the start.
    because: int | None
    #: Who did it: "scheduler", "kubelet a1", "user", "ReplicaSet shop/web-6d4".
    actor: str
    verb: str
    #: Kind and key.
    object: str
    #: The workload of a pod, as known in the end.
    workload: str | None = None
    node: str | None = None
    detail: str = ""


class Gone(msgspec.Struct, frozen=True):
    """A pod that is gone or terminating."""

    pod: str
    uid: str
    #: Its workload, as "Deployment shop/web"; None for a bare pod.
    owner: str | None
    #: Whether it existed at the start.
    initial: bool
    node: str | None
    how: How
    by: str
    at: float
    #: Why it was already terminating at the start, if the cluster shows it.
    earlier: How | None = None


class History:
    """An append-only list of events."""

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
        """Record the event; returns its id."""
        self.events.append(event)
        return event.id

    def lose(self, gone: Gone) -> None:
        """Record that the pod goes; the first reason counts."""
        self.gone.setdefault(gone.uid, gone)
