"""Edits of objects in their stored form: priority, budget, label, set, patch, resize, restart, apply."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.admission.load import with_pod_images, with_status
from kwhatif.admission.new_objects import check_workload, updated
from kwhatif.admission.new_pod import stored_pod
from kwhatif.admission.outcome import Denied
from kwhatif.admission.plugins import fill_in_limits
from kwhatif.admission.pod_group import GROUP_KINDS, admit_grouping
from kwhatif.admission.pod_update import is_resize, refuse_resize
from kwhatif.admission.validation.pod import validate_pod
from kwhatif.edits.edit import (
    Apply,
    Assignment,
    Budget,
    Label,
    Patch,
    Priority,
    Reference,
    Refusal,
    Resize,
    Resolved,
    Restart,
    SetFields,
    Wrong,
)
from kwhatif.edits.selection import Lookup
from kwhatif.kube.matching.field_errors import did_you_mean, field_path, nearest
from kwhatif.kube.model.cluster import SYSTEM_PRIORITY_CLASSES, Cluster, ObjectRef, key_of
from kwhatif.kube.model.kinds import BY_WORD
from kwhatif.kube.model.meta import LabelSelector, ObjectMeta
from kwhatif.kube.model.pod import Pod, PodTemplateSpec
from kwhatif.kube.model.policy import PodDisruptionBudget, PodDisruptionBudgetSpec, PriorityClass
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.kube.model.workload import SCALABLE, DaemonSet, Deployment, ReplicationController, StatefulSet, Workload
from kwhatif.report.edit_notes import (
    EditNote,
    NewBudget,
    NothingChanges,
    PodsKeepLabels,
    PodsKeepTemplate,
    PodsNotScaled,
    PrioritiesKept,
    PriorityFollows,
    PriorityUnchanged,
)
from kwhatif.simulation.resizing import asks_as_before
from kwhatif.state.change import Upsert
from kwhatif.workloads.applied_object import applied_object, updated_pod
from kwhatif.workloads.applied_template import without_text
from kwhatif.workloads.expand import with_names
from kwhatif.workloads.names import natural_number

#: The highest value for users (`HighestUserDefinablePriority` in `pkg/apis/scheduling/types.go`).
_HIGHEST = 1_000_000_000


def priority(edit: Priority, lookup: Lookup) -> Resolved:
    """Set the value of the class. The API server copies it to pods only when they are created."""
    classes = lookup.cluster.all(PriorityClass)
    known = classes.get(edit.name)
    if known is None:
        hint = did_you_mean(nearest(edit.name, classes))
        raise Wrong(f'priorityclasses.scheduling.k8s.io "{edit.name}" not found', hint)
    if edit.name in SYSTEM_PRIORITY_CLASSES:
        raise Wrong(f"{edit.name} is built into the API server: its value does not change")
    if edit.value > _HIGHEST:
        raise Wrong(f"{edit.value} is too high", f"only system classes can be above {_HIGHEST}")
    if known.value == edit.value:
        return Resolved((), notes=(PriorityUnchanged(edit.name, edit.value),))
    users = sum(pod.spec.priority_class_name == edit.name for pod in lookup.cluster.all(Pod).values())
    notes = (PrioritiesKept(users),) if users else ()
    return Resolved((Upsert(replace(known, value=edit.value)),), notes=notes)


def budget(edit: Budget, lookup: Lookup) -> Resolved:
    """The changed or new budget, with the status that the disruption controller would write."""
    namespace = lookup.namespace if edit.namespace is None else edit.namespace
    known = lookup.cluster.get(PodDisruptionBudget, f"{namespace}/{edit.name}")
    selector = LabelSelector(match_labels=dict(edit.selector)) if edit.selector else None
    notes: list[EditNote] = []
    if known is None:
        if selector is None:
            selector, workload = _selector_of(edit.name, namespace, lookup)
            notes.append(NewBudget(workload))
        known = PodDisruptionBudget(metadata=ObjectMeta(name=edit.name, namespace=namespace))
    spec = PodDisruptionBudgetSpec(
        min_available=edit.min_available,
        max_unavailable=edit.max_unavailable,
        selector=known.spec.selector if selector is None else selector,
    )
    return counted(replace(known, spec=spec), lookup.cluster, notes)


def counted(budget: PodDisruptionBudget, cluster: Cluster, notes: Sequence[EditNote] = ()) -> Resolved:
    """The budget, with the status that the disruption controller would write."""
    stored, caveat = with_status(budget, cluster)
    return Resolved((Upsert(stored),), notes=tuple(notes), caveats=(caveat,))


def _selector_of(name: str, namespace: str, lookup: Lookup) -> tuple[LabelSelector, str]:
    """The selector of the workload with that name.

    Raises:
        Wrong: there is no such workload, or more than one.
    """
    of_that_name: Iterator[Any] = (lookup.cluster.get(kind, f"{namespace}/{name}") for kind in SCALABLE)
    found = [obj for obj in of_that_name if obj is not None]
    if len(found) > 1:
        names = " and ".join(f"{type(obj).__name__} {namespace}/{name}" for obj in found)
        raise Wrong(
            f"{namespace}/{name} is ambiguous: there are {names}", "say which pods: add key=value of their labels"
        )
    if not found:
        near = [
            other.partition("/")[2]
            for word in ("pdb", "deployment", "statefulset")
            for other in lookup.near(BY_WORD[word], namespace, name)
        ]
        hint = did_you_mean(list(dict.fromkeys(near[:3])))
        raise Wrong(
            f"there is no PodDisruptionBudget or workload {namespace}/{name}",
            hint or "for a new budget, say which pods: add key=value of their labels",
        )
    (workload,) = found
    selector = workload.spec.selector
    if isinstance(workload, ReplicationController):
        selector = LabelSelector(match_labels=workload.spec.selector or {})
    return selector or LabelSelector(), f"{type(workload).__name__} {namespace}/{name}"


# --- label -------------------------------------------------------------------------------------------------------


def label(edit: Label, lookup: Lookup) -> Resolved:
    """Change the object's own labels; the pods of a workload have those of its template."""
    objects = lookup.objects(edit.objects)
    for key in edit.removed if objects else ():
        if not any(key in obj.metadata.labels for obj in objects):
            near = nearest(key, {known for obj in objects for known in obj.metadata.labels})
            lookup.mistakes.append(Wrong(f"no object of these has the label {key}", did_you_mean(near)))
    changed = [(obj, _labelled(obj, edit)) for obj in objects]
    if all(obj == new for obj, new in changed):
        return Resolved((), notes=(NothingChanges("labels"),))
    notes = (PodsKeepLabels(),) if any(map(_has_template, objects)) else ()
    return Resolved(tuple(Upsert(new) for obj, new in changed if obj != new), notes=notes)


