"""The export of kube-scheduler-simulator (`simulator/snapshot/snapshot.go`): lists under names of its own.

Its API answers in JSON, its web page saves the same as `export.yml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.reading import SchedulerConfigLeftOut
from kwhatif.sources.decoding.decode import DecodedBatch, ObjectDecoder
from kwhatif.sources.decoding.examine import FAILURES
from kwhatif.sources.decoding.kinds import BY_KIND
from kwhatif.sources.text.documents import documents
from kwhatif.sources.text.listing import NotPiecesError, one_piece
from kwhatif.sources.text.origin import Origin, Place
from kwhatif.sources.text.problems import Problems

#: Texts of an export's fields.
Lists = Mapping[str, msgspec.Raw]

_KINDS = {
    "pods": "Pod",
    "nodes": "Node",
    "pvs": "PersistentVolume",
    "pvcs": "PersistentVolumeClaim",
    "storageClasses": "StorageClass",
    "priorityClasses": "PriorityClass",
    "namespaces": "Namespace",
}
_CONFIG = "schedulerConfig"
_FIELDS = "|".join((*_KINDS, _CONFIG)).encode()
_HEAD = re.compile(rb'\s*\{\s*"(?:' + _FIELDS + rb')"\s*:|(?:---\s*\n)?(?:' + _FIELDS + rb"):\s")


def lists_of(name: str, text: bytes) -> Lists | None:
    """The lists of an export; None if the text is none."""
    if not _HEAD.match(text):
        return None
    found = list(documents(name, text, Problems()))  # the reader of objects reports what is wrong with it
    if len(found) != 1:
        return None
    try:
        fields = msgspec.json.decode(found[0].json, type=dict[str, msgspec.Raw])
    except FAILURES:
        return None
    return fields if "kind" not in fields and fields.keys() & _KINDS.keys() else None


def read_lists(name: str, lists: Lists, decoder: ObjectDecoder, problems: Problems) -> Iterator[DecodedBatch]:
    """The objects of all lists."""
    for field, kind in _KINDS.items():
        text = bytes(lists.get(field, b"null"))
        if text == b"null":
            continue
        listing = one_piece(BY_KIND[kind].api_version, f"{kind}List", text)
        try:
            yield from decoder.listing(listing, Place(Origin(f"{name}: {field}")))
        except NotPiecesError:
            problems.add(f"{name}: {field}", "is not a list")


def kinds_of(lists: Lists) -> set[str]:
    """The kinds that the export holds, if only an empty list."""
    return {kind for field, kind in _KINDS.items() if field in lists}


def caveats(lists: Lists) -> Iterator[Caveat]:
    """Caveats about an export besides the kinds that it does not hold."""
    if bytes(lists.get(_CONFIG, b"null")) != b"null":
        yield SchedulerConfigLeftOut()
