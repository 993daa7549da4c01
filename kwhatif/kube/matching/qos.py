"""Quality of service classes of pods (`pkg/apis/core/v1/helper/qos`)."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.kube.matching.requests import CPU, MEMORY
from kwhatif.kube.model.container import ResourceList, ResourceRequirements
from kwhatif.kube.model.pod import Pod, PodSpec
from kwhatif.kube.model.quantity import parse_quantity

_COMPUTE = (CPU, MEMORY)


def qos_class(pod: Pod) -> str:
    """The class in the pod's status (`GetPodQOS`), or else by the requests of its containers.

    QUIRK: (descheduler, GetPodQOS) requests and limits of the pod as a whole do not count.
    """
    return pod.status.qos_class or _class_of(_of_containers(pod.spec))


def computed_qos_class(spec: PodSpec) -> str:
    """The class by requests and limits; those of the pod as a whole come first (`ComputePodQOS`)."""
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