def _labelled(obj: Any, edit: Label) -> Any:
    labels = {key: value for key, value in obj.metadata.labels.items() if key not in edit.removed}
    return replace(obj, metadata=replace(obj.metadata, labels={**labels, **edit.added}))


def _has_template(obj: Any) -> bool:
    return hasattr(getattr(obj, "spec", None), "template")


# --- set and patch -----------------------------------------------------------------------------------------------


def set_fields(edit: SetFields, lookup: Lookup) -> Resolved:
    """Set fields by path."""

    def change(data: dict[str, Any]) -> None:
        for each in edit.values:
            _assign(data, each)

    return _changed(edit.object, change, lookup)


def patch(edit: Patch, lookup: Lookup) -> Resolved:
    """Apply a JSON merge patch."""
    return _changed(edit.object, lambda data: _merge(data, edit.merge), lookup)


def resize(edit: Resize, lookup: Lookup) -> Resolved:
    """Set requests and limits of a container of a running pod (`kubectl patch pod --subresource resize`)."""

    def change(data: dict[str, Any]) -> None:
        containers = data["spec"].get("containers", ())
        names = [each.get("name", "") for each in containers]
        if not data["spec"].get("nodeName"):
            raise Wrong(f"{edit.pod.text} is on no node: only a running pod can be resized")
        if not edit.container and len(names) > 1:
            raise Wrong(
                f"{edit.pod.text} has {len(names)} containers", f"write CONTAINER:cpu=2, with {', '.join(names)}"
            )
        if edit.container and edit.container not in names:
            raise Wrong(f"there is no container {edit.container!r}", f"there is {', '.join(names)}")
        resources = containers[names.index(edit.container) if edit.container else 0].setdefault("resources", {})
        for field, amounts in (("requests", edit.requests), ("limits", edit.limits)):
            if amounts:
                resources[field] = {**resources.get(field, {}), **amounts}

    return _changed(edit.pod, change, lookup)


