"""Validation of containers and their resources (`validateContainers`, `validateInitContainers`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from kwhatif.admission.validation.errors import NOT_NEGATIVE, FieldErrors
from kwhatif.kube.matching.field_errors import dns_label_errors, label_key_errors
from kwhatif.kube.matching.requests import (
    CPU,
    EPHEMERAL_STORAGE,
    HUGEPAGES_PREFIX,
    MEMORY,
    is_extended_resource,
    is_pod_level_resource,
    limited,
    requested,
)
from kwhatif.kube.model.pod import PodSpec
from kwhatif.kube.model.pod_spec import Container, ContainerPort, ResourceClaimRef, ResourceList, ResourceRequirements
from kwhatif.kube.model.quantity import NANO, Quantity, amounts, parse_quantity, value

#: Resources that must be integers (`integerResources`), besides extended resources.
_INTEGERS = frozenset(
    {
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
    }
)
#: Valid names without a domain (`standardResources`), besides hugepages.
_STANDARD = _INTEGERS.union(
    (CPU, EPHEMERAL_STORAGE, MEMORY, "storage", "requests.storage"),
    (f"{part}.{name}" for part in ("limits", "requests") for name in (CPU, EPHEMERAL_STORAGE, MEMORY)),
)
_OF_CONTAINERS = frozenset({CPU, EPHEMERAL_STORAGE, MEMORY})
_COMPUTE = (CPU, MEMORY)

NameRule = Callable[[str, str, FieldErrors], None]


def validate_container_resources(
    resources: ResourceRequirements, claims: Collection[str], path: str, errors: FieldErrors
) -> None:
    """Validate requests, limits and claims (`validateResourceRequirements`) of a container; `claims` are the pod's."""
    _validate(resources, _container_name, path, errors)
    _validate_claims(resources.claims, claims, f"{path}.claims", errors)


def validate_overhead(overhead: ResourceList, errors: FieldErrors) -> None:
    """Validate overhead, as limits are."""
    _validate(ResourceRequirements(limits=overhead), _container_name, "overhead", errors)


def validate_pod_resources(spec: PodSpec, claims: Collection[str], errors: FieldErrors) -> None:
    """Validate pod-level resources (`validatePodResources`), and compare them with those of the containers."""
    resources = spec.resources
    if resources is None:
        return
    if resources.claims:
        errors.forbidden("resources.claims", "claims may not be set for Resources at pod-level")
    _validate(resources, _pod_name, "resources", errors)
    _validate_claims(resources.claims, claims, "resources.claims", errors)
    _compare_levels(spec, resources, errors.within("resources"))


def _compare_levels(spec: PodSpec, resources: ResourceRequirements, errors: FieldErrors) -> None:
    """Containers must not request more than the pod (`validatePodResourceConsistency`)."""
    requests, limits = amounts(resources.requests), amounts(resources.limits)
    for name, together in sorted(requested(spec).items()):
        if name in requests and together > requests[name]:
            detail = f"must be greater than or equal to aggregate container requests of {together}"
            errors.invalid(f"requests[{name}]", requests[name], detail)
    for name, together in sorted(limited(spec).items()):
        if name.startswith(HUGEPAGES_PREFIX) and name in limits and together > limits[name]:
            detail = f"must be greater than or equal to aggregate container limits of {together}"
            errors.invalid(f"limits[{name}]", limits[name], detail)
    for index, container in enumerate(spec.containers):
        for name, limit in amounts(container.resources.limits).items():
            if name in limits and limit > limits[name]:
                detail = f"must be less than or equal to pod limits of {limits[name]}"
                errors.invalid(f"containers[{index}][{name}].limits", limit, detail)


def _validate(resources: ResourceRequirements, name_rule: NameRule, path: str, errors: FieldErrors) -> None:
    requests, limits = amounts(resources.requests), amounts(resources.limits)
    for name, limit in limits.items():
        here = f"{path}.limits[{name}]"
        name_rule(name, here, errors)
        _validate_quantity(name, limit, here, errors)
        _validate_hugepages(name, limit, here, errors)
    for name, request in requests.items():
        here = f"{path}.requests[{name}]"
        name_rule(name, here, errors)
        _validate_quantity(name, request, here, errors)
        _compare(name, request, limits, path, errors)
        _validate_hugepages(name, request, here, errors)
    names = {*limits, *requests}
    if any(name.startswith(HUGEPAGES_PREFIX) for name in names) and not names.intersection(_COMPUTE):
        errors.forbidden(path, "HugePages require cpu or memory")


