"""`scale`: the number of pods of a workload."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import ceil
from typing import Any

from msgspec.structs import replace

from kwhatif.admission.new_workload import check_workload
from kwhatif.edits.edit import Reference, Resolved, Scale, ScaleBy, ScaleToMax, Wrong
from kwhatif.edits.selection import Lookup
from kwhatif.kube.model.bystanders import HorizontalPodAutoscaler
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.job import Job
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.workload import SCALABLE, Deployment, Scalable
from kwhatif.state.change import Upsert
from kwhatif.workloads.autoscaling import bounded, scalers_of, target_of
from kwhatif.workloads.expand import replicas_of


def scale(edit: Scale, lookup: Lookup) -> Resolved:
    """Set `spec.replicas`, or `spec.parallelism` of a Job."""
    written = [new for target, count in edit.targets for new in _scaled(target, count, lookup)]
    notes = [note for new in written for note in _notes(new, lookup)]
    return Resolved(tuple(map(Upsert, written)), workloads=tuple(written), notes=tuple(notes))


def scale_by(edit: ScaleBy, lookup: Lookup) -> Resolved:
    """Multiply the number of pods, rounded up; an autoscaler's bounds hold. Workloads without pods stay so."""
    factor = Fraction(edit.factor)
    found = lookup.objects(edit.workloads) if edit.workloads else list(_all(edit.namespace, lookup))
    others = [each for each in found if not isinstance(each, SCALABLE)]
    for each in others:
        lookup.mistakes.append(Wrong(f"{type(each).__name__} {key_of(each)} cannot be multiplied", _MULTIPLIED))
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
    notes = [f"{', '.join(held)}: no more than the maximum of its HorizontalPodAutoscaler"] if held else []
    return replace(resolved, notes=(*resolved.notes, *notes))


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
    return _with_counts(
        [found[name] for name in sorted(found)], lambda each: most[f"{type(each).__name__} {key_of(each)}"]
    )


def _all(namespace: str | None, lookup: Lookup) -> Iterator[Scalable]:
    """The workloads that no other workload makes, by kind and name."""
    for kind in SCALABLE:
        for key in sorted(lookup.cluster.all(kind)):
            each = lookup.cluster.all(kind)[key]
            if namespace in (None, each.metadata.namespace) and controller_of(each.metadata) is None:
                yield each


def _with_counts(workloads: Sequence[Scalable], wanted: Callable[[Scalable], int]) -> Resolved:
    """The workloads with these numbers of pods, but for those without any, and those that have them."""
    written = []
    for each in workloads:
        count = wanted(each) if replicas_of(each) else 0
        if count != replicas_of(each):
            written.append(replace(each, spec=replace(each.spec, replicas=count)))
    if not written:
        return Resolved((), notes=("nothing changes: all have these numbers of pods",))
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


def _notes(new: Any, lookup: Lookup) -> list[str]:
    if new == lookup.cluster.get(type(new), key_of(new)):
        return [f"{type(new).__name__} {key_of(new)} already has this number of replicas"]
    owner = controller_of(new.metadata)
    if owner is None or lookup.cluster.get(Deployment, f"{new.metadata.namespace}/{owner.name}") is None:
        return []
    return [f"Deployment {owner.name} would scale it back: scale the Deployment instead"]
