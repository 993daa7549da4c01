"""Older versions of kinds whose fields stand elsewhere, or mean something else, than in the version that is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from kwhatif.kube.model.meta import Model
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.kube.model.resource import (
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
)
from kwhatif.kube.model.resource_slice import BasicDevice, Device, ResourceSlice


def _budget(budget: PodDisruptionBudget) -> PodDisruptionBudget:
    """An empty selector of v1beta1 selects nothing, one of v1 everything (`pkg/apis/policy/v1beta1/conversion.go`)."""
    selector = budget.spec.selector
    if selector is None or selector.match_labels or selector.match_expressions:
        return budget
    return replace(budget, spec=replace(budget.spec, selector=None))


def _fields(model: Model, kind: type[Model]) -> dict[str, Any]:
    return {field: getattr(model, field) for field in kind.__struct_fields__}


def _request(request: DeviceRequest) -> DeviceRequest:
    """In v1beta1, the fields of `exactly` stand in the request itself (`pkg/apis/resource/v1beta1/conversion.go`)."""
    exactly = ExactDeviceRequest(**_fields(request, ExactDeviceRequest))
    asks = exactly != ExactDeviceRequest()
    return DeviceRequest(name=request.name, exactly=exactly if asks else None, first_available=request.first_available)


def _claim_spec(spec: ResourceClaimSpec) -> ResourceClaimSpec:
    return replace(spec, devices=replace(spec.devices, requests=tuple(map(_request, spec.devices.requests))))


def _claim(claim: ResourceClaim) -> ResourceClaim:
    return replace(claim, spec=_claim_spec(claim.spec))


def _template(template: ResourceClaimTemplate) -> ResourceClaimTemplate:
    return replace(template, spec=replace(template.spec, spec=_claim_spec(template.spec.spec)))


def _device(device: Device) -> Device:
    """In v1beta1, all of a device but its name stands in `basic`."""
    return Device(name=device.name, **({} if device.basic is None else _fields(device.basic, BasicDevice)))


def _slice(found: ResourceSlice) -> ResourceSlice:
    return replace(found, spec=replace(found.spec, devices=tuple(map(_device, found.spec.devices))))


#: Type -> `apiVersion` -> what makes the current version of an object.
CONVERSIONS: Mapping[type[Model], Mapping[str, Callable[[Any], Any]]] = {
    PodDisruptionBudget: {"policy/v1beta1": _budget},
    ResourceClaim: {"resource.k8s.io/v1beta1": _claim},
    ResourceClaimTemplate: {"resource.k8s.io/v1beta1": _template},
    ResourceSlice: {"resource.k8s.io/v1beta1": _slice},
}
