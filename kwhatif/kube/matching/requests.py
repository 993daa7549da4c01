"""The resources that a pod requests, and that it uses on its node; QoS classes.

(`staging/src/k8s.io/component-helpers/resource/helpers.go`, `pkg/scheduler/framework/types.go`,
`pkg/apis/core/v1/helper/qos`.)

Quantities are summed exactly, in nano-units, and converted once per pod: cpu to milli-CPU, everything else to whole
units. Objects must be as the API server stores them (requests defaulted from limits, see `admission`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, cast

from kwhatif.kube.gates import BASE_RESIZES, SPEC_ALONE, ResizeRules
from kwhatif.kube.matching.field_errors import label_key_errors
from kwhatif.kube.model.pod import RESIZE_PENDING, ContainerStatus, Pod, PodSpec, pod_condition
from kwhatif.kube.model.pod_spec import Container, ResourceList, ResourceRequirements, is_sidecar
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

#: Scoring assumes 100m and 200Mi for a container without requests (`pkg/scheduler/util/pod_resources.go`).
MISSING_REQUESTS = {CPU: 100 * 1_000_000, MEMORY: 200 * 1024 * 1024 * 1_000_000_000}

Nanos = dict[str, int]


class Resources(NamedTuple):
    """Amounts of resources as the scheduler counts them: milli-CPU, bytes, bytes, and scalars by name."""

    cpu: int = 0
    memory: int = 0
    ephemeral: int = 0
    #: Extended, hugepages and attachable resources: (name, units); a resource that is requested with 0 is included.
    scalars: tuple[tuple[str, int], ...] = ()

    def scalar(self, name: str) -> int:
        """The amount of a scalar resource; 0 if absent."""
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
    """Whether the scheduler counts the resource (`IsScalarResourceName`): not names without a domain, such as `gpu`."""
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
    pending = pod_condition(pod, RESIZE_PENDING)
    return pending is not None and pending.reason == "Infeasible"


def aggregate(spec: PodSpec, amounts: Callable[[Container], Nanos]) -> Nanos:
    """The maximum of the sum of containers and sidecars, and the peak during init; `amounts` returns a new dict."""
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
    """Since 1.37: the maximum of three sums of all containers: requested, allocated and actuated.

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

    `resizes` decides which fields of the pod's status count. `missing` (nano-units) is used for resources that a
    container does not request; an explicit zero is kept.
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
    """Convert to scheduler units: milli-CPU, bytes, and whole units of scalars; other resources are dropped."""
    return Resources(
        milli_value(nanos.get(CPU, 0)),
        value(nanos.get(MEMORY, 0)),
        value(nanos.get(EPHEMERAL_STORAGE, 0)),
        tuple((name, value(amount)) for name, amount in nanos.items() if is_scalar_resource(name)),
    )


def units(name: str, nanos: int) -> int:
    """A quantity in the scheduler's unit of the resource."""
    return milli_value(nanos) if name == CPU else value(nanos)


_SUFFIXES = (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))


def to_text(name: str, amount: int) -> str:
    """An amount in the scheduler's unit of the resource as a quantity, exactly: `300m`, `1536Mi`, `2`."""
    if name == CPU:
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if name in (MEMORY, EPHEMERAL_STORAGE) or name.startswith(HUGEPAGES_PREFIX):
        for suffix, unit in _SUFFIXES:
            if amount and amount % unit == 0:
                return f"{amount // unit}{suffix}"
    return str(amount)


class PodResources(NamedTuple):
    """The amounts that a pod adds to `NodeInfo.Requested` and `NodeInfo.NonZeroRequested`."""

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


def _grants_requests(status: ContainerStatus, requests: ResourceList | None) -> bool:
    granted, allocated = status.resources, status.allocated_resources
    return (granted is None or granted.requests == requests) and (not allocated or allocated == requests)


def _resized(pod: Pod) -> bool:
    """Whether a container status has different resources from the spec."""
    spec, status = pod.spec, pod.status
    requests = {c.name: c.resources.requests for c in (*spec.containers, *spec.init_containers)}
    every = (*status.container_statuses, *status.init_container_statuses)
    return not all(_grants_requests(status, requests.get(status.name)) for status in every)


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
        if statuses and not _grants_requests(statuses[0], requests):
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


_COMPUTE = (CPU, MEMORY)


def qos_class(pod: Pod) -> str:
    """The QoS class in the pod's status (`GetPodQOS`); without a status, the class by its containers' requests.

    QUIRK: (descheduler, GetPodQOS) pod-level requests and limits do not count.
    """
    return pod.status.qos_class or _class_of(_of_containers(pod.spec))


def computed_qos_class(spec: PodSpec) -> str:
    """The QoS class by requests and limits; pod-level resources take precedence (`ComputePodQOS`)."""
    return _class_of(_of_containers(spec) if spec.resources is None else (spec.resources,))


def _of_containers(spec: PodSpec) -> Sequence[ResourceRequirements]:
    return [container.resources for container in (*spec.containers, *spec.init_containers)]


def _class_of(resources: Sequence[ResourceRequirements]) -> str:
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    for each in resources:
        _add(requests, each.requests)
        _add(limits, each.limits)
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if requests == limits and all(map(_is_limited, resources)) else "Burstable"


def _add(total: dict[str, int], amounts: ResourceList) -> None:
    for name in _COMPUTE:
        nanos = parse_quantity(amounts.get(name, 0))
        if nanos > 0:
            total[name] = total.get(name, 0) + nanos


def _is_limited(resources: ResourceRequirements) -> bool:
    return all(parse_quantity(resources.limits.get(name, 0)) > 0 for name in _COMPUTE)
