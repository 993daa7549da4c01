"""What had to be assumed of new pods and their claims, as caveats."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.controllers.volume_binder import caveat_of
from kwhatif.kube.model.admission_hooks import KnownInjection
from kwhatif.kube.model.affinity import Toleration
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.scheduling import ClaimUnbound
from kwhatif.kube.model.caveat.workloads import ContainerRequests, Injected
from kwhatif.kube.model.container import Container, ResourceRequirements
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.simulation.world import World


def assumed_of_new(world: World) -> Iterator[Caveat]:
    """Assumptions about the pods and claims that were created in the world."""
    yield from caveats_of_claims(world)
    yield from map(injected, world.injections.values())


def caveats_of_claims(world: World) -> Iterator[Caveat]:
    """Assumptions about claims that were created or bound; or why they are not bound."""
    touched = dict.fromkeys(event.object for event in world.history.events)
    for name in touched:
        kind, _, key = name.partition(" ")
        caveat = caveat_of(key, world) if kind == PersistentVolumeClaim.__name__ else None
        is_there = world.state.cluster.get(PersistentVolumeClaim, key) is not None
        if caveat is not None and (is_there or not isinstance(caveat, ClaimUnbound)):
            yield caveat


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