def _compare(name: str, request: Quantity, limits: Mapping[str, Quantity], path: str, errors: FieldErrors) -> None:
    limit = limits.get(name)
    may_overcommit = is_native_resource(name) and not name.startswith(HUGEPAGES_PREFIX)
    if limit is None:
        if not may_overcommit:
            errors.required(f"{path}.limits", "Limit must be set for non overcommitable resources")
    elif request != limit and not may_overcommit:
        errors.invalid(f"{path}.requests", request, f"must be equal to {name} limit of {limit}")
    elif request > limit:
        errors.invalid(f"{path}.requests", request, f"must be less than or equal to {name} limit of {limit}")


def _validate_quantity(name: str, amount: Quantity, path: str, errors: FieldErrors) -> None:
    if amount < 0:
        errors.invalid(path, amount, NOT_NEGATIVE)
    if amount % NANO and (name in _INTEGERS or is_extended_resource(name)):
        errors.invalid(path, amount, "must be an integer")


def _validate_hugepages(name: str, amount: Quantity, path: str, errors: FieldErrors) -> None:
    if name.startswith(HUGEPAGES_PREFIX) and not _is_multiple_of_page(name, amount):
        errors.invalid(path, amount, f"{amount} is not positive integer multiple of {name}")


def _is_multiple_of_page(name: str, amount: Quantity) -> bool:
    try:
        page = parse_quantity(name.removeprefix(HUGEPAGES_PREFIX))
    except ValueError:
        return False
    return page > 0 and page % NANO == 0 and value(amount) % value(page) == 0


# --- names -------------------------------------------------------------------------------------------


def is_native_resource(name: str) -> bool:
    """Whether it is a native resource (`IsNativeResource`): names without a domain belong to `kubernetes.io/`."""
    return "/" not in name or "kubernetes.io/" in name


def _resource_name(name: str, path: str, errors: FieldErrors) -> bool:
    if label_key_errors(name):
        errors.check(path, name, label_key_errors)
        return False
    if "/" not in name and name not in _STANDARD and not name.startswith((HUGEPAGES_PREFIX, "requests.hugepages-")):
        errors.invalid(path, name, "must be a standard resource type or fully qualified")
        return False
    return True


def _container_name(name: str, path: str, errors: FieldErrors) -> None:
    _resource_name(name, path, errors)
    if "/" not in name:
        if name not in _OF_CONTAINERS and not name.startswith(HUGEPAGES_PREFIX):
            errors.invalid(path, name, "must be a standard resource for containers")
    elif not is_native_resource(name) and not is_extended_resource(name):
        errors.invalid(path, name, "doesn't follow extended resource name standard")


def _pod_name(name: str, path: str, errors: FieldErrors) -> None:
    if _resource_name(name, path, errors) and not is_pod_level_resource(name):
        errors.supported(path, name, (CPU, HUGEPAGES_PREFIX, MEMORY))


# --- claims ------------------------------------------------------------------------------------------


def _validate_claims(
    refs: tuple[ResourceClaimRef, ...], claims: Collection[str], path: str, errors: FieldErrors
) -> None:
    """Every claim must be one of the pod's, and named once: as a whole, or by different requests."""
    seen: set[str] = set()
    for index, ref in enumerate(refs):
        if not ref.name:
            errors.required(f"{path}[{index}]")
            continue
        if ref.name in seen:
            errors.duplicate(f"{path}[{index}]", ref.name)
        else:
            _validate_request(ref, seen, f"{path}[{index}]", errors)
        if ref.name not in claims:
            known = f": {', '.join(sorted(claims))}" if claims else " which is empty"
            detail = f"must be one of the names in pod.spec.resourceClaims{known}"
            errors.not_found(f"{path}[{index}]", ref.name, detail)


def _validate_request(ref: ResourceClaimRef, seen: set[str], path: str, errors: FieldErrors) -> None:
    key = f"{ref.name}/{ref.request}" if ref.request else ref.name
    if ref.request:
        errors.check(f"{path}.request", ref.request, dns_label_errors)
    if key in seen:
        errors.duplicate(path, key)
    elif not ref.request and any(other.startswith(f"{ref.name}/") for other in seen):
        errors.duplicate(path, ref.name)
    seen.add(key)


_PROTOCOLS = ("SCTP", "TCP", "UDP")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_MAX_PORT = 65535
_PORT_RANGE = f"must be between 1 and {_MAX_PORT}, inclusive"


_RESIZE_POLICIES = ("NotRequired", "RestartContainer")


