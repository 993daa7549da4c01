"""Host ports (`staging/src/k8s.io/kube-scheduler/framework/types.go`, HostPortInfo)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kwhatif.kube.model.container import is_sidecar
from kwhatif.kube.model.pod import PodSpec

ANY_IP = "0.0.0.0"  # noqa: S104 - the address means "all", nothing is bound here


class HostPort(NamedTuple):
    """A host port that a pod occupies."""

    ip: str
    protocol: str
    port: int


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """Host ports of containers and sidecars; plain init containers do not count.

    With `hostNetwork`, a port without host port occupies its container port, as API defaulting sets it.
    """
    containers = spec.containers
    if spec.init_containers:
        containers += tuple(c for c in spec.init_containers if is_sidecar(c))
    found = []
    for container in containers:
        for port in container.ports:
            number = port.host_port or (port.container_port if spec.host_network else 0)
            if number > 0:
                found.append(HostPort(port.host_ip or ANY_IP, port.protocol or "TCP", number))
    return tuple(found)


def conflicts(wanted: HostPort, used: Iterable[HostPort]) -> bool:
    """Whether the port is in use: same protocol and number, and overlapping addresses."""
    return any(
        other.port == wanted.port
        and other.protocol == wanted.protocol
        and (ANY_IP in (other.ip, wanted.ip) or other.ip == wanted.ip)
        for other in used
    )
