"""An edit as writes to the API server; controllers and kubelets react to them."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.controllers.contract import Create, DeletePod, Moment, Remove, Update, Write
from kwhatif.edits.edit import Apply, DeleteObjects, Edit, Resolved
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import Namespace
from kwhatif.questions.manifests.writes import as_applied
from kwhatif.state.change import Change, Delete, Upsert


def writes_of(edit: Edit, resolved: Resolved, world: Moment) -> Iterator[Write]:
    """The writes in order; each depends on the world after the ones before."""
    for change in (*resolved.changes, *_in_deleted_namespaces(resolved)):
        write = _as_write(change, edit, world.state.cluster)
        if write is not None:
            yield write


def _in_deleted_namespaces(resolved: Resolved) -> list[Delete]:
    """What the namespace controller deletes: everything in deleted namespaces, pods last."""
    names = {change.key for change in resolved.changes if isinstance(change, Delete) and change.kind is Namespace}
    follow = [change for change in resolved.follow if isinstance(change, Delete)] if names else []
    there = [each for each in follow if RESOURCES[each.kind].namespaced and each.key.partition("/")[0] in names]
    return sorted(there, key=lambda each: each.kind is Pod)


def _as_write(change: Change, edit: Edit, cluster: Cluster) -> Write | None:
    match change:
        case Upsert(obj=obj):
            known = cluster.get(type(obj), key_of(obj))
            if known is None:
                return Create(obj)
            return Update(as_applied(obj, known) if isinstance(edit, Apply) else obj)
        case Delete(kind=kind, key=key):
            if kind is not Pod:
                return Remove(kind, key)
            return DeletePod(key, "Deleted", grace=0 if isinstance(edit, DeleteObjects) and edit.force else None)
    return None
