"""How other tools lay out what they dump: which files hold which kind, and what such a dump does not hold.

A tool is a row of `TOOLS`. A path that no pattern of its row matches is never opened: Secrets, ConfigMaps and logs stay
unread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from kwhatif.edits.selection import some
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.reading import CollectionFailed, SomeNamespaces, SomeObjects
from kwhatif.sources.decoding.kinds import ASKED, BY_KIND
from kwhatif.sources.decoding.lenient import FAILURES
from kwhatif.sources.decoding.workload_kinds import KnownKinds
from kwhatif.sources.text.files import SUFFIXES
from kwhatif.sources.text.inflate import Unreadable

Matches = Sequence[re.Match[str]]
Notes = Mapping[str, bytes]


class Tool(NamedTuple):
    """A tool that dumps clusters."""

    #: What its dump is called, with its article.
    name: str
    #: A path that shows that the tool made the tree. Like all patterns it begins with the group `top`, the folder of
    #: the dump.
    mark: re.Pattern[str]
    #: Paths of files with objects. The groups `group` and `plural` say of what; without `plural`: of namespaces.
    objects: tuple[re.Pattern[str], ...]
    #: Names that are the tool's own, in the place of `plural` -> kind.
    own: Mapping[str, str] = {}
    #: A path that shows that the tree is from another tool.
    never: re.Pattern[str] | None = None
    #: Which of the files count, by those that match and those that are marks: some say the same twice.
    chosen: Callable[[Matches, Matches], Iterable[re.Match[str]]] = lambda found, _: found
    #: Files that say what is missing; they may hold objects besides.
    notes: re.Pattern[str] | None = None
    #: Caveats about a dump, by the files that count and the texts of the notes.
    caveats: Callable[[Matches, Notes], Iterable[Caveat]] = lambda _, __: ()
    #: Whether several tops are of one cluster.
    is_joined: bool = False
    #: Whether a file may be empty, where there is nothing to list.
    may_be_empty: bool = False
    #: Whether every kind that the cluster has objects of has a file, judged by the files that count.
    has_all_kinds: Callable[[Matches], bool] = lambda _: False


class Layout(NamedTuple):
    """A tree that was recognized."""

    name: str
    #: Path of a file with objects -> the kind that it holds; "": whatever it says.
    kinds: Mapping[str, str]
    #: Files that say what is missing.
    notes: frozenset[str] = frozenset()
    caveats: Callable[[Notes], Iterable[Caveat]] = lambda _: ()
    #: Whether a kind of which there is no file was not dumped; else the cluster may simply have none.
    lacks_kinds: bool = False
    #: Whether a file may be empty.
    may_be_empty: bool = False
    #: Whether a tool is known that makes such a tree.
    is_known: bool = True


def recognize(paths: Sequence[str], known: KnownKinds) -> Layout | None:
    """The layout of a tree with these files, by the custom kinds that are known; None: no tool makes such a tree.

    Raises:
        Unreadable: it holds several clusters.
    """
    first: Layout | None = None
    for tool in TOOLS:
        marks = _matches((tool.mark,), paths)
        if marks and not (tool.never is not None and any(map(tool.never.fullmatch, paths))):
            layout = _layout(tool, marks, paths, known)
            if layout.kinds:
                return layout
            first = first or layout
    return first


def _layout(tool: Tool, marks: Matches, paths: Sequence[str], known: KnownKinds) -> Layout:
    every = {match["top"] for match in marks}
    #: A dump within a dump is one of its files, such as the output of a command.
    tops = sorted(top for top in every if not any(top != other and top.startswith(other) for other in every))
    if len(tops) > 1 and not tool.is_joined:
        named = [top.rstrip("/")[:_SHOWN] for top in tops]
        raise Unreadable(f"holds {tool.name} in each of {some(named)}", "name one of these folders, unpacked")
    found = tool.chosen(_matches(tool.objects, paths), marks)
    found = [match for match in found if tool.is_joined or match["top"] in tops]
    kinds = {match[0]: kind for match in found if (kind := _kind_of(match, tool, known)) is not None}
    notes = frozenset(path for path in paths if tool.notes is not None and tool.notes.fullmatch(path))
    return Layout(
        tool.name, kinds, notes, partial(tool.caveats, found), not tool.has_all_kinds(found), tool.may_be_empty
    )


#: The most characters of a folder's name that are shown.
_SHOWN = 100


def plain(paths: Sequence[str]) -> Layout:
    """Every file that could hold objects; hidden ones are left out."""
    files = (path for path in paths if path.endswith(SUFFIXES) and "/." not in f"/{path}")
    return Layout("an archive", dict.fromkeys(files, ""), may_be_empty=True, is_known=False)


def _matches(patterns: Iterable[re.Pattern[str]], paths: Sequence[str]) -> list[re.Match[str]]:
    return [match for pattern in patterns for match in map(pattern.fullmatch, paths) if match is not None]


#: Group and plural of what a cluster is asked for -> kind. Events would be most of a dump, and say little.
_BY_NAME = {
    (each.group, each.plural): each.kind for each in reversed(ASKED) if each.kind != "Event" and not each.is_custom
}
#: Of these groups are old versions, and names without a group.
_OLD = ("", "extensions")
_BY_PLURAL = {resource.plural: resource.kind for resource in BY_KIND.values()}


def _kind_of(match: re.Match[str], tool: Tool, known: KnownKinds) -> str | None:
    names = match.groupdict()
    plural, group = names.get("plural", "namespaces"), names.get("group") or ""
    group = "" if group == "core" else group
    if plural in tool.own and not group:
        return tool.own[plural]
    if (group, plural) in _BY_NAME:
        return _BY_NAME[group, plural]
    if group in _OLD:
        return _BY_PLURAL.get(plural)
    return "" if known.has_plural(group, plural) else None


# --- the tools ---------------------------------------------------------------------------------------------------

_FILE = r"\.(?:json|ya?ml)(?:\.(?:gz|zst|xz|bz2))?"
_ONE = rf"/[^/]+{_FILE}"


def _below(text: str) -> re.Pattern[str]:
    """A pattern of paths below the top, which is as short as can be."""
    return re.compile(rf"(?P<top>(?:[^/]+/)*?){text}", re.DOTALL)


def _namespaces(found: Matches, resource: str = "pods") -> set[str]:
    """The namespaces of which there are files of a resource."""
    return {match["namespace"] for match in found if match.groupdict().get("plural") == resource}


# kubectl cluster-info dump --output-directory (`kubectl/pkg/cmd/clusterinfo/clusterinfo_dump.go`)


def _of_cluster_info(found: Matches, marks: Matches) -> Iterator[re.Match[str]]:
    top = min((match["top"] for match in marks), key=len)
    namespaces = {match["namespace"] for match in marks if match["top"] == top}
    for match in found:
        if match["top"] == top and (match["plural"] == "nodes" or match["namespace"] in namespaces):
            yield match


def _about_cluster_info(found: Matches, _: Notes) -> Iterator[Caveat]:
    yield SomeNamespaces(
        dump="a kubectl cluster-info dump",
        count=len(_namespaces(found, "replication-controllers")),
        unless="--all-namespaces",
    )


# oc adm inspect, of which a must-gather is made (`oc/pkg/cli/admin/inspect/util.go`, `pod.go`, `namespace.go`)


def _of_inspect(found: Matches, _: Matches) -> Iterator[re.Match[str]]:
    """Of a pod that a list has, or that has a file among the resources, the one beside its logs says it once more."""
    listed = {(match["top"], match["namespace"], match["name"]) for match in found if _is_pod(match, "core")}
    for match in found:
        place = match["top"], match.groupdict().get("namespace")
        if not _is_pod(match, None) or not {(*place, None), (*place, match["name"])} & listed:
            yield match


def _is_pod(match: re.Match[str], group: str | None) -> bool:
    names = match.groupdict()
    return names.get("plural") == "pods" and names.get("group") == group


def _about_inspect(found: Matches, _: Notes) -> Iterator[Caveat]:
    yield SomeNamespaces(dump="a must-gather", count=len(_namespaces(found)))


# kubectl gather (`kubectl-gather/pkg/gather/output.go`)

_NOT_LISTED = re.compile(rb'Cannot list "([\w./-]+)"')


def _has_gathered_all(found: Matches) -> bool:
    """Whether all namespaces, and what is in none: each namespace has a ServiceAccount, if nothing else."""
    names = {match["name"] for match in found if match["plural"] == "namespaces" and not match["namespace"]}
    has_nodes = any(match["plural"] == "nodes" for match in found)
    return has_nodes and bool(names) and names <= {match["namespace"] for match in found}


def _about_gathered(found: Matches, notes: Notes) -> Iterator[Caveat]:
    if not _has_gathered_all(found):
        namespaces = {match["namespace"] for match in found} - {None}
        yield SomeNamespaces(dump="a kubectl-gather dump", count=len(namespaces))
    for path, text in sorted(notes.items()):
        names = {match.decode().rpartition("/")[2] for match in _NOT_LISTED.findall(text)}
        for plural in sorted(names & _BY_PLURAL.keys()):
            yield CollectionFailed(dump="a kubectl-gather dump", resources=plural, file=path)


# OpenShift Insights (`insights-operator/docs/gathered-data.md`): objects without kind and version


def _about_insights(_: Matches, __: Notes) -> Iterator[Caveat]:
    yield SomeObjects(
        dump="an Insights archive",
        resources=("pods", "poddisruptionbudgets", "persistentvolumes"),
        chosen="of OpenShift itself and pods that fail",
    )


# Velero (`velero/pkg/backup/item_backupper.go`): with the feature EnableAPIGroupVersions in each version that is served


def _of_velero(found: Matches, _: Matches) -> Iterator[re.Match[str]]:
    """Of each object one file: in the version that is preferred."""
    best: dict[tuple[str | None, ...], re.Match[str]] = {}
    for match in sorted(found, key=_preference):
        best.setdefault(match.group("top", "plural", "group", "namespace", "name"), match)
    chosen = set(map(id, best.values()))
    return (match for match in found if id(match) in chosen)


def _preference(match: re.Match[str]) -> int:
    version = match["version"]
    return 0 if version is None else 1 if version.endswith("-preferredversion") else 2


def _about_velero(found: Matches, _: Notes) -> Iterator[Caveat]:
    yield SomeNamespaces(dump="a Velero backup", count=len(_namespaces(found)), unless="all of them")


# support bundles of troubleshoot.sh (`pkg/collect/cluster_resources.go`)

_BUNDLE = "a support bundle"
_BUNDLED = {
    "pod-disruption-budgets": "PodDisruptionBudget",
    "pvcs": "PersistentVolumeClaim",
    "pvs": "PersistentVolume",
    "resource-quota": "ResourceQuota",
    "resource-quotas": "ResourceQuota",
    # QUIRK: versions 0.56 to 0.123 put ReplicaSets into a folder of this name.
    "statefulsets-errors.json": "ReplicaSet",
    "storage-classes": "StorageClass",
}


def _about_bundle(_: Matches, notes: Notes) -> Iterator[Caveat]:
    for path, text in sorted(notes.items()):
        name = path.rpartition("/")[2].removesuffix(".json")
        plural = re.sub("-(errors|info)$", "", name)
        kind = _BUNDLED.get(plural, _BY_PLURAL.get(plural))
        if plural != name and kind is not None:
            yield from _failures(path, BY_KIND[kind].plural, text)
        elif plural == name and not _is_list(text):
            yield SomeNamespaces(dump=_BUNDLE)


def _failures(path: str, plural: str, text: bytes) -> Iterator[Caveat]:
    """What the file of failures says: by namespace, or of the whole cluster. Its words may be about anything."""
    try:
        failures = msgspec.json.decode(text or b"null", type=dict[str, str] | list[str] | None)
    except FAILURES:
        return
    if not failures:
        return
    by_namespace = isinstance(failures, dict)
    yield CollectionFailed(
        dump=_BUNDLE,
        resources=plural,
        file=path[path.index("cluster-resources/") :],
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


_INSPECTED = r"(?:cluster-scoped-resources|namespaces/(?P<namespace>[^/]+))/(?P<group>[^/]+)/(?P<plural>[^/]+?)"
_OF_NAMESPACE = "replicasets|deployments|daemonsets|pods|services|replication-controllers"

TOOLS: tuple[Tool, ...] = (
    Tool(
        "an Insights archive",
        mark=_below(r"config/(?:node|pod/[^/]+|pdbs/[^/]+)/[^/]+\.json"),
        never=re.compile(r".*\.ya?ml", re.DOTALL),
        objects=(
            _below(
                rf"config/(?:storage/)?(?P<plural>node|persistentvolumes|storageclasses|\w+webhookconfigurations){_ONE}"
            ),
            _below(rf"config/(?P<plural>pod|pdbs)/[^/]+{_ONE}"),
            _below(rf"conditional/namespaces/[^/]+/(?P<plural>pods)/(?P<name>[^/]+)/(?P=name){_FILE}"),
        ),
        own={
            "node": "Node",
            "pod": "Pod",
            "pdbs": "PodDisruptionBudget",
            "storageclasses": "StorageClass",
            "mutatingwebhookconfigurations": "MutatingWebhookConfiguration",
            "validatingwebhookconfigurations": "ValidatingWebhookConfiguration",
        },
        caveats=_about_insights,
    ),
    Tool(
        "a Velero backup",
        mark=_below(rf"resources/[^/]+/(?:v\w+(?:-preferredversion)?/)?(?:cluster|namespaces/[^/]+){_ONE}"),
        objects=(
            _below(
                r"resources/(?P<plural>[^/.]+)(?:\.(?P<group>[^/]+))?/(?:(?P<version>v\w+(?:-preferredversion)?)/)?"
                rf"(?:cluster|namespaces/(?P<namespace>[^/]+))/(?P<name>[^/]+){_FILE}"
            ),
        ),
        chosen=_of_velero,
        caveats=_about_velero,
    ),
    Tool(
        _BUNDLE,
        mark=_below(rf"cluster-resources/pods(?:/[^/]+)?{_FILE}"),
        objects=(
            _below(rf"cluster-resources/(?P<plural>[^/.]+)(?:/[^/]+)?{_FILE}"),
            _below(rf"cluster-resources/(?P<plural>statefulsets-errors\.json){_ONE}"),
        ),
        own=_BUNDLED,
        notes=_below(r"cluster-resources/(?:[^/]+-(?:errors|info)|namespaces)\.json"),
        caveats=_about_bundle,
        may_be_empty=True,
    ),
    Tool(
        "a must-gather",
        mark=_below(
            r"(?:cluster-scoped-resources/core|namespaces/[^/]+/(?:core|pods/(?P<pod>[^/]+)(?=/(?P=pod)\.)))/.+"
        ),
        objects=(
            _below(rf"{_INSPECTED}(?:/(?P<name>[^/]+))?{_FILE}"),
            _below(rf"namespaces/(?P<namespace>[^/]+)/(?P<plural>pods)/(?P<name>[^/]+)/(?P=name){_FILE}"),
            _below(rf"namespaces/(?P<namespace>[^/]+)/(?P=namespace){_FILE}"),
        ),
        chosen=_of_inspect,
        caveats=_about_inspect,
        is_joined=True,
    ),
    Tool(
        "a kubectl-gather dump",
        mark=_below(rf"cluster/(?:nodes|namespaces){_ONE}"),
        objects=(
            _below(
                r"(?:cluster|namespaces/(?P<namespace>[^/]+))/(?:(?P<group>[^/]+)/)?(?P<plural>[^/]+)/(?P<name>[^/]+)"
                rf"{_FILE}"
            ),
        ),
        notes=_below(r"gather\.log"),
        caveats=_about_gathered,
        has_all_kinds=_has_gathered_all,
    ),
    Tool(
        "a kubectl cluster-info dump",
        mark=_below(rf"(?P<namespace>[^/]+)/replication-controllers{_FILE}"),
        objects=(
            _below(rf"(?P<plural>nodes){_FILE}"),
            _below(rf"(?P<namespace>[^/]+)/(?P<plural>{_OF_NAMESPACE}){_FILE}"),
        ),
        own={"replication-controllers": "ReplicationController"},
        chosen=_of_cluster_info,
        caveats=_about_cluster_info,
        is_joined=True,
    ),
)
