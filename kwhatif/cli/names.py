"""Names that the shell completes: those of nodes and workloads of the dump that `--from` names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from kwhatif.kube.model.cluster import Cluster

#: Larger dumps (in bytes) take too long to read for a completion.
_MOST_BYTES = 4 << 20
#: The kinds whose names are proposed if no kind is typed.
_COMMON = ("deploy/", "sts/", "job/", "cronjob/", "rs/", "pod/")


def node_names(ctx: typer.Context) -> list[str]:
    """The names of all nodes; none if the dump is large or cannot be read: completion shows no errors."""
    from kwhatif.kube.model.node import Node

    cluster = _cluster(ctx)
    return sorted(cluster.all(Node)) if cluster is not None else []


def complete_node(ctx: typer.Context, incomplete: str) -> list[str]:
    """The names of nodes."""
    return [name for name in node_names(ctx) if name.startswith(incomplete)]


def complete_object(ctx: typer.Context, incomplete: str) -> list[str]:
    """Objects of the cluster that make pods, as `deploy/shop/web`; the shell itself completes files."""
    from kwhatif.kube.model.kinds import BY_WORD
    from kwhatif.kube.model.workload import POD_SOURCES

    word, slash, _ = incomplete.partition("/")
    given = ctx.params.get("manifests") or ()
    if not slash:
        return [kind for kind in _COMMON if kind.startswith(word)] if list(given)[-1:] == ["like"] else []
    resource = BY_WORD.get(word.lower())
    cluster = _cluster(ctx) if resource is not None and issubclass(resource.type, POD_SOURCES) else None
    if cluster is None or resource is None:
        return []
    objects: Mapping[str, object] = cluster.all(resource.type)
    names = (f"{word}/{key}" for key in sorted(objects))
    return [name for name in names if name.startswith(incomplete)]


def _cluster(ctx: typer.Context) -> Cluster | None:
    import kwhatif

    paths = list(ctx.params.get("from_") or ())
    if not paths or not all(os.path.isfile(path) and os.path.getsize(path) <= _MOST_BYTES for path in paths):  # noqa: PTH113, PTH202 - as the user wrote them
        return None
    try:
        return kwhatif.load(*paths).cluster
    except kwhatif.KwhatifError:
        return None
