"""What a saved snapshot says of itself, as one more object among those of the cluster."""

from __future__ import annotations

from kwhatif.model.caveat import Caveat
from kwhatif.model.meta import Model, ObjectMeta

SAVED_API_VERSION = "kwhatif.dev/v1"


class SavedSnapshot(Model, tag_field="kind", tag="SavedSnapshot"):
    """`kwhatif.dev/v1 SavedSnapshot`: whatever a report depends on besides the objects."""

    api_version: str = ""
    metadata: ObjectMeta = ObjectMeta()
    taken_at: str = ""
    server_version: str = ""
    #: Where manifests belong that name no namespace.
    namespace: str = ""
    #: Kinds that could not be read -> why (`Cluster.unread`).
    unread: dict[str, str] = {}
    #: About how the cluster was read.
    caveats: tuple[Caveat, ...] = ()
    anonymized: bool = False