def validate_containers(spec: PodSpec, claims: Collection[str], errors: FieldErrors) -> None:
    """Validate containers, then init containers; names must be unique. `claims` are the pod's resource claims."""
    _validate_regular(spec.containers, claims, errors)
    for index, container in enumerate(spec.containers):
        _validate_resize_policy(container, spec.restart_policy, f"containers[{index}].resizePolicy", errors)
    names = {container.name for container in spec.containers}
    for index, container in enumerate(spec.init_containers):
        here = f"initContainers[{index}]"
        _validate_common(container, claims, here, errors)
        _validate_restart_policy(container, here, errors)
        if container.name in names:
            errors.duplicate(f"{here}.name", container.name)
        if container.name:
            names.add(container.name)
        # QUIRK: (validateInitContainers) the path has index 0 for every init container.
        _validate_host_ports((container,), "initContainers", errors)


def _validate_regular(containers: tuple[Container, ...], claims: Collection[str], errors: FieldErrors) -> None:
    if not containers:
        errors.required("containers")
    names: set[str] = set()
    for index, container in enumerate(containers):
        here = f"containers[{index}]"
        _validate_common(container, claims, here, errors)
        if container.name in names:
            errors.duplicate(f"{here}.name", container.name)
        names.add(container.name)
        _validate_restart_policy(container, here, errors)
    _validate_host_ports(containers, "containers", errors)


def _validate_resize_policy(container: Container, restart_policy: str, path: str, errors: FieldErrors) -> None:
    seen: set[str] = set()
    for index, policy in enumerate(container.resize_policy):
        if policy.resource_name in seen:
            errors.duplicate(f"{path}[{index}]", policy.resource_name)
        seen.add(policy.resource_name)
        for given, allowed in ((policy.resource_name, (CPU, MEMORY)), (policy.restart_policy, _RESIZE_POLICIES)):
            if given:
                errors.supported(path, given, allowed)
            else:
                errors.required(path)
        if restart_policy == "Never" and policy.restart_policy != _RESIZE_POLICIES[0]:
            errors.invalid(path, policy.restart_policy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")


def _validate_common(container: Container, claims: Collection[str], path: str, errors: FieldErrors) -> None:
    errors.name(f"{path}.name", container.name, dns_label_errors)
    if not container.image:
        errors.required(f"{path}.image")
    for index, port in enumerate(container.ports):
        _validate_port(port, f"{path}.ports[{index}]", errors)
    validate_container_resources(container.resources, claims, f"{path}.resources", errors)


def _validate_port(port: ContainerPort, path: str, errors: FieldErrors) -> None:
    if not port.container_port:
        errors.required(f"{path}.containerPort")
    elif not 1 <= port.container_port <= _MAX_PORT:
        errors.invalid(f"{path}.containerPort", port.container_port, _PORT_RANGE)
    if port.host_port and not 1 <= port.host_port <= _MAX_PORT:
        errors.invalid(f"{path}.hostPort", port.host_port, _PORT_RANGE)
    errors.supported(f"{path}.protocol", port.protocol, _PROTOCOLS)


def _validate_host_ports(containers: Iterable[Container], path: str, errors: FieldErrors) -> None:
    """Containers that run at the same time must not use the same host port."""
    taken: set[str] = set()
    for number, container in enumerate(containers):
        for index, port in enumerate(container.ports):
            if not port.host_port:
                continue
            wanted = f"{port.protocol}/{port.host_ip}/{port.host_port}"
            if wanted in taken:
                errors.duplicate(f"{path}[{number}].ports[{index}].hostPort", wanted)
            taken.add(wanted)


def _validate_restart_policy(container: Container, path: str, errors: FieldErrors) -> None:
    if container.restart_policy:
        errors.supported(f"{path}.restartPolicy", container.restart_policy, _RESTART_POLICIES)
    elif container.restart_policy_rules:
        errors.required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")


def validate_host_network(spec: PodSpec, errors: FieldErrors, *, is_pod: bool) -> None:
    """With `hostNetwork`, host ports must equal container ports (`validatePodHostNetworkDeps`).

    A template need not set them: its pods get them by default.
    """
    if not spec.host_network:
        return
    for number, container in enumerate(spec.containers):
        for index, port in enumerate(container.ports):
            if (is_pod or port.host_port) and port.host_port != port.container_port:
                here = f"containers[{number}].ports[{index}].hostPort"
                errors.invalid(here, port.host_port, "must match `containerPort` when `hostNetwork` is true")
