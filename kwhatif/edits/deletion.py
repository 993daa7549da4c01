"""`delete`: an object is deleted with its dependents, as with kubectl's `--cascade=background`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kwhatif.edits.edit import DeleteObjects, Reference, Resolved, Wrong
from kwhatif.edits.selection import Lookup
from kwhatif.kube.model.cluster import SYSTEM_PRIORITY_CLASSES, Cluster, key_of
from kwhatif.kube.model.job import CronJob, Job
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.meta import AnnotatedMeta, ObjectMeta, controller_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PriorityClass
from kwhatif.kube.model.unknown import lacks_node
from kwhatif.kube.model.workload import Deployment, Namespace, ReplicaSet
from kwhatif.state.change import Delete
from kwhatif.workloads.owners import pods_of

#: (kind, namespace, name) of an owner -> its UID.
_Owners = dict[tuple[str, str, str], str]


def delete(edit: DeleteObjects, lookup: Lookup) -> Resolved:
    """Deletes the named objects in `changes`, and their dependents, as the garbage collector does, in `follow`."""
    if edit.ignore_not_found:
        lookup = Lookup(lookup.cluster, lookup.namespace)
    lacking = list(_lacking_nodes(edit.objects, lookup.cluster))
    names = {node.metadata.name for node in lacking}
    named = [each for each in edit.objects if each.resource.type is not Node or each.name not in names]
    objects = [*lookup.objects(named), *lacking]
    for obj in objects:
        if isinstance(obj, PriorityClass) and obj.metadata.name in SYSTEM_PRIORITY_CLASSES:
            lookup.mistakes.append(Wrong(f"{obj.metadata.name} is built into the API server: it cannot be deleted"))
    gone = {(type(obj), key_of(obj)): obj for obj in objects}
    owned = {
        (type(obj), key_of(obj)): obj
        for obj in _dependents(objects, lookup.cluster)
        if (type(obj), key_of(obj)) not in gone
    }
    return Resolved(
        tuple(Delete.of(obj) for obj in gone.values()),
        follow=tuple(Delete.of(obj) for obj in owned.values()),
        notes=tuple(_notes(objects, list(owned.values()), lookup.cluster)),
        notes_at_rest=tuple(_notes_at_rest(objects)),
    )


def _lacking_nodes(references: Sequence[Reference], cluster: Cluster) -> Iterator[Node]:
    """The nodes among these that the input lacks, although pods are on them: deleting one declares that it is gone."""
    names = dict.fromkeys(each.name for each in references if each.resource.type is Node)
    lacking = [name for name in names if lacks_node(name, cluster)]
    used = {pod.spec.node_name for pod in cluster.all(Pod).values()} if lacking else set()
    return (Node(metadata=AnnotatedMeta(name=name)) for name in lacking if name in used)


def _dependents(objects: Sequence[Any], cluster: Cluster) -> Iterator[Any]:
    """All dependents: direct and indirect ones by owner references, and the contents of deleted namespaces."""
    owners: _Owners = {}
    namespaces = {obj.metadata.name for obj in objects if isinstance(obj, Namespace)}
    for obj in objects:
        owners[type(obj).__name__, obj.metadata.namespace, obj.metadata.name] = obj.metadata.uid
        # Pods through ReplicaSets or Jobs that are not in the input.
        yield from pods_of(obj, cluster) if isinstance(obj, Deployment | CronJob) else ()
    # Owners before the kinds that they may own.
    kinds = sorted(cluster.counts(), key=lambda kind: (kind not in (ReplicaSet, Job), kind is not Pod))
    for kind in kinds:
        resource = RESOURCES.get(kind)
        if resource is None:
            continue
        for obj in cluster.all(kind).values():
            meta: ObjectMeta = obj.metadata
            if meta.namespace in namespaces if namespaces and resource.namespaced else False:
                yield obj
            elif any(_is_one_of(owner, meta.namespace, owners) for owner in meta.owner_references):
                owners[kind.__name__, meta.namespace, meta.name] = meta.uid
                yield obj


def _is_one_of(owner: Any, namespace: str, owners: _Owners) -> bool:
    """Whether the owner is one of them, by UID if both have one; owners are in the same namespace or cluster-scoped."""
    for place in (namespace, ""):
        uid = owners.get((owner.kind, place, owner.name))
        if uid is not None and (not uid or not owner.uid or uid == owner.uid):
            return True
    return False


def _notes(objects: Sequence[Any], owned: Sequence[Any], cluster: Cluster) -> Iterator[str]:
    pods = sum(isinstance(obj, Pod) for obj in owned)
    if pods:
        yield f"{pods} pod{'s' if pods > 1 else ''} that it owns go with it, as with kubectl's --cascade=background"
    nodes = {obj.metadata.name for obj in objects if isinstance(obj, Node)}
    left = sum(pod.spec.node_name in nodes for pod in cluster.all(Pod).values()) if nodes else 0
    if left:
        yield f"{left} pod{'s stay' if left > 1 else ' stays'} assigned to it until they are deleted"


def _notes_at_rest(objects: Sequence[Any]) -> Iterator[str]:
    if any(isinstance(obj, Pod) and controller_of(obj.metadata) is not None for obj in objects):
        yield "its controller would create a new pod: use `simulate` to include that"
