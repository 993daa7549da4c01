"""How other tools lay out what they dump: which files hold which kind, and what such a dump does not hold.

A path below which nothing is known is never asked for: Secrets, ConfigMaps and logs stay unread.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kwhatif.model.caveat.reading import SomeNamespaces
from kwhatif.sources.decoding.resources import BY_PLURAL, RESOURCES
from kwhatif.sources.dumps.foreign.layout import Layout
from kwhatif.sources.dumps.foreign.support_bundle import support_bundle
from kwhatif.sources.text.files import SUFFIXES


def recognize(paths: Sequence[str]) -> Layout:
    """The layout of a tree with these files; plain files if no tool is known that makes such a tree."""
    for known in (support_bundle, _must_gather, _cluster_info):
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
