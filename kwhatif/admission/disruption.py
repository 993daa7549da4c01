"""The status of a PodDisruptionBudget, as its controller computes it (`pkg/controller/disruption/disruption.go`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from kwhatif.kube.matching.labels import SelectorError, compile_selector
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, ObjectRef
from kwhatif.kube.model.kinds import RESOURCES, in_namespace
from kwhatif.kube.model.meta import OwnerReference, controller_of
from kwhatif.kube.model.pod import Pod, is_ready
from kwhatif.kube.model.policy import PodDisruptionBudget, PodDisruptionBudgetStatus
from kwhatif.kube.model.workload import SCALABLE, ReplicaSet, Scalable

_PERCENT = re.compile(r"([+-]?\d{1,18})%")

#: Kinds with a readable scale; custom kinds may have one, but a dump does not show it.
_SCALABLE: Mapping[str, type[Scalable]] = {kind.__name__: kind for kind in SCALABLE}
_GROUPS = ("", "apps", "extensions")
#: Kind and group -> resource, for built-in kinds without a scale.
_UNSCALABLE: Mapping[tuple[str, str], str] = {
    (resource.kind, resource.group): f"{resource.plural}.{resource.group}".rstrip(".")
    for resource in RESOURCES.values()
    if resource.kind not in _SCALABLE
}
_NOBODY: Mapping[str, str] = {}


class SyncFailed(msgspec.Struct, frozen=True):
    """The controller does not know the expected number of pods, and so allows no disruption.

    `missing` names the object that is needed, if a complete dump would have it.
    """

    reason: str
    missing: str = ""


def budget_status(budget: PodDisruptionBudget, cluster: Cluster) -> PodDisruptionBudgetStatus | SyncFailed:
    """The status of a budget that does not have one yet."""
    try:
        selector = compile_selector(budget.spec.selector)
    except SelectorError as error:
        return SyncFailed(f"cannot read the selector: {error}")
    pods = in_namespace(Pod, budget.metadata.namespace, cluster)
    return counted_status(budget, [pod for pod in pods if selector.matches(pod.metadata.labels)], cluster)


def counted_status(
    budget: PodDisruptionBudget, pods: Sequence[Pod], cluster: Cluster, disrupted: Mapping[str, str] = _NOBODY
) -> PodDisruptionBudgetStatus | SyncFailed:
    """The status of a budget (`trySync`).

    Args:
        budget: the budget.
        pods: all pods that it selects, including finished ones.
        cluster: has their controllers.
        disrupted: the entries of `disruptedPods` that still count: pods about to be deleted.
    """
    counts = _expected_and_desired(budget, pods, cluster)
    if isinstance(counts, SyncFailed):
        return counts
    expected, desired = counts
    healthy = sum(
        is_ready(pod) for pod in pods if pod.metadata.deletion_timestamp is None and pod.metadata.name not in disrupted
    )
    return PodDisruptionBudgetStatus(
        current_healthy=healthy,
        desired_healthy=desired,
        expected_pods=expected,
        disruptions_allowed=max(healthy - desired, 0) if expected > 0 else 0,
        disrupted_pods=dict(disrupted),
        observed_generation=budget.metadata.generation,
    )


def _expected_and_desired(
    budget: PodDisruptionBudget, pods: Sequence[Pod], cluster: Cluster
) -> tuple[int, int] | SyncFailed:
    """The expected number of pods, and the desired number of healthy pods (`getExpectedPodCount`)."""
    at_least, at_most = budget.spec.min_available, budget.spec.max_unavailable
    if at_most is None and isinstance(at_least, int):
        return len(pods), at_least
    bound = at_least if at_most is None else at_most
    if bound is None:
        return 0, 0
    expected = _expected_scale(pods, cluster)
    if isinstance(expected, SyncFailed):
        return expected
    scaled = _scaled(bound, expected)
    if isinstance(scaled, SyncFailed):
        return scaled
    return expected, scaled if at_most is None else max(expected - scaled, 0)


def _scaled(bound: int | str, total: int) -> int | SyncFailed:
    """A number unchanged, or a percentage of the total, rounded up (`GetScaledValueFromIntOrPercent`)."""
    if isinstance(bound, int):
        return bound
    percent = _PERCENT.fullmatch(bound)
    if percent is None:
        return SyncFailed(f"cannot read {bound!r}: neither a number nor a percentage")
    return -(-int(percent[1]) * total // 100)


def _expected_scale(pods: Iterable[Pod], cluster: Cluster) -> int | SyncFailed:
    """The sum of the scales of all controllers of the pods (`getExpectedScale`); pods without one do not count."""
    scales: dict[str, int] = {}
    last: OwnerReference | None = None
    for pod in pods:
        owner = controller_of(pod.metadata)
        if owner is None or owner == last:  # replicas usually follow each other
            continue
        last = owner
        controller = _controller(owner, pod.metadata.namespace, cluster)
        if controller is None:
            return _no_controller(pod, owner)
        replicas = controller.spec.replicas
        scales[str(ObjectRef.of(controller))] = 1 if replicas is None else replicas
    return sum(scales.values())


def _no_controller(pod: Pod, owner: OwnerReference) -> SyncFailed:
    """The error if no finder has found the controller; the last one asks for its scale (`getScaleController`)."""
    group = owner.api_version.rpartition("/")[0]
    unscalable = _UNSCALABLE.get((owner.kind, group))
    if unscalable is not None:
        return SyncFailed(f"{unscalable} does not implement the scale subresource")
    missing = f"{owner.kind} {pod.metadata.namespace}/{owner.name}" if owner.kind in _SCALABLE else ""
    return SyncFailed(f'found no controllers for pod "{pod.metadata.name}"', missing)


def _controller(owner: OwnerReference, namespace: str, cluster: Cluster) -> Scalable | None:
    """The object whose scale counts: for a ReplicaSet its Deployment, if it has one."""
    found = _find(owner, namespace, cluster)
    if isinstance(found, ReplicaSet):
        above = controller_of(found.metadata)
        deployment = _find(above, namespace, cluster) if above is not None and above.kind == "Deployment" else None
        return deployment or found
    return found


def _find(owner: OwnerReference, namespace: str, cluster: Cluster) -> Scalable | None:
    kind = _SCALABLE.get(owner.kind)
    group = owner.api_version.rpartition("/")[0]
    if kind is None or group not in _GROUPS:
        return None
    found = cluster.get(kind, f"{namespace}/{owner.name}")
    return found if found is not None and _same_uid(found, owner) else None


def _same_uid(obj: KubernetesObject, owner: OwnerReference) -> bool:
    """Whether the UIDs are equal; for hand-written objects without UID the name decides."""
    return not obj.metadata.uid or not owner.uid or obj.metadata.uid == owner.uid
