"""What a saved snapshot says of itself, as one more object among those of the cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.reading import Remembered
from kwhatif.kube.model.meta import ApiObject
from kwhatif.kube.model.pod_status import SchedulingEvents

SAVED_API_VERSION = "kwhatif.dev/v1"


class SavedSnapshot(ApiObject):
    """`kwhatif.dev/v1 SavedSnapshot`: whatever a report depends on besides the objects."""

    #: When the cluster was as it is here; "": nobody knows.
    taken_at: str = ""
    #: Whether who read the cluster noted that time; else it is the newest time that a dump holds (`Cluster.taken_at`).
    noted: bool = True
    server_version: str = ""
    #: Where manifests belong that name no namespace.
    namespace: str = ""
    #: Kinds that could not be read -> why (`Cluster.unread`).
    unread: dict[str, str] = {}
    #: Whether all other kinds were asked for (`Cluster.is_whole`).
    whole: bool = True
    #: Kinds of which a list was read, be it empty (`Cluster.listed`).
    listed: tuple[str, ...] = ()
    #: `apiVersion/kind` -> number of objects that are not in the model, of kinds that a caveat asks about.
    skipped: dict[str, int] = {}
    #: About how the cluster was read.
    caveats: tuple[dict[str, Any], ...] = ()
    anonymized: bool = False
    #: `Cluster.scheduling_events`.
    scheduling_events: dict[str, SchedulingEvents] = {}

    def recalled(self) -> Iterator[Caveat]:
        """The caveats; what another version wrote in words, or under a code that is not known, as it stands."""
        for caveat in self.caveats:
            try:
                yield msgspec.convert(caveat, Caveat)
            except msgspec.ValidationError:
                text = str(caveat.get("text") or caveat.get("code"))
                yield Remembered(text=text, missing=caveat.get("missing") is True)
