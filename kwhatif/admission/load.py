"""Completes a decoded cluster to what the API server and its controllers would have stored.

Images that a snapshot has left out are completed for validation only: every stored container has one, so a missing one
is not an error. Objects of the cluster are recognized by name, or by their controller, whose template they were created
from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from kwhatif.admission.defaults import complete_pod_level, default_before_plugins, default_object, says_everything
from kwhatif.admission.disruption import SyncFailed, budget_status
from kwhatif.admission.label_keys import merge_label_keys
from kwhatif.admission.plugins import PriorityClasses, resolve_priority
from kwhatif.admission.same import each, with_parts
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.reading import UnknownPriorityClass
from kwhatif.kube.model.caveat.scheduling import BudgetComputed, BudgetNotComputed
from kwhatif.kube.model.cluster import Cluster, key_of, list_order
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod, PodSpec
from kwhatif.kube.model.pod_spec import Container
from kwhatif.kube.model.policy import PodDisruptionBudget, PodDisruptionBudgetStatus, PriorityClass
from kwhatif.kube.model.workload import CronJobSpec


def is_stored(pod: Pod) -> bool:
    """Whether `admit` has nothing to fill in, as for nearly all pods that the API server has stored."""
    spec = pod.spec
    is_admitted = spec.priority is not None and spec.preemption_policy
    return bool(is_admitted) and says_everything(pod) and merge_label_keys(pod) is pod


def admit(cluster: Cluster, pods: Iterable[str] | None = None) -> list[Caveat]:
    """Fill in missing defaults, priorities and budget statuses in place.

    Args:
        cluster: the cluster as it was read.
        pods: the keys of all pods that are not `is_stored`; None: not known.

    Returns:
        Caveats about what had to be assumed.
    """
    for kind in RESOURCES.keys() - {Pod}:
        _update(cluster, kind, cluster.all(kind), default_object)
    completion = PodCompletion(cluster)
    if pods is None:
        pods = [key for key, pod in cluster.all(Pod).items() if not is_stored(pod)]
    _update(cluster, Pod, pods, completion.stored)
    cluster.sort()
    caveats = list(completion.caveats())
    for counted, caveat in counted_budgets(cluster):
        caveats.append(caveat)
        cluster.add(counted)
    return caveats


class PodCompletion:
    """Fills in the missing fields of a cluster's pods, and records the PriorityClasses that do not exist."""

    def __init__(self, cluster: Cluster) -> None:
        self._gates = cluster.facts.gates
        self._classes = PriorityClasses(cluster.all(PriorityClass).values())
        #: Key of a pod -> the missing PriorityClass that it names.
        self._unknown: dict[str, str] = {}

    def stored(self, pod: Pod) -> Pod:
        """The pod as the API server would store it."""
        pod = complete_pod_level(default_before_plugins(pod, self._gates, default_object), self._gates)
        pod = merge_label_keys(pod)
        if pod.spec.priority is not None and pod.spec.preemption_policy:
            return pod
        if self._classes.lacks(pod):
            self._unknown[key_of(pod)] = pod.spec.priority_class_name
        return resolve_priority(pod, self._classes)

    def caveats(self) -> Iterator[Caveat]:
        """A caveat for each missing PriorityClass, with its pods in the API server's order."""
        users: dict[str, list[str]] = {}
        for key in sorted(self._unknown, key=list_order):
            users.setdefault(self._unknown[key], []).append(key)
        for name, pods in users.items():
            yield UnknownPriorityClass(name=name, pods=tuple(pods))


def _update(cluster: Cluster, kind: type[Any], keys: Iterable[str], change: Callable[[Any], Any]) -> None:
    objects = cluster.all(kind)
    for key, obj in [(key, objects[key]) for key in keys]:
        changed = change(obj)
        if changed is obj:
            continue
        if key_of(changed) != key:
            cluster.discard(type(obj), key_of(obj))
        cluster.add(changed)


def counted_budgets(cluster: Cluster) -> Iterator[tuple[PodDisruptionBudget, Caveat]]:
    """Every budget without a status, with the status that the disruption controller would write, and a caveat."""
    uncounted = [budget for budget in cluster.all(PodDisruptionBudget).values() if budget.status is None]
    return (with_status(budget, cluster) for budget in uncounted)


def with_status(budget: PodDisruptionBudget, cluster: Cluster) -> tuple[PodDisruptionBudget, Caveat]:
    """The budget with the status that the disruption controller would write, and a caveat about it."""
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


# --- images that were left out -------------------------------------------------------------------------

_SOME = "left-out"


def with_pod_images(pod: Pod, known: Pod | None = None) -> Pod:
    """The pod with a placeholder image in each container that the cluster has without one, for validation only."""
    if known is None and controller_of(pod.metadata) is None:
        return pod
    return with_parts(pod, spec=_with_images(pod.spec, pod.spec if known is None else known.spec))


def with_template_images(workload: Any, known: Any) -> Any:
    """The workload with a placeholder image in each container of its template that the cluster has without one.

    `known` is the workload in the cluster; None if it has none with that name.
    """
    if known is None and controller_of(workload.metadata) is None:
        return workload
    return with_parts(workload, spec=_with_spec_images(workload.spec, workload.spec if known is None else known.spec))


def _with_spec_images(spec: Any, known: Any) -> Any:
    if isinstance(spec, CronJobSpec):
        job = _with_spec_images(spec.job_template.spec, known.job_template.spec)
        return with_parts(spec, job_template=with_parts(spec.job_template, spec=job))
    if spec.template is None or known.template is None:
        return spec
    filled = _with_images(spec.template.spec, known.template.spec)
    return with_parts(spec, template=with_parts(spec.template, spec=filled))


def _with_images(spec: PodSpec, known: PodSpec) -> PodSpec:
    left_out = {container.name for container in (*known.containers, *known.init_containers) if not container.image}
    if not left_out:
        return spec

    def complete(container: Container) -> Container:
        return replace(container, image=_SOME) if container.name in left_out and not container.image else container

    return replace(
        spec, containers=each(complete, spec.containers), init_containers=each(complete, spec.init_containers)
    )
