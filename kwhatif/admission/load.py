"""A freshly decoded cluster becomes what the API server and its controllers would have in store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.admission.disruption import SyncFailed, budget_status
from kwhatif.admission.label_keys import merge_label_keys
from kwhatif.admission.pod_defaults import says_everything
from kwhatif.admission.pod_level import complete_pod_level, without_disabled, without_pod_level
from kwhatif.admission.priority import PriorityClasses, resolve_priority
from kwhatif.model.caveat import BudgetComputed, BudgetNotComputed, Caveat, UnknownPriorityClass
from kwhatif.model.cluster import Cluster, key_of
from kwhatif.model.kinds import RESOURCES
from kwhatif.model.pod import Pod
from kwhatif.model.policy import PodDisruptionBudget, PodDisruptionBudgetStatus, PriorityClass


def admit(cluster: Cluster) -> list[Caveat]:
    """Fill in, in place, whatever the objects do not say: defaults, priorities, budgets without status.

    Returns the caveats: what had to be assumed.
    """
    for kind in RESOURCES.keys() - {Pod}:
        _update(cluster, kind, default_object)
    classes = PriorityClasses(cluster.all(PriorityClass).values())
    unknown: dict[str, str] = {}
    gates = cluster.gates

    def stored(pod: Pod) -> Pod:
        pod = without_disabled(pod, gates)
        if not says_everything(pod):
            pod = complete_pod_level(without_pod_level(pod, gates, default_object), gates)
        pod = merge_label_keys(pod)
        if pod.spec.priority is not None and pod.spec.preemption_policy:
            return pod
        if classes.lacks(pod):
            unknown[key_of(pod)] = pod.spec.priority_class_name
        return resolve_priority(pod, classes)

    _update(cluster, Pod, stored)  # all at once: every walk over a hundred thousand pods takes its time
    cluster.sort()
    return [*_unknown_classes(cluster, unknown), *fill_budgets(cluster)]


def _update(cluster: Cluster, kind: type[Any], change: Callable[[Any], Any]) -> None:
    for key, obj in list(cluster.all(kind).items()):
        changed = change(obj)
        if changed is obj:
            continue
        if key_of(changed) != key:
            cluster.remove(obj)
        cluster.add(changed)


def _unknown_classes(cluster: Cluster, unknown: Mapping[str, str]) -> Iterator[Caveat]:
    """`unknown`: pods by key -> the class that they name."""
    users: dict[str, list[str]] = {}
    for key in cluster.all(Pod) if unknown else ():
        if key in unknown:
            users.setdefault(unknown[key], []).append(key)
    for name, pods in users.items():
        yield UnknownPriorityClass(name=name, pods=tuple(pods))


def fill_budgets(cluster: Cluster) -> Iterator[Caveat]:
    """Give every budget without a status the one that the disruption controller would write; yields caveats."""
    for budget in list(cluster.all(PodDisruptionBudget).values()):
        if budget.status is not None:
            continue
        counted, caveat = with_status(budget, cluster)
        yield caveat
        cluster.add(counted)


def with_status(budget: PodDisruptionBudget, cluster: Cluster) -> tuple[PodDisruptionBudget, Caveat]:
    """The budget with the status that the disruption controller would write, and that it was not read."""
    key, status = key_of(budget), budget_status(budget, cluster)
    if isinstance(status, SyncFailed):
        missing = bool(status.missing)
        caveat: Caveat = BudgetNotComputed(budget=key, reason=status.reason, absent=status.missing, missing=missing)
        return replace(budget, status=PodDisruptionBudgetStatus()), caveat
    caveat = BudgetComputed(
        budget=key,
        allowed=status.disruptions_allowed,
        expected=status.expected_pods,
        healthy=status.current_healthy,
        desired=status.desired_healthy,
    )
    return replace(budget, status=status), caveat
