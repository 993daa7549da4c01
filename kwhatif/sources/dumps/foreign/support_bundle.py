"""Support bundles of troubleshoot.sh (`pkg/collect/cluster_resources.go`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from kwhatif.model.caveat import Caveat
from kwhatif.model.caveat.reading import CollectionFailed, SomeNamespaces
from kwhatif.sources.decoding.resources import BY_KIND, BY_PLURAL
from kwhatif.sources.dumps.foreign.layout import Layout

_NAME = "a support bundle"
_FILE = re.compile(r"(?:.*/)?cluster-resources/([^/.]+)(?:/[^/]+)?\.json")
#: QUIRK: versions 0.56 to 0.123 (`pkg/collect/cluster_resources.go`) put ReplicaSets into a folder of this name.
_REPLICA_SETS = re.compile(r"(?:.*/)?cluster-resources/statefulsets-errors\.json/[^/]+\.json")
_FAILURES = re.compile(r"(?:.*/)?cluster-resources/([^/]+)-(?:errors|info)\.json")
_NAMESPACES = re.compile(r"(?:.*/)?cluster-resources/namespaces\.json")
_KINDS = {plural: resource.kind for plural, resource in BY_PLURAL.items()} | {
    "pod-disruption-budgets": "PodDisruptionBudget",
    "pvcs": "PersistentVolumeClaim",
    "pvs": "PersistentVolume",
    "resource-quota": "ResourceQuota",
    "resource-quotas": "ResourceQuota",
    "storage-classes": "StorageClass",
}


def support_bundle(paths: Sequence[str]) -> Layout | None:
    """The layout, if these are the files of a support bundle with cluster resources."""
    if not any(_kind_of(path) == "Pod" for path in paths):
        return None
    return Layout(_NAME, _kind_of, is_note=_is_note, caveats=_caveats)


def _kind_of(path: str) -> str | None:
    if _REPLICA_SETS.fullmatch(path):
        return "ReplicaSet"
    match = _FILE.fullmatch(path)
    return match and _KINDS.get(match[1])


def _is_note(path: str) -> bool:
    match = _FAILURES.fullmatch(path)
    return bool(match and match[1] in _KINDS) or _NAMESPACES.fullmatch(path) is not None


def _caveats(notes: Mapping[str, bytes]) -> Iterator[Caveat]:
    for path, text in sorted(notes.items()):
        failed = _FAILURES.fullmatch(path)
        if failed:
            yield from _failures(path, BY_KIND[_KINDS[failed[1]]].plural, text)
        elif not _is_list(text):
            yield SomeNamespaces(dump=_NAME)


def _failures(path: str, plural: str, text: bytes) -> Iterator[Caveat]:
    """What the file of failures says: by namespace, or of the whole cluster. Its words may be about anything."""
    try:
        failures = msgspec.json.decode(text or b"null", type=dict[str, str] | list[str] | None)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return
    if not failures:
        return
    file = path[path.index("cluster-resources/") :]
    by_namespace = isinstance(failures, dict)
    yield CollectionFailed(
        dump=_NAME,
        resources=plural,
        file=file,
        namespaces=len(failures) if by_namespace else 0,
        example=next(iter(failures)) if by_namespace else "",
    )


class _Head(msgspec.Struct):
    kind: str = ""


def _is_list(text: bytes) -> bool:
    """Whether the namespaces are a list of the API's: only then all of them were asked for."""
    try:
        return msgspec.json.decode(text, type=_Head).kind == "NamespaceList"
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
