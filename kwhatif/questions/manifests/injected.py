"""What webhooks are assumed to add, as a caveat."""

from __future__ import annotations

from kwhatif.kube.model.affinity import Toleration
from kwhatif.kube.model.caveat.workloads import ContainerRequests, Injected
from kwhatif.kube.model.container import Container, ResourceRequirements
from kwhatif.kube.model.injection import KnownInjection


def injected(known: KnownInjection) -> Injected:
    """What new pods of the workload get, and how that is known."""
    injection = known.injection
    containers = (
        *(*injection.init_containers.first, *injection.init_containers.last),
        *(*injection.containers.first, *injection.containers.last),
    )
    return Injected(
        workload=known.workload,
        containers=tuple(map(_container, containers)),
        changed=tuple(_requests(name, injection.resources[name]) for name in sorted(injection.resources)),
        volumes=tuple(volume.name for volume in injection.volumes),
        tolerations=tuple(map(_toleration, injection.tolerations)),
        node_selector=tuple(f"{key}={value}" for key, value in sorted(injection.node_selector.items())),
        seen=known.pods,
        like=known.like,
        marks=known.marks,
        differ=known.differ,
        missing=known.differ,
    )


def _container(container: Container) -> ContainerRequests:
    return _requests(container.name, container.resources)


def _requests(name: str, resources: ResourceRequirements) -> ContainerRequests:
    return ContainerRequests(name=name, requests=tuple((key, str(text)) for key, text in resources.requests.items()))


def _toleration(toleration: Toleration) -> str:
    """As a taint is written: `dedicated=db:NoSchedule`; what it leaves out is not there."""
    value = f"={toleration.value}" if toleration.value else ""
    effect = f":{toleration.effect}" if toleration.effect else ""
    return f"{toleration.key}{value}{effect}" or "every taint"
