"""API defaulting of all kinds that scheduling reads (`pkg/apis/*/v1/defaults.go`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from msgspec.structs import replace

from kwhatif.admission.pod_defaults import default_claim_spec, default_pod, default_rbd
from kwhatif.admission.same import each, with_parts
from kwhatif.kube.model.cluster import NAMESPACE_LABEL
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.meta import Model, ObjectMeta
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import LimitRange, LimitRangeItem
from kwhatif.kube.model.resource import (
    EXACT_COUNT,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
)
from kwhatif.kube.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from kwhatif.kube.model.workload import Deployment, Namespace, ReplicaSet, ReplicationController, StatefulSet

DEFAULT_NAMESPACE = "default"

T = TypeVar("T", bound=Model)


def default_object(obj: T) -> T:
    """The object with defaults filled in; the same object if nothing is missing."""
    rule = _RULES.get(type(obj))
    filled: T = obj if rule is None else rule(obj)
    meta: ObjectMeta = filled.metadata  # type: ignore[attr-defined]
    resource = RESOURCES.get(type(obj))
    if resource is None or resource.namespaced == bool(meta.namespace):
        return filled
    return replace(filled, metadata=replace(meta, namespace=DEFAULT_NAMESPACE if resource.namespaced else ""))


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
    status = with_parts(claim.status, phase=claim.status.phase or "Pending")
    return with_parts(claim, spec=default_claim_spec(claim.spec), status=status)


def _volume(volume: PersistentVolume) -> PersistentVolume:
    rbd = None if volume.spec.rbd is None else default_rbd(volume.spec.rbd)
    spec = with_parts(volume.spec, volume_mode=volume.spec.volume_mode or "Filesystem", rbd=rbd)
    return with_parts(volume, spec=spec, status=with_parts(volume.status, phase=volume.status.phase or "Pending"))


def _storage_class(storage_class: StorageClass) -> StorageClass:
    return with_parts(storage_class, volume_binding_mode=storage_class.volume_binding_mode or "Immediate")


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
    return with_parts(controller, spec=spec)


def _limit_range(limits: LimitRange) -> LimitRange:
    return with_parts(limits, spec=with_parts(limits.spec, limits=each(_limit_range_item, limits.spec.limits)))


def _limit_range_item(item: LimitRangeItem) -> LimitRangeItem:
    """The maximum is also the default limit; the default limit, or the minimum, is also the default request."""
    if item.type != "Container":
        return item
    default = {**item.max, **item.default}
    default_request = {**item.min, **default, **item.default_request}
    if default == item.default and default_request == item.default_request:
        return item
    return replace(item, default=default, default_request=default_request)


def _resource_claim(claim: ResourceClaim) -> ResourceClaim:
    return with_parts(claim, spec=_claim_spec(claim.spec))


def _resource_claim_template(template: ResourceClaimTemplate) -> ResourceClaimTemplate:
    return with_parts(template, spec=with_parts(template.spec, spec=_claim_spec(template.spec.spec)))


def _claim_spec(spec: ResourceClaimSpec) -> ResourceClaimSpec:
    devices = with_parts(spec.devices, requests=each(_device_request, spec.devices.requests))
    return with_parts(spec, devices=devices)


def _device_request(request: DeviceRequest) -> DeviceRequest:
    exactly = _device_count(request.exactly) if request.exactly is not None else None
    return with_parts(request, exactly=exactly, first_available=each(_device_count, request.first_available))


Counted = TypeVar("Counted", ExactDeviceRequest, DeviceSubRequest)


def _device_count(request: Counted) -> Counted:
    """The default count is one device."""
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
