"""Containers: their names, ports, resources and restart policies (`validateContainers`, `validateInitContainers`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kwhatif.admission.validation.errors import FieldErrors
from kwhatif.admission.validation.resources import validate_container_resources
from kwhatif.kube.matching.label_syntax import dns_label_errors
from kwhatif.kube.model.container import Container, ContainerPort
from kwhatif.kube.model.pod import PodSpec

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_MAX_PORT = 65535
_PORT_RANGE = f"must be between 1 and {_MAX_PORT}, inclusive"


def validate_containers(spec: PodSpec, claims: Collection[str], errors: FieldErrors) -> None:
    """Validate containers, then init containers; names must be unique. `claims` are the pod's resource claims."""
    _validate_regular(spec.containers, claims, errors)
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
    for place, container in enumerate(containers):
        for index, port in enumerate(container.ports):
            if not port.host_port:
                continue
            wanted = f"{port.protocol}/{port.host_ip}/{port.host_port}"
            if wanted in taken:
                errors.duplicate(f"{path}[{place}].ports[{index}].hostPort", wanted)
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
    for place, container in enumerate(spec.containers):
        for index, port in enumerate(container.ports):
            if (is_pod or port.host_port) and port.host_port != port.container_port:
                here = f"containers[{place}].ports[{index}].hostPort"
                errors.invalid(here, port.host_port, "must match `containerPort` when `hostNetwork` is true")
