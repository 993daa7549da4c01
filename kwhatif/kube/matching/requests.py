"""Requests of a pod (`staging/src/k8s.io/component-helpers/resource/helpers.go`, `pkg/scheduler/framework/types.go`).

Quantities are summed exactly, in nano-units, and converted once per pod: cpu to milli-CPU, everything else to whole
units.
Objects are expected as the API server stores them (requests defaulted from limits, see `admission`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple, cast

from kwhatif.kube.gates import SPEC_ALONE, ResizeRules
from kwhatif.kube.matching.label_syntax import label_key_errors
from kwhatif.kube.model.container import Container, ResourceList, is_sidecar
from kwhatif.kube.model.pod import Pod, PodSpec, pod_condition
from kwhatif.kube.model.pod_status import ContainerStatus
from kwhatif.kube.model.quantity import (
    Quantity,
    QuantityText,
    amounts,
    ceil_to_milli,
    milli_value,
    parse_quantity,
    value,
)

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"
HUGEPAGES_PREFIX = "hugepages-"

#: What scoring assumes for a container without requests (`pkg/scheduler/util/pod_resources.go`): 100m and 200Mi.
MISSING_REQUESTS = {CPU: 100 * 1_000_000, MEMORY: 200 * 1024 * 1024 * 1_000_000_000}

Nanos = dict[str, int]


class Resources(NamedTuple):
    """Amounts of the resources that the scheduler distinguishes: milli-CPU, bytes, bytes, and scalars by name."""

    cpu: int = 0
    memory: int = 0
    ephemeral: int = 0
    #: Extended, hugepages and attachable resources, (name, units); a requested zero is kept.
    scalars: tuple[tuple[str, int], ...] = ()

    def scalar(self, name: str) -> int:
        """The amount of a scalar; 0 if absent."""
        for other, amount in self.scalars:
            if other == name:
                return amount
        return 0

    def of(self, name: str) -> int:
        """The amount of any resource; 0 if absent."""
        match name:
            case "cpu":
                return self.cpu
            case "memory":
                return self.memory
            case "ephemeral-storage":
                return self.ephemeral
        return self.scalar(name)

    @property
    def asked(self) -> tuple[str, ...]:
        """The names of all resources with a non-zero amount."""
        own = ((CPU, self.cpu), (MEMORY, self.memory), (EPHEMERAL_STORAGE, self.ephemeral), *self.scalars)
        return tuple(name for name, amount in own if amount > 0)


@lru_cache(maxsize=4096)
def is_extended_resource(name: str) -> bool:
    """`IsExtendedResourceName` (`pkg/apis/core/v1/helper/helpers.go`)."""
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return not label_key_errors(f"requests.{name}")


@lru_cache(maxsize=4096)
def is_scalar_resource(name: str) -> bool:
    """Whether the scheduler counts the resource (`IsScalarResourceName`); it ignores `gpu` without a domain."""
    return (
        is_extended_resource(name)
        or name.startswith((HUGEPAGES_PREFIX, "attachable-volumes-"))
        or "kubernetes.io/" in name
    )


def is_pod_level_resource(name: str) -> bool:
    """Whether the resource may be requested for a pod as a whole."""
    return name in (CPU, MEMORY) or name.startswith(HUGEPAGES_PREFIX)


def resource_nanos(resources: Mapping[str, QuantityText] | None) -> Nanos:
    """A resource list in nano-units, rounded up to milli-units as API defaulting does."""
    if not resources:
        return {}
    return {name: ceil_to_milli(parse_quantity(text)) for name, text in resources.items()}


def add_into(total: Nanos, other: Mapping[str, int]) -> None:
    """`total += other`, per resource."""
    for name, nanos in other.items():
        total[name] = total[name] + nanos if name in total else nanos


def max_into(total: Nanos, other: Mapping[str, int]) -> None:
    """`total = max(total, other)`, per resource."""
    for name, nanos in other.items():
        if name not in total or nanos > total[name]:
            total[name] = nanos


def _granted(
    pod: Pod, spec: Nanos, actuated: Mapping[str, QuantityText], allocated: Mapping[str, QuantityText] | None
) -> Nanos:
    """The effective requests during a resize: the maximum of the requested, actuated and allocated resources."""
    total = {} if _is_infeasible(pod) else dict(spec)
    max_into(total, resource_nanos(actuated))
    max_into(total, resource_nanos(allocated))
    return total


def _is_infeasible(pod: Pod) -> bool:
    pending = pod_condition(pod, "PodResizePending")
    return pending is not None and pending.reason == "Infeasible"


def aggregate(spec: PodSpec, amounts: Callable[[Container], Nanos]) -> Nanos:
    """The sum of containers and sidecars, or the peak of initialisation; `amounts` returns a new dict per container."""
    total: Nanos = {}
    for container in spec.containers:
        add_into(total, amounts(container))
    sidecars: Nanos = {}
    peak: Nanos = {}
    for container in spec.init_containers:
        use = amounts(container)
        if is_sidecar(container):
            add_into(total, use)
            add_into(sidecars, use)
            use = sidecars
        else:
            add_into(use, sidecars)
        max_into(peak, use)
    max_into(total, peak)
    return total


def requested(spec: PodSpec) -> dict[str, Quantity]:
    """`AggregateContainerRequests`, for the API server's messages: without pod-level resources and overhead."""
    return cast("dict[str, Quantity]", aggregate(spec, lambda container: {**amounts(container.resources.requests)}))


