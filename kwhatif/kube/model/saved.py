"""What a saved snapshot records about itself, as one more object among those of the cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.reading import Remembered
from kwhatif.kube.model.meta import ApiObject
from kwhatif.kube.model.pod import SchedulingEvents

SAVED_API_VERSION = "kwhatif.dev/v1"


class SavedSnapshot(ApiObject):
    """`kwhatif.dev/v1 SavedSnapshot`: what a report depends on besides the objects."""

    #: When the cluster was read; "": not known.
    taken_at: str = ""
    #: Whether that time was recorded on reading; else it is the newest time in the dump (`Cluster.taken_at`).
    noted: bool = True
    server_version: str = ""
    #: The namespace for manifests that name none.
    namespace: str = ""
    #: Kinds that could not be read -> why (`Cluster.unread`).
    unread: dict[str, str] = {}
    #: Whether all other kinds were read (`Cluster.is_whole`).
    whole: bool = True
    #: Kinds that were listed, even if the list was empty (`Cluster.listed`).
    listed: tuple[str, ...] = ()
    #: `apiVersion/kind` -> number of objects that are not in the model, for kinds that caveats need.
    skipped: dict[str, int] = {}
    #: About how the cluster was read.
    caveats: tuple[dict[str, Any], ...] = ()
    anonymized: bool = False
    #: `Cluster.scheduling_events`.
    scheduling_events: dict[str, SchedulingEvents] = {}

    def recalled(self) -> Iterator[Caveat]:
        """The caveats; one that another version wrote, without a known code, keeps its text."""
        for caveat in self.caveats:
            try:
                yield msgspec.convert(caveat, Caveat)
            except msgspec.ValidationError:
                text = str(caveat.get("text") or caveat.get("code"))
                yield Remembered(text=text, missing=caveat.get("missing") is True)
