"""API defaulting of every kind where scheduling reads the result (`pkg/apis/*/v1/defaults.go`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from msgspec.structs import replace

from kwhatif.admission.pod_defaults import default_claim_spec, default_pod, default_rbd
from kwhatif.admission.same import each
from kwhatif.model.cluster import NAMESPACE_LABEL
from kwhatif.model.kinds import RESOURCES
from kwhatif.model.meta import Model, ObjectMeta
from kwhatif.model.node import Node
from kwhatif.model.pod import Pod
from kwhatif.model.policy import (
    LimitRange,
    LimitRangeItem,
)
from kwhatif.model.resource import (
    EXACT_COUNT,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
)
from kwhatif.model.storage import (
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from kwhatif.model.workload import (
    Deployment,
    Namespace,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)

DEFAULT_NAMESPACE = "default"

T = TypeVar("T", bound=Model)


def default_object(obj: T) -> T:
    """The object with what the API server fills in; the same object when nothing is missing."""
    rule = _RULES.get(type(obj))
    filled: T = obj if rule is None else rule(obj)
    meta: ObjectMeta = filled.metadata  # type: ignore[attr-defined]
    resource = RESOURCES.get(type(obj))
    if resource is None or resource.namespaced == bool(meta.namespace):
        return filled
    return _moved(filled, meta, DEFAULT_NAMESPACE if resource.namespaced else "")


def _moved(obj: T, meta: ObjectMeta, namespace: str) -> T:
    return replace(obj, metadata=replace(meta, namespace=namespace))


def _namespace(namespace: Namespace) -> Namespace:
    meta = namespace.metadata
    if not meta.name or meta.labels.get(NAMESPACE_LABEL) == meta.name:
        return namespace
    return replace(namespace, metadata=replace(meta, labels={**meta.labels, NAMESPACE_LABEL: meta.name}))


def _node(node: Node) -> Node:
    status = node.status
    if status.allocatable is not None:
        return node
    return replace(node, status=replace(status, allocatable=status.capacity))


def _claim(claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
    spec = default_claim_spec(claim.spec)
    status = claim.status if claim.status.phase else replace(claim.status, phase="Pending")
    return claim if spec is claim.spec and status is claim.status else replace(claim, spec=spec, status=status)


def _volume(volume: PersistentVolume) -> PersistentVolume:
    spec = volume.spec if volume.spec.volume_mode else replace(volume.spec, volume_mode="Filesystem")
    if spec.rbd is not None and not spec.rbd.pool:
        spec = replace(spec, rbd=default_rbd(spec.rbd))
    status = volume.status if volume.status.phase else replace(volume.status, phase="Pending")
    return volume if spec is volume.spec and status is volume.status else replace(volume, spec=spec, status=status)


def _storage_class(storage_class: StorageClass) -> StorageClass:
    return (
        storage_class if storage_class.volume_binding_mode else replace(storage_class, volume_binding_mode="Immediate")
    )


Scaled = TypeVar("Scaled", Deployment, ReplicaSet, StatefulSet)


def _scaled(workload: Scaled) -> Scaled:
    if workload.spec.replicas is not None:
        return workload
    return replace(workload, spec=replace(workload.spec, replicas=1))


def _replication_controller(controller: ReplicationController) -> ReplicationController:
    spec = controller.spec
    if spec.replicas is None:
        spec = replace(spec, replicas=1)
    if not spec.selector and spec.template is not None and spec.template.metadata.labels:
        spec = replace(spec, selector=spec.template.metadata.labels)
    return controller if spec is controller.spec else replace(controller, spec=spec)


def _limit_range(limits: LimitRange) -> LimitRange:
    items = each(_limit_range_item, limits.spec.limits)
    return limits if items is limits.spec.limits else replace(limits, spec=replace(limits.spec, limits=items))


def _limit_range_item(item: LimitRangeItem) -> LimitRangeItem:
    """A maximum is also the default limit; the default limit, else the minimum, also the default request."""
    if item.type != "Container":
        return item
    default = {**item.max, **item.default}
    default_request = {**item.min, **default, **item.default_request}
    if default == item.default and default_request == item.default_request:
        return item
    return replace(item, default=default, default_request=default_request)


def _resource_claim(claim: ResourceClaim) -> ResourceClaim:
    spec = _claim_spec(claim.spec)
    return claim if spec is claim.spec else replace(claim, spec=spec)


def _resource_claim_template(template: ResourceClaimTemplate) -> ResourceClaimTemplate:
    spec = _claim_spec(template.spec.spec)
    return template if spec is template.spec.spec else replace(template, spec=replace(template.spec, spec=spec))


def _claim_spec(spec: ResourceClaimSpec) -> ResourceClaimSpec:
    requests = each(_device_request, spec.devices.requests)
    return (
        spec if requests is spec.devices.requests else replace(spec, devices=replace(spec.devices, requests=requests))
    )


def _device_request(request: DeviceRequest) -> DeviceRequest:
    exactly = _device_count(request.exactly) if request.exactly is not None else None
    first_available = each(_device_count, request.first_available)
    if exactly is request.exactly and first_available is request.first_available:
        return request
    return replace(request, exactly=exactly, first_available=first_available)


Counted = TypeVar("Counted", ExactDeviceRequest, DeviceSubRequest)


def _device_count(request: Counted) -> Counted:
    """One device, unless the request says otherwise."""
    mode = request.allocation_mode or EXACT_COUNT
    count = request.count or (1 if mode == EXACT_COUNT else 0)
    if mode == request.allocation_mode and count == request.count:
        return request
    return replace(request, allocation_mode=mode, count=count)


_RULES: Mapping[type[Model], Callable[[Any], Any]] = {
    Deployment: _scaled,
    LimitRange: _limit_range,
    Namespace: _namespace,
    Node: _node,
    PersistentVolume: _volume,
    PersistentVolumeClaim: _claim,
    Pod: default_pod,
    ReplicaSet: _scaled,
    ReplicationController: _replication_controller,
    ResourceClaim: _resource_claim,
    ResourceClaimTemplate: _resource_claim_template,
    StatefulSet: _scaled,
    StorageClass: _storage_class,
}
