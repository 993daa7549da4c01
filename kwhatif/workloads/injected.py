"""What a pod has that its template and the API server do not give it, and what several pods share of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.kube.matching.requests import resource_nanos
from kwhatif.kube.model.pod import Pod, PodSpec
from kwhatif.kube.model.pod_spec import Container, ResourceList, ResourceRequirements, Toleration
from kwhatif.kube.model.policy import InjectedContainers, Injection
from kwhatif.kube.model.storage import Volume

#: The volume that ServiceAccount admission adds.
TOKEN_VOLUME = "kube-api-access-"  # noqa: S105 - not a password
#: Taints of nodes in trouble: the API server and controllers write how long pods stay, with seconds of their flags.
_OF_STATE = "node.kubernetes.io/"


class Expected(NamedTuple):
    """The pod as it would be without webhooks."""

    spec: PodSpec
    #: What its template says, before admission.
    template: PodSpec
    #: Names of the volumes that a StatefulSet gives each pod.
    claims: frozenset[str]
    #: Whether it is known which nodes the API server would let it onto: tolerations and node selector.
    places: bool


def read_volumes(spec: PodSpec) -> tuple[Volume, ...]:
    """The volumes that any rule reads."""
    return tuple(each for each in spec.volumes if replace(each, name="") != _NO_VOLUME)


_NO_VOLUME = Volume()


def difference(pod: Pod, expected: Expected) -> Injection:
    """What the pod has in addition to what is expected.

    QUIRK: requests of a pod whose spec has changed since it was created are not compared: it may have been resized
    in place, which `metadata.generation` shows; before 1.33 there was no in-place resize.
    """
    spec, own = pod.spec, expected.spec
    names = {each.name for each in (*own.containers, *own.init_containers)}
    known = {each.name for each in own.volumes} | expected.claims
    selector = own.node_selector or {}
    tolerations = tuple(each for each in spec.tolerations if not _is_expected(each, own.tolerations))
    resources = {} if pod.metadata.generation > 1 else dict(_resized(spec, expected))
    return Injection(
        containers=_injected(spec.containers, names),
        init_containers=_injected(spec.init_containers, names),
        volumes=tuple(
            each for each in read_volumes(spec) if each.name not in known and not each.name.startswith(TOKEN_VOLUME)
        ),
        tolerations=tolerations if expected.places else (),
        node_selector={
            key: value for key, value in (spec.node_selector or {}).items() if expected.places and key not in selector
        },
        resources=resources,
    )


def _is_expected(toleration: Toleration, own: Sequence[Toleration]) -> bool:
    return toleration in own or toleration.key.startswith(_OF_STATE)


def _injected(containers: Sequence[Container], own: set[str]) -> InjectedContainers:
    """Containers that others have added, before and after the first of the pod's own."""
    first = next((place for place, each in enumerate(containers) if each.name in own), 0)
    return InjectedContainers(
        tuple(containers[:first]), tuple(each for each in containers[first:] if each.name not in own)
    )


def _resized(spec: PodSpec, expected: Expected) -> list[tuple[str, ResourceRequirements]]:
    """The containers whose requests or limits are not those of the template, nor defaults of the namespace."""
    pods = {each.name: each.resources for each in (*spec.containers, *spec.init_containers)}
    said = {each.name: each.resources for each in _containers(expected.template)}
    found: list[tuple[str, ResourceRequirements]] = []
    for container in _containers(expected.spec):
        has, asked = pods.get(container.name), said[container.name]
        if has is None or has == container.resources:
            continue
        requests = _other(has.requests, container.resources.requests, asked.requests)
        limits = _other(has.limits, container.resources.limits, asked.limits)
        if requests or limits:
            found.append((container.name, ResourceRequirements(requests=requests, limits=limits)))
    return found


def _containers(spec: PodSpec) -> tuple[Container, ...]:
    return (*spec.containers, *spec.init_containers)


def _other(has: ResourceList, expected: ResourceList, asked: ResourceList) -> ResourceList:
    """What is other than expected; where the namespace has a default, an older one may have been another."""
    amounts, own = resource_nanos(has), resource_nanos(expected)
    defaulted = expected.keys() - asked.keys()
    return {name: has[name] for name in has if name not in defaulted and amounts[name] != own.get(name)}


# --- several pods ------------------------------------------------------------------------------------------------


def shared(found: Sequence[Injection]) -> tuple[Injection, bool]:
    """What all of them have, and whether any has more, or something else; images do not count."""
    first, *others = found
    if all(each is first or each == first for each in others):
        return first, False
    injection = Injection(
        containers=_common_containers([each.containers for each in found]),
        init_containers=_common_containers([each.init_containers for each in found]),
        volumes=_common([each.volumes for each in found]),
        tolerations=_common([each.tolerations for each in found]),
        node_selector=dict(_common([tuple(each.node_selector.items()) for each in found])),
        resources=_common_resources([each.resources for each in found]),
    )
    plain = _without_images(injection)
    return injection, any(_without_images(each) != plain for each in found)


def _common(all_of: Sequence[tuple[object, ...]]) -> tuple:  # type: ignore[type-arg]
    first, *others = all_of
    return tuple(each for each in first if all(each in other for other in others))


def _common_containers(all_of: Sequence[InjectedContainers]) -> InjectedContainers:
    by_name = [{each.name: each for each in (*containers.first, *containers.last)} for containers in all_of]

    def common(containers: Sequence[Container]) -> tuple[Container, ...]:
        there = [each.name for each in containers if all(each.name in other for other in by_name)]
        return tuple(_least([other[name] for other in by_name]) for name in there)

    return InjectedContainers(common(all_of[0].first), common(all_of[0].last))


def _least(containers: Sequence[Container]) -> Container:
    """The container with what all of them ask for at least."""
    first = containers[0]
    return replace(first, resources=_least_resources([each.resources for each in containers]))


def _least_resources(all_of: Sequence[ResourceRequirements]) -> ResourceRequirements:
    first = all_of[0]
    return replace(
        first,
        requests=_least_amounts([each.requests for each in all_of]),
        limits=_least_amounts([each.limits for each in all_of]),
    )


def _least_amounts(all_of: Sequence[ResourceList]) -> ResourceList:
    amounts = [resource_nanos(each) for each in all_of]
    names = [name for name in all_of[0] if all(name in each for each in amounts)]
    return {name: min(zip(amounts, all_of, strict=True), key=lambda pair: pair[0][name])[1][name] for name in names}


def _common_resources(all_of: Sequence[Mapping[str, ResourceRequirements]]) -> dict[str, ResourceRequirements]:
    names = [name for name in all_of[0] if all(name in each for each in all_of)]
    least = {name: _least_resources([each[name] for each in all_of]) for name in names}
    return {name: each for name, each in least.items() if each.requests or each.limits}


def _without_images(injection: Injection) -> Injection:
    return replace(
        injection,
        containers=_plain(injection.containers, lambda each: replace(each, image="")),
        init_containers=_plain(injection.init_containers, lambda each: replace(each, image="")),
    )


def _plain(containers: InjectedContainers, change: Callable[[Container], Container]) -> InjectedContainers:
    return InjectedContainers(tuple(map(change, containers.first)), tuple(map(change, containers.last)))
