"""`resolve`: computes the changes of an edit in a state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import Any

from msgspec.structs import replace

from kwhatif.admission.new_objects import check_workload
from kwhatif.edits import edit as edits
from kwhatif.edits import nodes, objects
from kwhatif.edits.edit import DeleteObjects, Edit, Reference, Resolved, Scale, ScaleBy, ScaleToMax, Wrong
from kwhatif.edits.requests import requests
from kwhatif.edits.selection import Lookup
from kwhatif.kube.model.bystanders import HorizontalPodAutoscaler
from kwhatif.kube.model.cluster import SYSTEM_PRIORITY_CLASSES, Cluster, ObjectRef, key_of, lacks_node
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.meta import AnnotatedMeta, ObjectMeta, controller_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PriorityClass
from kwhatif.kube.model.workload import SCALABLE, CronJob, Deployment, Job, Namespace, ReplicaSet, Scalable
from kwhatif.report.edit_notes import (
    AutoscalerBound,
    DependentsDeleted,
    EditNote,
    NothingChanges,
    PodRecreated,
    PodsStayAssigned,
    ReplicasUnchanged,
    ScaledBack,
)
from kwhatif.state.change import Delete, Upsert
from kwhatif.state.state import State
from kwhatif.workloads.counts import bounded, scalers_of, target_of
from kwhatif.workloads.expand import replicas_of
from kwhatif.workloads.owners import pods_of


def scale(edit: Scale, lookup: Lookup) -> Resolved:
    """Set `spec.replicas`, or `spec.parallelism` of a Job."""
    written = [new for target, count in edit.targets for new in _scaled(target, count, lookup)]
    notes = (note for new in written for note in _scaling_notes(new, lookup))
    return Resolved(tuple(map(Upsert, written)), workloads=tuple(written), notes=tuple(notes))


def scale_by(edit: ScaleBy, lookup: Lookup) -> Resolved:
    """Multiply the number of pods, rounded up; an autoscaler's bounds hold. Workloads without pods stay so."""
    factor = Fraction(edit.factor)
    found = lookup.objects(edit.workloads) if edit.workloads else list(_all(edit.namespace, lookup))
    others = [each for each in found if not isinstance(each, SCALABLE)]
    for each in others:
        lookup.mistakes.append(Wrong(f"{ObjectRef.of(each)} cannot be multiplied", _MULTIPLIED))
    if not (found or lookup.mistakes):
        where = f" in namespace {edit.namespace}" if edit.namespace else ""
        lookup.mistakes.append(Wrong(f"no workload{where} has a number of pods", _MULTIPLIED))
    held: list[str] = []

    def wanted(each: Scalable) -> int:
        count = asked = ceil(replicas_of(each) * factor)
        for scaler in scalers_of(each, lookup.cluster):
            count = bounded(count, scaler)
        if count < asked:
            held.append(key_of(each))
        return count

    resolved = _with_counts([each for each in found if isinstance(each, SCALABLE)], wanted)
    return replace(resolved, notes=(*resolved.notes, AutoscalerBound(tuple(held)))) if held else resolved


_MULTIPLIED = "a factor is for Deployments, StatefulSets, ReplicaSets and ReplicationControllers"


def scale_to_max(edit: ScaleToMax, lookup: Lookup) -> Resolved:
    """Give each workload as many pods as its HorizontalPodAutoscaler allows; those without pods stay so."""
    most: dict[str, int] = {}
    found: dict[str, Scalable] = {}
    for scaler in lookup.cluster.all(HorizontalPodAutoscaler).values():
        target, limit = target_of(scaler, lookup.cluster), scaler.spec.max_replicas
        if target is None or limit is None or edit.namespace not in (None, scaler.metadata.namespace):
            continue
        found[scaler.target] = target
        most[scaler.target] = min(limit, most.get(scaler.target, limit))
    if not found:
        where = f" in namespace {edit.namespace}" if edit.namespace else ""
        raise Wrong(f"no HorizontalPodAutoscaler{where} scales a workload of the input")
    return _with_counts([found[name] for name in sorted(found)], lambda each: most[str(ObjectRef.of(each))])


def _all(namespace: str | None, lookup: Lookup) -> Iterator[Scalable]:
    """Top-level workloads, which no other workload creates, by kind and name."""
    for kind in SCALABLE:
        for key in sorted(lookup.cluster.all(kind)):
            each = lookup.cluster.all(kind)[key]
            if namespace in (None, each.metadata.namespace) and controller_of(each.metadata) is None:
                yield each


