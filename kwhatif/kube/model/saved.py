"""Data of the input besides typed objects: the original JSON for extenders, and the metadata of a saved snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.reading import Remembered
from kwhatif.kube.model.meta import ApiObject
from kwhatif.kube.model.pod import SchedulingEvents

_KINDS = ("Pod", "Node")


class _Name(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str | None = None


class _Head(msgspec.Struct):
    kind: str = ""
    metadata: _Name = _Name()
    items: list[msgspec.Raw] | None = None


_HEAD = msgspec.json.Decoder(_Head)
_ENTRIES = msgspec.json.Decoder(list[msgspec.Raw])
#: Errors that are ignored here: the decoders report them.
_FAILURES = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


class Originals:
    """The original JSON of pods and nodes, by kind and key (`namespace/name`, or `name`)."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], msgspec.Raw] = {}

    def add(self, json: bytes | memoryview, kind: str, namespace: str) -> None:
        """Keep the pods and nodes of a JSON value: an object, a list object, or only the entries of a list.

        `kind` and `namespace` are the defaults for objects without these fields.
        """
        for raw, head in _objects(msgspec.Raw(json), kind):
            name = head.metadata
            if head.kind == "Pod":
                self._found["Pod", f"{name.namespace or namespace}/{name.name}"] = raw
            elif head.kind == "Node":
                self._found["Node", name.name] = raw

    def get(self, kind: str, key: str) -> dict[str, Any] | None:
        """The object, parsed for each call so that the caller may change it."""
        raw = self._found.get((kind, key))
        return None if raw is None else msgspec.json.decode(raw)


class SessionOriginals(NamedTuple):
    """Originals of the cluster and of the manifests, separately: a new pod may have the name of an existing pod."""

    stored: Originals
    candidates: Originals


def _objects(raw: msgspec.Raw, kind: str) -> Iterator[tuple[msgspec.Raw, _Head]]:
    try:
        if bytes(memoryview(raw)[:1]) == b"[":
            entries = _ENTRIES.decode(raw)
        else:
            head = _HEAD.decode(raw)
            head.kind = head.kind or kind
            if head.kind in _KINDS:
                yield raw, head
            entries = head.items or [] if head.kind.endswith("List") else []
            kind = head.kind.removesuffix("List")
    except _FAILURES:
        return
    for entry in entries:
        yield from _objects(entry, kind)


SAVED_API_VERSION = "kwhatif.dev/v1"


class SavedSnapshot(ApiObject):
    """`kwhatif.dev/v1 SavedSnapshot`: all data besides the objects that a report depends on."""

    #: The time at which the cluster was read; "": not known.
    taken_at: str = ""
    #: Whether `taken_at` was recorded when the cluster was read; otherwise it is the newest time in the dump.
    noted: bool = True
    server_version: str = ""
    #: The default namespace for manifests.
    namespace: str = ""
    #: Kind that could not be read -> the reason (`ClusterFacts.unread`).
    unread: dict[str, str] = {}
    #: Whether all other kinds were read (`ClusterFacts.is_whole`).
    whole: bool = True
    #: Kinds that were listed, even if the list was empty (`ClusterFacts.listed`).
    listed: tuple[str, ...] = ()
    #: `apiVersion/kind` -> number of objects that are not in the model, for kinds that caveats need.
    skipped: dict[str, int] = {}
    #: Caveats about reading the cluster.
    caveats: tuple[dict[str, Any], ...] = ()
    anonymized: bool = False
    #: `ClusterFacts.scheduling_events`.
    scheduling_events: dict[str, SchedulingEvents] = {}

    def recalled(self) -> Iterator[Caveat]:
        """The saved caveats; a caveat of another version with an unknown code keeps its text."""
        for caveat in self.caveats:
            try:
                yield msgspec.convert(caveat, Caveat)
            except msgspec.ValidationError:
                text = str(caveat.get("text") or caveat.get("code"))
                yield Remembered(text=text, missing=caveat.get("missing") is True)
