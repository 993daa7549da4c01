"""Edits of priority classes and disruption budgets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from kwhatif.admission.load import with_status
from kwhatif.edits.edit import Budget, Priority, Resolved, Wrong
from kwhatif.edits.selection import Lookup
from kwhatif.kube.matching.names import did_you_mean, nearest
from kwhatif.kube.model.cluster import SYSTEM_PRIORITY_CLASSES, Cluster
from kwhatif.kube.model.kinds import BY_WORD
from kwhatif.kube.model.meta import LabelSelector, ObjectMeta
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PodDisruptionBudget, PodDisruptionBudgetSpec, PriorityClass
from kwhatif.kube.model.workload import SCALABLE, ReplicationController
from kwhatif.state.change import Upsert

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
        return Resolved((), notes=(f"{edit.name} already has the value {edit.value}",))
    users = sum(pod.spec.priority_class_name == edit.name for pod in lookup.cluster.all(Pod).values())
    notes = (f"existing pods keep their priority: {users} of this class",) if users else ()
    return Resolved((Upsert(replace(known, value=edit.value)),), notes=notes)


def budget(edit: Budget, lookup: Lookup) -> Resolved:
    """The changed or new budget, with the status that the disruption controller would write."""
    namespace = lookup.namespace if edit.namespace is None else edit.namespace
    known = lookup.cluster.get(PodDisruptionBudget, f"{namespace}/{edit.name}")
    selector = LabelSelector(match_labels=dict(edit.selector)) if edit.selector else None
    notes: list[str] = []
    if known is None:
        if selector is None:
            selector, workload = _selector_of(edit.name, namespace, lookup)
            notes.append(f"a new budget, for the pods of {workload}")
        known = PodDisruptionBudget(metadata=ObjectMeta(name=edit.name, namespace=namespace))
    spec = PodDisruptionBudgetSpec(
        min_available=edit.min_available,
        max_unavailable=edit.max_unavailable,
        selector=known.spec.selector if selector is None else selector,
    )
    return counted(replace(known, spec=spec), lookup.cluster, notes)


def counted(budget: PodDisruptionBudget, cluster: Cluster, notes: Sequence[str] = ()) -> Resolved:
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