def _with_counts(workloads: Sequence[Scalable], wanted: Callable[[Scalable], int]) -> Resolved:
    """The workloads with these numbers of pods, except workloads without pods and those that already have them."""
    written = []
    for each in workloads:
        count = wanted(each) if replicas_of(each) else 0
        if count != replicas_of(each):
            written.append(replace(each, spec=replace(each.spec, replicas=count)))
    if not written:
        return Resolved((), notes=(NothingChanges("replicas"),))
    return Resolved(tuple(map(Upsert, written)), workloads=tuple(written))


def _scaled(target: Reference, count: int, lookup: Lookup) -> list[Any]:
    if not issubclass(target.resource.type, (*SCALABLE, Job)):
        lookup.mistakes.append(Wrong(f"a {target.resource.kind} has no number of replicas", _hint(target)))
        return []
    found = lookup.object(target)
    if found is None:
        return []
    field = "parallelism" if isinstance(found, Job) else "replicas"
    new = replace(found, spec=replace(found.spec, **{field: count}))
    denied = check_workload(new, lookup.cluster)
    if denied is not None:
        lookup.mistakes.append(Wrong(denied.message))
    return [new]


def _hint(target: Reference) -> str:
    if target.resource.kind == "DaemonSet":
        return "it runs one pod on each eligible node"
    return "scale a Deployment, StatefulSet, ReplicaSet, ReplicationController or Job"


def _scaling_notes(new: Any, lookup: Lookup) -> Iterator[EditNote]:
    owner = controller_of(new.metadata)
    if new == lookup.cluster.get(type(new), key_of(new)):
        yield ReplicasUnchanged(str(ObjectRef.of(new)))
    elif owner is not None and lookup.cluster.get(Deployment, f"{new.metadata.namespace}/{owner.name}") is not None:
        yield ScaledBack(owner.name)


#: (kind, namespace, name) of an owner -> its UID.
_Owners = dict[tuple[str, str, str], str]


def delete(edit: DeleteObjects, lookup: Lookup) -> Resolved:
    """Delete the objects in `changes`, and their dependents (`--cascade=background`) in `follow`."""
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
        notes=tuple(_deletion_notes(objects, list(owned.values()), lookup.cluster)),
    )


def _lacking_nodes(references: Sequence[Reference], cluster: Cluster) -> Iterator[Node]:
    """Those of these nodes that pods name and the input lacks: deleting one declares that it is gone."""
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


def _deletion_notes(objects: Sequence[Any], owned: Sequence[Any], cluster: Cluster) -> Iterator[EditNote]:
    pods = sum(isinstance(obj, Pod) for obj in owned)
    if pods:
        yield DependentsDeleted(pods)
    nodes = {obj.metadata.name for obj in objects if isinstance(obj, Node)}
    left = sum(pod.spec.node_name in nodes for pod in cluster.all(Pod).values()) if nodes else 0
    if left:
        yield PodsStayAssigned(left)
    if any(isinstance(obj, Pod) and controller_of(obj.metadata) is not None for obj in objects):
        yield PodRecreated()


class NotResolved(Exception):
    """An edit cannot be made; has all problems of it."""

    def __init__(self, mistakes: Sequence[Wrong]) -> None:
        super().__init__("; ".join(wrong.message for wrong in mistakes))
        self.mistakes = tuple(mistakes)


def resolve(edit: Edit, state: State, *, namespace: str = "default") -> Resolved:
    """The effects of the edit in this state, which does not change; `namespace` is the default for names.

    Raises:
        NotResolved: it names something that does not exist, is rejected by the API server, or needs a simulation.
    """
    lookup = Lookup(state.cluster, namespace)
    rule = _RULES.get(type(edit))
    if rule is None:
        verb = edit.text.split(maxsplit=1)[0]
        raise NotResolved([Wrong(f"{verb} needs time", "use `kwhatif simulate --then`")])
    resolved: Resolved | None = None
    try:
        resolved = rule(edit, lookup)
    except Wrong as wrong:
        lookup.mistakes.append(wrong)
    if lookup.mistakes or resolved is None:
        raise NotResolved(lookup.mistakes)
    return resolved


_RULES: Mapping[type[Any], Callable[[Any, Lookup], Resolved]] = {
    edits.AddNodes: nodes.add,
    edits.Apply: objects.apply,
    edits.Budget: objects.budget,
    edits.Cordon: nodes.cordon,
    edits.DeleteObjects: delete,
    edits.Label: objects.label,
    edits.Patch: objects.patch,
    edits.Priority: objects.priority,
    edits.Requests: requests,
    edits.Restart: objects.restart,
    edits.Resize: objects.resize,
    edits.Scale: scale,
    edits.ScaleBy: scale_by,
    edits.ScaleToMax: scale_to_max,
    edits.SetFields: objects.set_fields,
    edits.TaintNodes: nodes.taint,
    edits.Uncordon: nodes.uncordon,
}
