"""Extended resources that are backed by devices: a pod's requests for their DeviceClasses.

(`pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go`.)
"""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.kube.matching.device_classes import IMPLICIT_PREFIX
from kwhatif.kube.matching.requests import is_extended_resource
from kwhatif.kube.model.container import Container, is_sidecar
from kwhatif.kube.model.int64 import fits
from kwhatif.kube.model.pod import PodSpec
from kwhatif.kube.model.quantity import NANO, parse_quantity
from kwhatif.kube.model.resource import EXACT_COUNT, DeviceClass, DeviceRequest, ExactDeviceRequest


def is_dra_resource(name: str) -> bool:
    """Whether devices may back a resource with that name (`IsDRAExtendedResourceName`)."""
    return is_extended_resource(name) or name.startswith(IMPLICIT_PREFIX)


def extended_resource_requests(spec: PodSpec, classes: Mapping[str, DeviceClass]) -> tuple[DeviceRequest, ...]:
    """The pod's requests for these classes, which are given by resource name (`createRequestsAndMappings`)."""
    requests = [request for name in classes for request in _requests(spec, name, classes[name].metadata.name)]
    return tuple(sorted(requests, key=lambda request: request.name))


def _requests(spec: PodSpec, resource: str, class_name: str) -> list[DeviceRequest]:
    """One request for each container and sidecar, and one for all init containers before them.

    An init container uses the devices of the containers that start later, and requests only what it needs beyond that.
    Init containers run one at a time, so the largest of their requests is enough for all.
    """
    first_lasting = len(spec.init_containers)
    containers = (*spec.init_containers, *spec.containers)
    lasting: dict[int, int] = {}
    for index, container in enumerate(containers):
        amount = _amount(container, resource)
        if amount and (index >= first_lasting or is_sidecar(container)):
            lasting[index] = amount
    excess: dict[int, int] = {}
    for index, container in enumerate(spec.init_containers):
        reusable = sum(amount for place, amount in lasting.items() if place >= index)
        missing = _amount(container, resource) - reusable
        if missing > 0 and not is_sidecar(container):
            excess[index] = missing
    if excess:
        greediest = max(excess, key=lambda index: (excess[index], -index))
        lasting[greediest] = excess[greediest]
    return [_request(index, containers[index], resource, class_name, amount) for index, amount in lasting.items()]


def _amount(container: Container, resource: str) -> int:
    """Whole units (`Quantity.AsInt64`).

    QUIRK: (extendeddynamicresources.go) a fraction of a device, or an amount that overflows an int64, counts as 0.
    """
    whole, fraction = divmod(parse_quantity(container.resources.requests.get(resource, 0)), NANO)
    return 0 if fraction or not fits(whole) else whole


def _request(index: int, container: Container, resource: str, class_name: str, count: int) -> DeviceRequest:
    place = sorted(container.resources.requests).index(resource)
    asked = ExactDeviceRequest(device_class_name=class_name, allocation_mode=EXACT_COUNT, count=count)
    return DeviceRequest(name=f"container-{index}-request-{place}", exactly=asked)