#: The label of pod templates that a restart changes: no rule reads the annotation that kubectl sets.
_RESTARTED = "kwhatif.dev/restarted"


def restart(edit: Restart, lookup: Lookup) -> Resolved:
    """Change the templates of workloads that roll, so that all their pods are replaced (`kubectl rollout restart`)."""
    restarted: list[Any] = []
    for workload in lookup.objects(edit.workloads):
        name = str(ObjectRef.of(workload))
        if not isinstance(workload, Deployment | StatefulSet | DaemonSet):
            lookup.mistakes.append(Wrong(f"{name} has no rollout", "restart a Deployment, StatefulSet or DaemonSet"))
        elif isinstance(workload, Deployment) and workload.spec.paused:
            lookup.mistakes.append(Wrong(f"{name} is paused", "resume it first"))
        else:
            restarted.append(_restarted(workload))
    return Resolved(tuple(map(Upsert, restarted)), notes=(PodsKeepTemplate(),) if restarted else ())


def _restarted(workload: Deployment | StatefulSet | DaemonSet) -> Any:
    template = workload.spec.template or PodTemplateSpec()
    labels = template.metadata.labels
    count = natural_number(labels.get(_RESTARTED, "")) or 0
    meta = replace(template.metadata, labels={**labels, _RESTARTED: str(count + 1)})
    new = replace(workload, spec=replace(workload.spec, template=replace(template, metadata=meta)))
    return without_text(new, workload)


def _changed(reference: Reference, change: Callable[[dict[str, Any]], None], lookup: Lookup) -> Resolved:
    known = lookup.object(reference)
    if known is None:
        return Resolved(())
    data: dict[str, Any] = msgspec.to_builtins(known)
    change(data)
    try:
        new: Any = msgspec.convert(data, reference.resource.type)
    except msgspec.ValidationError as wrong:
        raise Wrong(f"{reference.text} would not be valid: {wrong}") from wrong
    if key_of(new) != key_of(known):
        raise Wrong("an object cannot be renamed or moved", "delete it, and apply another one")
    if isinstance(new, Workload) and not isinstance(new, Pod):
        new = without_text(new, known)
    if isinstance(new, Pod) and isinstance(known, Pod) and is_resize(new, known):
        new = fill_in_limits(new, lookup.cluster)  # LimitRanger does it for new pods and for resizes
    stored = _stored(new, known, lookup.cluster)
    if stored == known:
        return Resolved((), notes=(NothingChanges("fields"),))
    if isinstance(stored, Pod) and is_resize(stored, known):
        stored = _asking(stored, known, lookup.cluster)
    if isinstance(stored, PodDisruptionBudget) and stored.spec != known.spec and stored.status == known.status:
        return counted(stored, lookup.cluster)
    return Resolved((Upsert(stored),), notes=tuple(_notes(stored, known)))


def _stored(new: Any, known: Any, cluster: Cluster) -> Any:
    """The object in its stored form: with defaults, and validated.

    Raises:
        Wrong: it is not valid.
    """
    if isinstance(new, Pod):
        if new.spec.priority_class_name != known.spec.priority_class_name and new.spec.priority == known.spec.priority:
            new = replace(new, spec=replace(new.spec, priority=None, preemption_policy=""))
        stored: Any = stored_pod(new, cluster)
        denied = stored if isinstance(stored, Denied) else validate_pod(with_pod_images(stored, known))
    elif isinstance(new, GROUP_KINDS):
        stored = admit_grouping(new, cluster)
        denied = stored if isinstance(stored, Denied) else None
    else:
        stored = default_object(new)
        denied = check_workload(stored, cluster) if isinstance(stored, Workload) else None
    if denied is not None:
        raise Refusal(denied.message)
    return stored


