"""Who goes first: by priority, then by class of service (`descheduler/pod/pods.go`, `utils/qos.go`)."""

from __future__ import annotations

from kwhatif.descheduler.go_sort import go_sort
from kwhatif.matching.requests import CPU, MEMORY
from kwhatif.model.container import Container, ResourceList
from kwhatif.model.pod import Pod
from kwhatif.model.quantity import parse_quantity

_CLASSES = ("BestEffort", "Burstable", "Guaranteed")
_COMPUTE = (CPU, MEMORY)


def sort_by_priority(pods: list[Pod]) -> None:
    """Sort in place: low priority before high, then BestEffort, Burstable, Guaranteed.

    QUIRK: (SortPodsBasedOnPriorityLowToHigh) each of two equal pods is less than the other, so equals change places.
    """
    go_sort(pods, _goes_before)


def _goes_before(one: Pod, other: Pod) -> bool:
    mine, others = one.spec.priority, other.spec.priority
    if mine != others:
        return mine is None or (others is not None and mine < others)
    my_class, other_class = qos_class(one), qos_class(other)
    if my_class != other_class or my_class not in _CLASSES:
        return my_class == "BestEffort" or (my_class == "Burstable" and other_class == "Guaranteed")
    annotations, other_annotations = one.metadata.annotations, other.metadata.annotations
    return annotations.prefer_no_eviction is None or other_annotations.prefer_no_eviction is not None


def qos_class(pod: Pod) -> str:
    """The pod's class of service: what its status says, else what its containers request.

    QUIRK: (GetPodQOS) requests and limits of the pod as a whole do not count.
    """
    if pod.status.qos_class:
        return pod.status.qos_class
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    for container in containers:
        _add(requests, container.resources.requests)
        _add(limits, container.resources.limits)
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if requests == limits and all(map(_is_limited, containers)) else "Burstable"


def _add(total: dict[str, int], amounts: ResourceList) -> None:
    for name in _COMPUTE:
        nanos = parse_quantity(amounts.get(name, 0))
        if nanos > 0:
            total[name] = total.get(name, 0) + nanos


def _is_limited(container: Container) -> bool:
    return all(parse_quantity(container.resources.limits.get(name, 0)) > 0 for name in _COMPUTE)
