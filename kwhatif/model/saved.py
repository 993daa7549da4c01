"""What a saved snapshot says of itself, as one more object among those of the cluster."""

from __future__ import annotations

from kwhatif.model.meta import Model, ObjectMeta

SAVED_API_VERSION = "kwhatif.dev/v1"


class SavedCaveat(Model):
    """A caveat about how the cluster was read."""

    text: str = ""
    #: It is about missing information (`Missing`).
    missing: bool = False


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
    caveats: tuple[SavedCaveat, ...] = ()
    anonymized: bool = False