def limited(spec: PodSpec) -> dict[str, Quantity]:
    """`AggregateContainerLimits`, for the API server's messages: without pod-level resources."""
    return cast("dict[str, Quantity]", aggregate(spec, lambda container: {**amounts(container.resources.limits)}))


def _container_requests(pod: Pod, missing: Mapping[str, int] | None, resizes: ResizeRules) -> Nanos:
    """`AggregateContainerRequests`: the combined requests of the containers."""
    if resizes.containers and resizes.sums_first:
        return _largest_sum(pod, missing, resizes)
    statuses = _resizable_statuses(pod) if resizes.containers else {}

    def request(container: Container) -> Nanos:
        nanos = resource_nanos(container.resources.requests)
        status = statuses.get(container.name)
        if status is not None and status.resources is not None:
            nanos = _granted(pod, nanos, status.resources.requests, status.allocated_resources)
        return {**missing, **nanos} if missing else nanos

    return aggregate(pod.spec, request)


def _largest_sum(pod: Pod, missing: Mapping[str, int] | None, resizes: ResizeRules) -> Nanos:
    """Since 1.37: the maximum of three sums over the containers: requested, allocated and actuated.

    For a container without status its spec is used, unless the resize is infeasible.
    """
    spec, status = pod.spec, pod.status
    statuses = {row.name: row for row in (*status.init_container_statuses, *status.container_statuses)}
    infeasible = _is_infeasible(pod)

    def sum_of(amounts: Callable[[Container, ContainerStatus], ResourceList | None]) -> Nanos:
        def request(container: Container) -> Nanos:
            found = amounts(container, statuses.get(container.name) or ContainerStatus())
            nanos = resource_nanos(found or (None if infeasible else container.resources.requests))
            return {**missing, **nanos} if missing else nanos

        return aggregate(spec, request)

    total = {} if infeasible else sum_of(lambda container, _: container.resources.requests)
    granted, allocated = status.resources, status.allocated_resources
    if resizes.pod and allocated and granted is not None and granted.requests:
        max_into(total, resource_nanos(allocated))
        max_into(total, resource_nanos(granted.requests))
    else:
        max_into(total, sum_of(lambda _, row: row.allocated_resources))
        max_into(total, sum_of(lambda _, row: (row.resources and row.resources.requests) or row.allocated_resources))
    return total


def _resizable_statuses(pod: Pod) -> dict[str, ContainerStatus]:
    """Statuses by container name, without plain init containers, which cannot be resized."""
    status = pod.status
    statuses = {row.name: row for row in (*status.container_statuses, *status.init_container_statuses)}
    for container in pod.spec.init_containers:
        if not is_sidecar(container):
            statuses.pop(container.name, None)
    return statuses


def pod_requests(
    pod: Pod,
    *,
    resizes: ResizeRules = SPEC_ALONE,
    pod_level: bool = True,
    missing: Mapping[str, int] | None = None,
) -> Nanos:
    """`PodRequests`, in nano-units, including overhead.

    `resizes` decides what of the pod's status counts. `missing` (nano-units) is used for resources that a container
    does not request; an explicit zero stays.
    """
    total = _container_requests(pod, missing, resizes)
    resources = pod.spec.resources
    if pod_level and resources is not None:
        spec = resource_nanos(resources.requests)
        granted = pod.status.resources
        effective = spec
        asked = any(map(is_pod_level_resource, spec))
        if asked and resizes.pod and granted is not None:
            effective = _granted(pod, spec, granted.requests, pod.status.allocated_resources)
        for name in effective if asked and resizes.sums_first else spec:
            if is_pod_level_resource(name):
                total[name] = effective.get(name, 0)
    add_into(total, resource_nanos(pod.spec.overhead))
    return total


def to_resources(nanos: Mapping[str, int]) -> Resources:
    """Convert to scheduler units: milli-CPU, bytes, and whole units of scalars; other names are dropped."""
    return Resources(
        milli_value(nanos.get(CPU, 0)),
        value(nanos.get(MEMORY, 0)),
        value(nanos.get(EPHEMERAL_STORAGE, 0)),
        tuple((name, value(amount)) for name, amount in nanos.items() if is_scalar_resource(name)),
    )


def units(name: str, nanos: int) -> int:
    """A quantity in the unit that the scheduler counts the resource in."""
    return milli_value(nanos) if name == CPU else value(nanos)
