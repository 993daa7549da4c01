"""The resources that a pod uses on its node (`PodInfo.CalculateResource` in `pkg/scheduler/framework/types.go`)."""

from __future__ import annotations

from typing import NamedTuple

from kwhatif.kube.gates import BASE_RESIZES, SPEC_ALONE, ResizeRules
from kwhatif.kube.matching.requests import (
    CPU,
    MEMORY,
    MISSING_REQUESTS,
    Resources,
    is_pod_level_resource,
    pod_requests,
    to_resources,
)
from kwhatif.kube.model.container import ResourceList
from kwhatif.kube.model.pod import Pod, PodSpec, pod_condition
from kwhatif.kube.model.pod_status import ContainerStatus
from kwhatif.kube.model.quantity import milli_value, value


class PodResources(NamedTuple):
    """What a pod adds to `NodeInfo.Requested` and `NodeInfo.NonZeroRequested`."""

    requested: Resources
    nonzero_cpu: int
    nonzero_memory: int


def _compute(pod: Pod, resizes: ResizeRules) -> PodResources:
    requested = pod_requests(pod, resizes=resizes)
    missing = MISSING_REQUESTS
    if pod.spec.resources is not None and any(map(is_pod_level_resource, pod.spec.resources.requests)):
        missing = {name: nanos for name, nanos in missing.items() if name not in requested}
    nonzero = pod_requests(pod, resizes=resizes, missing=missing) if missing else requested
    nonzero_cpu, nonzero_memory = milli_value(nonzero.get(CPU, 0)), value(nonzero.get(MEMORY, 0))
    return PodResources(to_resources(requested), nonzero_cpu, nonzero_memory)


_by_shape: dict[object, PodResources] = {}


def _shape(spec: PodSpec) -> object:
    """The fields that determine the requests of most pods."""
    containers = spec.containers
    every = (*containers, *spec.init_containers)
    return len(containers), tuple((c.restart_policy, *c.resources.requests.items()) for c in every)


def _grants_what_is_asked(status: ContainerStatus, requests: ResourceList | None) -> bool:
    granted, allocated = status.resources, status.allocated_resources
    return (granted is None or granted.requests == requests) and (not allocated or allocated == requests)


def _resized(pod: Pod) -> bool:
    """Whether a container status has other resources than the spec."""
    spec, status = pod.spec, pod.status
    requests = {c.name: c.resources.requests for c in (*spec.containers, *spec.init_containers)}
    every = (*status.container_statuses, *status.init_container_statuses)
    return not all(_grants_what_is_asked(status, requests.get(status.name)) for status in every)


def pod_resources(pod: Pod, resizes: ResizeRules = BASE_RESIZES) -> PodResources:
    """The resources that the pod uses on its node (`PodInfo.CalculateResource`); replicas share one result."""
    spec, status = pod.spec, pod.status
    if spec.resources is not None or spec.overhead:
        return _compute(pod, resizes)
    if resizes.sums_first and (status.resources is not None or pod_condition(pod, "PodResizePending") is not None):
        return _compute(pod, resizes)
    containers, statuses = spec.containers, status.container_statuses
    shape: object
    if len(containers) == 1 and len(statuses) <= 1 and not spec.init_containers:  # the most common case
        requests = containers[0].resources.requests
        if statuses and not _grants_what_is_asked(statuses[0], requests):
            return _compute(pod, resizes)
        shape = tuple(requests.items())
    else:
        if (statuses or status.init_container_statuses) and _resized(pod):
            return _compute(pod, resizes)
        shape = _shape(spec)
    found = _by_shape.get(shape)
    if found is None:
        found = _by_shape[shape] = _compute(pod, SPEC_ALONE)
    return found
