"""The kinds that kwhatif reads: type, API group and versions of each; and the API's lists of them.

A kind is only itself in its own group: `serving.knative.dev/v1 Service` is not a `v1 Service`. Versions are accepted
where the fields that scheduling reads have the same shape and meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from msgspec.structs import replace

from kwhatif.kube.model.bystanders import METRICS_API_VERSION, NodeMetrics, PodMetrics
from kwhatif.kube.model.kinds import RESOURCES as KNOWN
from kwhatif.kube.model.kinds import Resource
from kwhatif.kube.model.meta import Model
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup, Workload
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.kube.model.resource import (
    BasicDevice,
    Device,
    DeviceRequest,
    DeviceTaintRule,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceSlice,
)
from kwhatif.kube.model.saved import SAVED_API_VERSION, SavedSnapshot
from kwhatif.kube.model.workload import CronJob

# --- older versions, whose fields have another place or meaning ----------------------------------------


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


class Kind(NamedTuple):
    """A kind that is read, and the `apiVersion`s of it that are."""

    type: type[Model]
    api_versions: frozenset[str]
    namespaced: bool
    #: Other versions, of the same shape but of another meaning -> what makes the current one of it.
    conversions: Mapping[str, Callable[[Any], Any]]

    def reads(self, api_version: str) -> bool:
        """Whether objects of that version are read."""
        return api_version in self.api_versions or api_version in self.conversions

    @property
    def group(self) -> str:
        """The API group; "" is the core group."""
        return group_of(min(self.api_versions))


def group_of(api_version: str) -> str:
    """The group of an `apiVersion`."""
    return api_version.rpartition("/")[0]


#: Groups of which beta versions say the same as v1, unless there is a conversion.
_BETA = {
    "node.k8s.io": ("v1beta1",),
    "resource.k8s.io": ("v1beta1", "v1beta2"),
    "scheduling.k8s.io": ("v1beta1",),
    "storage.k8s.io": ("v1beta1",),
}


#: Kinds that differ from their group in that.
_BETA_OF: Mapping[type[Model], tuple[str, ...]] = {
    CronJob: ("v1beta1",),
    DeviceTaintRule: ("v1alpha3", "v1beta2"),
    PodGroup: (),
    Workload: (),
}


def _kind(resource: Resource) -> Kind:
    betas = _BETA_OF.get(resource.type, _BETA.get(resource.group, ()))
    conversions = CONVERSIONS.get(resource.type, {})
    versions = {resource.api_version, *(f"{resource.group}/{beta}" for beta in betas)} - conversions.keys()
    return Kind(resource.type, frozenset(versions), resource.namespaced, conversions)


#: By name.
KINDS: Mapping[str, Kind] = {resource.kind: _kind(resource) for resource in KNOWN.values()} | {
    type_.__name__: Kind(type_, frozenset({api_version}), namespaced, conversions={})
    for type_, api_version, namespaced in (
        (SavedSnapshot, SAVED_API_VERSION, False),
        (NodeMetrics, METRICS_API_VERSION, False),
        (PodMetrics, METRICS_API_VERSION, True),
    )
}

#: All types as one union, distinguished by their `kind`.
AnyObject: Any = reduce(or_, (kind.type for kind in KINDS.values()))

#: The largest lists come first.
RESOURCES: tuple[Resource, ...] = tuple(sorted(KNOWN.values(), key=lambda resource: resource.type not in (Node, Pod)))
BY_KIND = {resource.kind: resource for resource in RESOURCES}
BY_PLURAL = {resource.plural: resource for resource in RESOURCES}

#: Without these there is no answer at all.
ESSENTIAL = frozenset({"Node", "Pod"})
