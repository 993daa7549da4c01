"""How other tools lay out what they dump: which files hold which kind, and what such a dump never holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kwhatif.model.missing import Missing
from kwhatif.sources.files import SUFFIXES
from kwhatif.sources.resources import BY_KIND, RESOURCES

#: Path of a file -> the kind that it holds; "": whatever it says; None: it is not read.
KindOf = Callable[[str], str | None]


class Layout(NamedTuple):
    """A tree that was recognized."""

    #: What the tool's dump is called, with its article.
    name: str
    kind_of: KindOf
    caveats: tuple[Missing, ...] = ()
    #: Whether a kind of which there is no file was not dumped (rather than: the cluster has none).
    says_all: bool = True


def recognize(paths: Sequence[str]) -> Layout:
    """The layout of a tree with these files; plain files if no tool is known that makes such a tree."""
    for known in (_support_bundle, _must_gather, _cluster_info):
        layout = known(paths)
        if layout is not None:
            return layout
    return Layout("an archive", _plain, says_all=False)


def _plain(path: str) -> str | None:
    """Every file that could hold objects; hidden ones are left out."""
    hidden = any(part.startswith(".") for part in path.split("/"))
    return "" if path.endswith(SUFFIXES) and not hidden else None


_BY_PLURAL = {resource.plural: resource.kind for resource in RESOURCES}

# --- kubectl cluster-info dump --output-directory ------------------------------------------------------------

_CLUSTER_INFO = re.compile(
    r"(?:.*/)?(?:nodes|[^/]+/(pods|services|replicasets|deployments|daemonsets|replication-controllers))\.(?:json|yaml)"
)
_CLUSTER_INFO_MARK = re.compile(r"(?:.*/)?([^/]+)/replication-controllers\.(?:json|yaml)")


def _cluster_info(paths: Sequence[str]) -> Layout | None:
    namespaces = {match[1] for path in paths if (match := _CLUSTER_INFO_MARK.fullmatch(path))}
    if not namespaces:
        return None

    def kind_of(path: str) -> str | None:
        match = _CLUSTER_INFO.fullmatch(path)
        return match and (_BY_PLURAL[match[1].replace("-", "")] if match[1] else "Node")

    return Layout(
        "a kubectl cluster-info dump",
        kind_of,
        (
            Missing(
                f"a kubectl cluster-info dump holds the namespaces that it was asked for, here {len(namespaces)}: pods"
                " of others count nowhere, unless it was taken with --all-namespaces"
            ),
        ),
    )


# --- must-gather ------------------------------------------------------------------------------------------------

_GATHERED = re.compile(
    r"(?:.*/)?(?:cluster-scoped-resources|namespaces/(?P<ns>[^/]+))/(?P<group>[^/]+)/(?P<plural>[^/]+?)"
    r"(?:/[^/]+)?\.(?:yaml|json)"
)
_GATHERED_NAMESPACE = re.compile(r"(?:.*/)?namespaces/([^/]+)/\1\.yaml")
_GATHERED_POD = re.compile(r"((?:.*/)?namespaces/[^/]+)/pods/([^/]+)/\2\.yaml")
_GATHERED_PODS = re.compile(r"((?:.*/)?namespaces/[^/]+)/core/pods\.(?:yaml|json)")
_BY_GROUP_AND_PLURAL = {(resource.group or "core", resource.plural): resource.kind for resource in RESOURCES}


def _must_gather(paths: Sequence[str]) -> Layout | None:
    if not any(_GATHERED_PODS.fullmatch(path) or _GATHERED_POD.fullmatch(path) for path in paths):
        return None
    #: Namespaces whose pods are all in one file; that of each pod says the same of another moment.
    listed = {match[1] for path in paths if (match := _GATHERED_PODS.fullmatch(path))}

    def kind_of(path: str) -> str | None:
        if _GATHERED_NAMESPACE.fullmatch(path):
            return "Namespace"
        pod = _GATHERED_POD.fullmatch(path)
        if pod is not None:
            return None if pod[1] in listed else "Pod"
        match = _GATHERED.fullmatch(path)
        return match and _BY_GROUP_AND_PLURAL.get((match["group"], match["plural"]))

    return Layout(
        "a must-gather",
        kind_of,
        (Missing("a must-gather holds the namespaces that it was asked for: pods of others count nowhere"),),
    )


# --- support bundles of troubleshoot.sh -------------------------------------------------------------------------

_BUNDLED = re.compile(r"(?:.*/)?cluster-resources/([^/.]+)(?:(?:/[^/]+)?\.json)?")
#: QUIRK: (`pkg/collect/cluster_resources.go`) some versions put ReplicaSets there.
_BUNDLED_REPLICA_SETS = re.compile(r"(?:.*/)?cluster-resources/statefulsets-errors\.json/[^/]+\.json")
_BUNDLED_AS = {
    "pod-disruption-budgets": "PodDisruptionBudget",
    "pvcs": "PersistentVolumeClaim",
    "pvs": "PersistentVolume",
    "resource-quota": "ResourceQuota",
    "storage-classes": "StorageClass",
} | _BY_PLURAL


def _support_bundle(paths: Sequence[str]) -> Layout | None:
    if not any(_kind_in_bundle(path) == "Pod" for path in paths):
        return None
    return Layout("a support bundle", _kind_in_bundle)


def _kind_in_bundle(path: str) -> str | None:
    if _BUNDLED_REPLICA_SETS.fullmatch(path):
        return BY_KIND["ReplicaSet"].kind
    match = _BUNDLED.fullmatch(path)
    return match and _BUNDLED_AS.get(match[1])