def _asking(new: Pod, known: Pod, cluster: Cluster) -> Pod:
    """The pod with a requested resize, about which its kubelet decides.

    Raises:
        Wrong: the API server rejects it.
    """
    denied = refuse_resize(new, known, cluster)
    if denied is not None:
        raise Refusal(denied.message)
    return asks_as_before(new, known)


def _notes(new: Any, known: Any) -> Iterator[EditNote]:
    if isinstance(new, Pod) and new.spec.priority_class_name != known.spec.priority_class_name:
        yield PriorityFollows(known.spec.priority, new.spec.priority)
    if isinstance(new, SCALABLE) and new.spec.replicas != known.spec.replicas:
        yield PodsNotScaled()
    elif _has_template(new) and new.spec.template != known.spec.template:
        yield PodsKeepTemplate()


def _assign(data: dict[str, Any], assignment: Assignment) -> None:
    """Set or remove a field of plain data.

    Raises:
        Wrong: the list has no such entry, or there is nothing to remove.
    """
    *steps, last = assignment.path
    here: Any = data
    for at, step in enumerate(steps):
        below: Any = [] if isinstance(assignment.path[at + 1], int) else {}
        here = _entry(here, step, assignment.path[: at + 1], below)
    shown = field_path(assignment.path)
    if isinstance(here, list) and isinstance(last, int):
        if not 0 <= last <= len(here) - (assignment.value is None):
            raise Wrong(f"{shown}: there is no such entry", f"the list has {len(here)}")
        here[last : last + 1] = [] if assignment.value is None else [assignment.value]
    elif assignment.value is None:
        if last not in here:
            hint = did_you_mean(nearest(str(last), map(str, here))[:1])
            raise Wrong(f"{shown} is not set: there is nothing to remove", hint)
        del here[last]
    else:
        here[last] = assignment.value


def _entry(here: Any, step: str | int, path: Sequence[str | int], below: Any) -> Any:
    if isinstance(here, dict):
        return here.setdefault(step, below)
    if not isinstance(step, int) or not 0 <= step < len(here):
        raise Wrong(f"{field_path(path)}: there is no such entry", f"the list has {len(here)}")
    return here[step]


def _merge(data: dict[str, Any], patch: Mapping[str, Any]) -> None:
    """Apply a JSON merge patch (RFC 7386)."""
    for key, value in patch.items():
        if value is None:
            data.pop(key, None)
        elif isinstance(value, Mapping):
            below = data.get(key)
            if not isinstance(below, dict):
                below = data[key] = {}
            _merge(below, value)
        else:
            data[key] = value


# --- apply -------------------------------------------------------------------------------------------------------


def apply(edit: Apply, lookup: Lookup) -> Resolved:
    """Apply objects of manifests. Controllers then create the pods of workloads, and volumes for new claims."""
    written: list[Any] = []
    made: list[Any] = []
    refused: list[tuple[Any, str]] = []
    for obj in with_names(edit.objects, lookup.cluster):
        if isinstance(obj, PersistentVolumeClaim):
            if lookup.cluster.get(PersistentVolumeClaim, key_of(obj)) is None:  # nothing relevant can change
                made.append(obj)
                written.append(default_object(obj))
        elif isinstance(obj, Pod) and (known := lookup.cluster.get(Pod, key_of(obj))) is not None:
            pod = updated_pod(obj, known)
            if isinstance(pod, Denied):
                refused.append((obj, pod.message))
            elif pod is not known:
                written.append(pod)
        elif isinstance(obj, Pod | Workload):
            new = applied_object(obj, lookup.cluster)
            denied = None if isinstance(new, Pod) else check_workload(new, lookup.cluster)
            if denied is not None:
                refused.append((obj, denied.message))
                continue
            made.append(obj)
            written.append(default_object(new))
        else:
            stored = _surrounding(obj, lookup.cluster)
            if isinstance(stored, Denied):
                refused.append((obj, stored.message))
            else:
                written.append(stored)
    return Resolved(tuple(map(Upsert, written)), workloads=tuple(made), refused=tuple(refused), notes=edit.notes)


def _surrounding(obj: Any, cluster: Cluster) -> Any:
    """The object as it is stored, of which no pods are made; or `Denied`."""
    new = applied_object(obj, cluster)
    return admit_grouping(new, cluster) if isinstance(obj, GROUP_KINDS) else updated(default_object(new), cluster)
