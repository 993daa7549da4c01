"""How other tools lay out what they dump: which files hold which kind, and what such a dump does not hold.

A path below which nothing is known is never asked for: Secrets, ConfigMaps and logs stay unread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.reading import CollectionFailed, SomeNamespaces
from kwhatif.sources.decoding.examine import FAILURES
from kwhatif.sources.decoding.kinds import BY_KIND, BY_PLURAL, RESOURCES
from kwhatif.sources.text.files import SUFFIXES

#: Path of a file -> the kind that it holds; "": whatever it says; None: it is not read.
KindOf = Callable[[str], str | None]
#: Content of files that say what is missing, by path -> caveats.
Caveats = Callable[[Mapping[str, bytes]], Iterable[Caveat]]


class Layout(NamedTuple):
    """A tree that was recognized."""

    #: What the tool's dump is called, with its article.
    name: str
    kind_of: KindOf
    #: Whether a file says what is missing; it may hold objects besides.
    is_note: Callable[[str], bool] = lambda _: False
    caveats: Caveats = lambda _: ()
    #: Whether a kind of which there is no file was not dumped; else the cluster may simply have none.
    is_whole: bool = True


def recognize(paths: Sequence[str]) -> Layout:
    """The layout of a tree with these files; plain files if no tool is known that makes such a tree."""
    for known in (_support_bundle, _must_gather, _cluster_info):
        layout = known(paths)
        if layout is not None:
            return layout
    return Layout("an archive", _plain, is_whole=False)


def _plain(path: str) -> str | None:
    """Every file that could hold objects; hidden ones are left out."""
    hidden = any(part.startswith(".") for part in path.split("/"))
    return "" if path.endswith(SUFFIXES) and not hidden else None


# --- kubectl cluster-info dump --output-directory (`kubectl/pkg/cmd/clusterinfo/clusterinfo_dump.go`) -----------

_CLUSTER_INFO_MARK = re.compile(r"((?:.*/)?)([^/]+)/replication-controllers\.(?:json|yaml)")
_CLUSTER_INFO = re.compile(
    r"(?:nodes|([^/]+)/(pods|services|replicasets|deployments|daemonsets|replication-controllers))\.(?:json|yaml)"
)


def _cluster_info(paths: Sequence[str]) -> Layout | None:
    marks = [match for path in paths if (match := _CLUSTER_INFO_MARK.fullmatch(path))]
    if not marks:
        return None
    top = min((match[1] for match in marks), key=len)
    namespaces = {match[2] for match in marks if match[1] == top}

    def kind_of(path: str) -> str | None:
        match = _CLUSTER_INFO.fullmatch(path.removeprefix(top)) if path.startswith(top) else None
        if match is None or (match[1] and match[1] not in namespaces):
            return None
        return BY_PLURAL[match[2].replace("-", "")].kind if match[1] else "Node"

    name = "a kubectl cluster-info dump"
    caveat = SomeNamespaces(dump=name, count=len(namespaces), unless="--all-namespaces")
    return Layout(name, kind_of, caveats=lambda _: (caveat,))


# --- must-gather (`oc/pkg/cli/admin/inspect`) ------------------------------------------------------------------

_GATHERED = re.compile(
    r"(?:.*/)?(?:cluster-scoped-resources|namespaces/[^/]+)/(?P<group>[^/]+)/(?P<plural>[^/]+?)(?:/[^/]+)?\.(?:yaml|json)"
)
_GATHERED_NAMESPACE = re.compile(r"(?:.*/)?namespaces/([^/]+)/\1\.yaml")
_GATHERED_POD = re.compile(r"((?:.*/)?namespaces/([^/]+))/pods/([^/]+)/\3\.yaml")
_GATHERED_PODS = re.compile(r"((?:.*/)?namespaces/([^/]+))/core/pods(?:/[^/]+)?\.(?:yaml|json)")
_BY_GROUP_AND_PLURAL = {(resource.group or "core", resource.plural): resource.kind for resource in RESOURCES}


def _must_gather(paths: Sequence[str]) -> Layout | None:
    lists = [match for path in paths if (match := _GATHERED_PODS.fullmatch(path))]
    pods = [match for path in paths if (match := _GATHERED_POD.fullmatch(path))]
    if not lists and not pods:
        return None
    #: Namespaces of which there is a list of pods; the file of each pod says the same of another moment.
    listed = {match[1] for match in lists}

    def kind_of(path: str) -> str | None:
        if _GATHERED_NAMESPACE.fullmatch(path):
            return "Namespace"
        pod = _GATHERED_POD.fullmatch(path)
        if pod is not None:
            return None if pod[1] in listed else "Pod"
        match = _GATHERED.fullmatch(path)
        return match and _BY_GROUP_AND_PLURAL.get((match["group"], match["plural"]))

    namespaces = {match[2] for match in (*lists, *pods)}
    caveat = SomeNamespaces(dump="a must-gather", count=len(namespaces))
    return Layout("a must-gather", kind_of, caveats=lambda _: (caveat,))


# --- support bundles of troubleshoot.sh (`pkg/collect/cluster_resources.go`) --------------------------------------

_BUNDLE = "a support bundle"
_BUNDLED = re.compile(r"(?:.*/)?cluster-resources/([^/.]+)(?:/[^/]+)?\.json")
#: QUIRK: versions 0.56 to 0.123 (`pkg/collect/cluster_resources.go`) put ReplicaSets into a folder of this name.
_REPLICA_SETS = re.compile(r"(?:.*/)?cluster-resources/statefulsets-errors\.json/[^/]+\.json")
_FAILURES = re.compile(r"(?:.*/)?cluster-resources/([^/]+)-(?:errors|info)\.json")
_BUNDLESPACES = re.compile(r"(?:.*/)?cluster-resources/namespaces\.json")
_BUNDLED_KINDS = {plural: resource.kind for plural, resource in BY_PLURAL.items()} | {
    "pod-disruption-budgets": "PodDisruptionBudget",
    "pvcs": "PersistentVolumeClaim",
    "pvs": "PersistentVolume",
    "resource-quota": "ResourceQuota",
    "resource-quotas": "ResourceQuota",
    "storage-classes": "StorageClass",
}


def _support_bundle(paths: Sequence[str]) -> Layout | None:
    """The layout, if these are the files of a support bundle with cluster resources."""
    if not any(_bundled_kind(path) == "Pod" for path in paths):
        return None
    return Layout(_BUNDLE, _bundled_kind, is_note=_is_bundled_note, caveats=_bundle_caveats)


def _bundled_kind(path: str) -> str | None:
    if _REPLICA_SETS.fullmatch(path):
        return "ReplicaSet"
    match = _BUNDLED.fullmatch(path)
    return match and _BUNDLED_KINDS.get(match[1])


def _is_bundled_note(path: str) -> bool:
    match = _FAILURES.fullmatch(path)
    return bool(match and match[1] in _BUNDLED_KINDS) or _BUNDLESPACES.fullmatch(path) is not None


def _bundle_caveats(notes: Mapping[str, bytes]) -> Iterator[Caveat]:
    for path, text in sorted(notes.items()):
        failed = _FAILURES.fullmatch(path)
        if failed:
            yield from _failures(path, BY_KIND[_BUNDLED_KINDS[failed[1]]].plural, text)
        elif not _is_list(text):
            yield SomeNamespaces(dump=_BUNDLE)


def _failures(path: str, plural: str, text: bytes) -> Iterator[Caveat]:
    """What the file of failures says: by namespace, or of the whole cluster. Its words may be about anything."""
    try:
        failures = msgspec.json.decode(text or b"null", type=dict[str, str] | list[str] | None)
    except FAILURES:
        return
    if not failures:
        return
    file = path[path.index("cluster-resources/") :]
    by_namespace = isinstance(failures, dict)
    yield CollectionFailed(
        dump=_BUNDLE,
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
    except FAILURES:
        return False
