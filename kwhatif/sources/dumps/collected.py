"""What a source brought in: objects as they were read, caveats about the reading, and how far the reading is."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from kwhatif.admission.defaults import DEFAULT_NAMESPACE
from kwhatif.admission.load import admit
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.reading import NoNodes
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.node import Node
from kwhatif.sources.decoding.decode import ObjectDecoder
from kwhatif.sources.dumps.left_out import (
    devices_not_modelled,
    gangs,
    not_read,
    taken_at,
    unread_caveats,
    without_understood,
)


class ReadingStep(NamedTuple):
    """How far a list of a live cluster is, a file of a dump, or what is made of them."""

    name: str
    objects: int
    #: Since the reading began.
    seconds: float
    #: The number of objects in total; None: not known.
    total: int | None
    done: bool
    #: Bytes of a file, inflated: those that were read, and all.
    read: int = 0
    size: int = 0


Progress = Callable[[ReadingStep], None]


class ProgressReporter:
    """Reports progress to a watcher, if there is one."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._started = time.monotonic()

    def report(
        self, name: str, objects: int, total: int | None = None, *, done: bool = False, read: int = 0, size: int = 0
    ) -> None:
        """How far something is."""
        if self._progress is not None:
            seconds = time.monotonic() - self._started
            self._progress(ReadingStep(name, objects, seconds, total, done, read, size))


class LoadedCluster(msgspec.Struct, frozen=True):
    """A cluster as the API server would store it, and caveats about how it was read."""

    cluster: Cluster
    #: The files that were read, or the context.
    sources: list[str]
    #: `apiVersion/kind` of objects that no scheduling rule reads -> how many there were.
    skipped: Counter[str]
    caveats: list[Caveat]
    #: Where objects belong that name no namespace.
    namespace: str
    live: bool
    #: When it was taken (RFC 3339); None of a live cluster, and where a dump does not show it.
    taken_at: str | None = None


class Collected(msgspec.Struct):
    """Objects with nothing filled in yet, and notes of the reading."""

    cluster: Cluster = msgspec.field(default_factory=Cluster)
    sources: list[str] = []
    skipped: Counter[str] = msgspec.field(default_factory=Counter)
    caveats: list[Caveat] = []
    namespace: str = DEFAULT_NAMESPACE
    #: `1.36`; "" where it is not known.
    server_version: str = ""
    #: The newest time in objects that are not read; "" if there is none.
    last_seen: str = ""
    live: bool = False
    #: The keys of the pods in which something may have to be filled in; None: not computed yet.
    unfinished: list[str] | None = None

    def take_note(self, decoder: ObjectDecoder) -> None:
        """Keep what was noted of the objects that are not read; those that are must be in the cluster already."""
        decoder.bystanders.add_to(self.cluster)
        self.skipped = without_understood(decoder.skipped + decoder.outdated, self.cluster)
        self.last_seen = decoder.bystanders.newest
        self.caveats += decoder.bystanders.unreadable

    def said_of(self, cluster: Cluster, admission: Iterable[Caveat]) -> list[Caveat]:
        """All caveats about the reading, and about this cluster as it was read and admitted."""
        return [
            *self.caveats,
            *unread_caveats(cluster.facts.unread),
            *([] if cluster.all(Node) else [NoNodes()]),
            *admission,
            *not_read(self.skipped),
            *gangs(cluster, self.skipped),
            *devices_not_modelled(cluster, live=self.live),
        ]

    def fork(self) -> Collected:
        """A copy with a fork of the cluster: admitting that leaves no trace here."""
        return msgspec.structs.replace(self, cluster=self.cluster.fork())

    def admitted(self) -> LoadedCluster:
        """The cluster as the API server would store it; `self.cluster` becomes that in place."""
        caveats = self.said_of(self.cluster, admit(self.cluster, self.unfinished))
        return LoadedCluster(
            self.cluster,
            self.sources,
            self.skipped,
            caveats=caveats,
            namespace=self.namespace,
            live=self.live,
            taken_at=None if self.live else taken_at(self.cluster, caveats, self.last_seen),
        )
