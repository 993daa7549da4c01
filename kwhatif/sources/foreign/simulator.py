"""The export of kube-scheduler-simulator (`simulator/snapshot/snapshot.go`): lists under names of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from kwhatif.model.missing import Missing
from kwhatif.sources.collected import Collected
from kwhatif.sources.decode import Batch, ObjectDecoder
from kwhatif.sources.listing import Listing, NotPiecesError
from kwhatif.sources.origin import Origin, Place
from kwhatif.sources.problems import Problems
from kwhatif.sources.resources import BY_KIND, RESOURCES

_LISTS = {
    "pods": "Pod",
    "nodes": "Node",
    "pvs": "PersistentVolume",
    "pvcs": "PersistentVolumeClaim",
    "storageClasses": "StorageClass",
    "priorityClasses": "PriorityClass",
    "namespaces": "Namespace",
}
_CONFIG = "schedulerConfig"
_HEAD = re.compile(rb'\s*\{\s*"(?:' + "|".join((*_LISTS, _CONFIG)).encode() + rb')"\s*:')
_CONFIG_LEFT_OUT = (
    "the scheduler configuration in a kube-scheduler-simulator export is not applied: give it as --scheduler-config"
)


def read_export(
    name: str, text: bytes, decoder: ObjectDecoder, problems: Problems, collected: Collected
) -> Iterator[Batch] | None:
    """The objects of an export; None if the text is none."""
    if not _HEAD.match(text):
        return None
    try:
        parts = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None  # whoever reads it as JSON says what is wrong with it
    if "kind" in parts or not parts.keys() & _LISTS.keys():
        return None
    return _read(name, parts, decoder, problems, collected)


def _read(
    name: str, parts: dict[str, msgspec.Raw], decoder: ObjectDecoder, problems: Problems, collected: Collected
) -> Iterator[Batch]:
    for field, kind in _LISTS.items():
        text = bytes(parts.get(field, b"null"))
        if text == b"null":
            continue
        listing = Listing(BY_KIND[kind].api_version, f"{kind}List", iter((text,)))
        try:
            yield from decoder.listing(listing, Place(Origin(f"{name}: {field}")))
        except NotPiecesError:
            problems.add(f"{name}: {field}", "is not a list")
    absent = {resource.kind for resource in RESOURCES} - {kind for field, kind in _LISTS.items() if field in parts}
    collected.cluster.unread |= dict.fromkeys(sorted(absent), "a kube-scheduler-simulator export has no")
    if bytes(parts.get(_CONFIG, b"null")) != b"null":
        collected.caveats.append(Missing(_CONFIG_LEFT_OUT))
