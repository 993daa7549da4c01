"""`scale`: the number of pods of a workload."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kwhatif.admission.new_workload import check_workload
from kwhatif.edits.edit import Reference, Resolved, Scale, Wrong
from kwhatif.edits.selection import Lookup
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.job import Job
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.workload import SCALABLE, Deployment
from kwhatif.state.change import Upsert


def scale(edit: Scale, lookup: Lookup) -> Resolved:
    """Set `spec.replicas`, or `spec.parallelism` of a Job."""
    written = [new for target, count in edit.targets for new in _scaled(target, count, lookup)]
    notes = [note for new in written for note in _notes(new, lookup)]
    return Resolved(tuple(map(Upsert, written)), workloads=tuple(written), notes=tuple(notes))


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


def _notes(new: Any, lookup: Lookup) -> list[str]:
    if new == lookup.cluster.get(type(new), key_of(new)):
        return [f"{type(new).__name__} {key_of(new)} already has this number of replicas"]
    owner = controller_of(new.metadata)
    if owner is None or lookup.cluster.get(Deployment, f"{new.metadata.namespace}/{owner.name}") is None:
        return []
    return [f"Deployment {owner.name} would scale it back: scale the Deployment instead"]
