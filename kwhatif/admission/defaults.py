"""API defaulting of pods, and of all other kinds that scheduling reads (`pkg/apis/*/v1/defaults.go`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from msgspec.structs import replace

from kwhatif.admission.same import each, with_parts
from kwhatif.kube.gates import Gates
from kwhatif.kube.matching.requests import CPU, HUGEPAGES_PREFIX, MEMORY, is_pod_level_resource, limited, requested
from kwhatif.kube.model.cluster import NAMESPACE_LABEL
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.meta import Model, ObjectMeta
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, PodSpec, PodTemplateSpec
from kwhatif.kube.model.pod_spec import Container, ContainerPort, ResourceRequirements
from kwhatif.kube.model.policy import LimitRange, LimitRangeItem
from kwhatif.kube.model.quantity import QuantityText, amounts
from kwhatif.kube.model.resource import (
    EXACT_COUNT,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
)
from kwhatif.kube.model.storage import (
    RBD,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    StorageClass,
    Volume,
)
from kwhatif.kube.model.workload import Deployment, Namespace, ReplicaSet, ReplicationController, StatefulSet
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER

#: If this feature gate is on, the defaults are set after the admission plugins, otherwise before.
_AFTER_PLUGINS = "PodLevelResourcesFixDefaulting"


def without_disabled(pod: Pod, gates: Gates) -> Pod:
    """The pod without pod-level resources if `PodLevelResources` is off (`dropDisabledFields`)."""
    if pod.spec.resources is None or "PodLevelResources" in gates:
        return pod
    return _with(pod, None)


def default_before_plugins(pod: Pod, gates: Gates, default: Callable[[Pod], Pod]) -> Pod:
    """Apply `default` to the pod, before any admission plugin.

    Pod-level resources are dropped if they are disabled. If their defaults are set after the plugins, they do not
    change here.
    """
    pod = without_disabled(pod, gates)
    resources = pod.spec.resources
    if resources is None or _AFTER_PLUGINS not in gates:
        return default(pod)
    return _with(default(_with(pod, None)), resources)


def complete_pod_level(pod: Pod, gates: Gates) -> Pod:
    """Set defaults after the admission plugins (`DefaultPodLevelResources` in `pkg/api/pod/util.go`, 1.37)."""
    resources = pod.spec.resources
    if resources is None or _AFTER_PLUGINS not in gates or not (resources.limits or resources.requests):
        return pod
    limits = _with_huge_pages(pod.spec, resources)
    requests = _with_requests(pod.spec, resources, limits)
    together = limited(pod.spec)
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    for name in requests:
        everywhere = bool(containers) and all(name in each.resources.limits for each in containers)
        if everywhere and name not in limits and is_pod_level_resource(name):
            request = amounts({name: requests[name]})[name]
            limits[name] = str(max(together[name], request))
    return with_parts(pod, spec=_with_amounts(pod.spec, resources, limits, requests))


def default_pod_level(spec: PodSpec, resources: ResourceRequirements) -> PodSpec:
    """`defaultHugePagePodLimits`, then `defaultPodRequests`; containers must have their defaults already."""
    if not (resources.limits or resources.requests):
        return spec
    limits = _with_huge_pages(spec, resources)
    return _with_amounts(spec, resources, limits, _with_requests(spec, resources, limits)) if limits else spec


def _with_amounts(
    spec: PodSpec, resources: ResourceRequirements, limits: dict[str, QuantityText], requests: dict[str, QuantityText]
) -> PodSpec:
    if limits == resources.limits and requests == resources.requests:
        return spec
    return replace(spec, resources=replace(resources, limits=limits, requests=requests))


def _with_huge_pages(spec: PodSpec, resources: ResourceRequirements) -> dict[str, QuantityText]:
    """The default limits of huge pages are the combined limits of the containers."""
    limits = dict(resources.limits)
    for name, amount in limited(spec).items():
        if name.startswith(HUGEPAGES_PREFIX) and name not in resources.requests:
            limits.setdefault(name, str(amount))
    return limits


def _with_requests(
    spec: PodSpec, resources: ResourceRequirements, limits: dict[str, QuantityText]
) -> dict[str, QuantityText]:
    """The default requests are the combined requests of the containers, or the limit if there are none."""
    requests = dict(resources.requests)
    together = requested(spec)
    for name in (CPU, MEMORY):
        if name in together:
            requests.setdefault(name, str(together[name]))
    for name, limit in limits.items():
        if is_pod_level_resource(name):
            requests.setdefault(name, limit)
    return requests


def _with(pod: Pod, resources: ResourceRequirements | None) -> Pod:
    return replace(pod, spec=replace(pod.spec, resources=resources))


def default_pod(pod: Pod) -> Pod:
    """The pod with defaults filled in; the same object if nothing is missing."""
    before = pod.spec
    spec = _each_container(before, _default_host_container if before.host_network else _default_container)
    if spec.resources is not None:
        spec = default_pod_level(spec, spec.resources)
    spec = _default_names(spec)
    return pod if spec is before else replace(pod, spec=spec)


def says_everything(pod: Pod) -> bool:
    """A quick check whether nothing is missing, as for nearly all pods that the API server has stored."""
    spec = pod.spec
    if (
        spec.host_network
        or spec.init_containers
        or spec.resources is not None
        or spec.termination_grace_period_seconds < 0
        or not (spec.scheduler_name and spec.restart_policy and pod.metadata.namespace)
    ):
        return False
    for volume in spec.volumes:
        if volume.rbd is not None or volume.ephemeral is not None:
            return False
    for container in spec.containers:
        for port in container.ports:
            if not port.protocol:
                return False
        limits = container.resources.limits
        if limits and not limits.keys() <= container.resources.requests.keys():
            return False
    return True


def default_template(template: PodTemplateSpec) -> PodTemplateSpec:
    """A template with its defaults; requests and host ports are filled in when pods are created from it."""
    return with_parts(template, spec=_default_names(_each_container(template.spec, _default_ports)))


def _default_names(spec: PodSpec) -> PodSpec:
    if spec.termination_grace_period_seconds < 0:  # `pkg/apis/core/v1/conversion.go`
        spec = replace(spec, termination_grace_period_seconds=1)
    if spec.scheduler_name and spec.restart_policy:
        return spec
    scheduler_name, restart_policy = spec.scheduler_name or DEFAULT_SCHEDULER, spec.restart_policy or "Always"
    return replace(spec, scheduler_name=scheduler_name, restart_policy=restart_policy)


def _each_container(spec: PodSpec, default: Callable[[Container], Container]) -> PodSpec:
    containers = each(default, spec.containers)
    init_containers = each(default, spec.init_containers) if spec.init_containers else spec.init_containers
    volumes = each(_default_volume, spec.volumes) if spec.volumes else spec.volumes
    if containers is spec.containers and init_containers is spec.init_containers and volumes is spec.volumes:
        return spec
    return replace(spec, containers=containers, init_containers=init_containers, volumes=volumes)


# --- containers --------------------------------------------------------------------------------------


def _default_container(container: Container) -> Container:
    ports = each(_default_port, container.ports) if container.ports else container.ports
    resources = _default_requests(container.resources)
    if ports is container.ports and resources is container.resources:
        return container
    return replace(container, ports=ports, resources=resources)


def _default_ports(container: Container) -> Container:
    return with_parts(container, ports=each(_default_port, container.ports))


def _default_host_container(container: Container) -> Container:
    container = _default_container(container)
    return with_parts(container, ports=each(_default_host_port, container.ports))


def _default_requests(resources: ResourceRequirements) -> ResourceRequirements:
    """Limits are the default requests."""
    requests = resources.requests
    for name in resources.limits:
        if name not in requests:
            return replace(resources, requests={**resources.limits, **requests})
    return resources


def _default_port(port: ContainerPort) -> ContainerPort:
    return port if port.protocol else replace(port, protocol="TCP")


def _default_host_port(port: ContainerPort) -> ContainerPort:
    """With `hostNetwork`, the container port is the default host port."""
    return port if port.host_port else replace(port, host_port=port.container_port)


# --- volumes -----------------------------------------------------------------------------------------


def _default_volume(volume: Volume) -> Volume:
    if volume.rbd is not None:
        volume = with_parts(volume, rbd=default_rbd(volume.rbd))
    ephemeral = volume.ephemeral
    if ephemeral is None or ephemeral.volume_claim_template is None:
        return volume
    template = ephemeral.volume_claim_template
    template = with_parts(template, spec=default_claim_spec(template.spec))
    return with_parts(volume, ephemeral=with_parts(ephemeral, volume_claim_template=template))


def default_rbd(rbd: RBD) -> RBD:
    """Ceph's default pool."""
    return rbd if rbd.pool else replace(rbd, pool="rbd")


def default_claim_spec(spec: PersistentVolumeClaimSpec) -> PersistentVolumeClaimSpec:
    """The default volume mode is Filesystem."""
    return spec if spec.volume_mode else replace(spec, volume_mode="Filesystem")


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


def _in_spec(rule: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The rule that applies this rule to the object's `spec`."""
    return lambda obj: with_parts(obj, spec=rule(obj.spec))


_scaled = _in_spec(lambda spec: spec if spec.replicas is not None else replace(spec, replicas=1))


def _replication_controller(controller: ReplicationController) -> ReplicationController:
    spec = controller.spec
    if spec.replicas is None:
        spec = replace(spec, replicas=1)
    if not spec.selector and spec.template is not None and spec.template.metadata.labels:
        spec = replace(spec, selector=spec.template.metadata.labels)
    return with_parts(controller, spec=spec)


def _limit_range_item(item: LimitRangeItem) -> LimitRangeItem:
    """The maximum is also the default limit; the default limit, or the minimum, is also the default request."""
    if item.type != "Container":
        return item
    default = {**item.max, **item.default}
    default_request = {**item.min, **default, **item.default_request}
    if default == item.default and default_request == item.default_request:
        return item
    return replace(item, default=default, default_request=default_request)


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
    LimitRange: _in_spec(lambda spec: with_parts(spec, limits=each(_limit_range_item, spec.limits))),
    Namespace: _namespace,
    Node: _node,
    PersistentVolume: _volume,
    PersistentVolumeClaim: _claim,
    Pod: default_pod,
    ReplicaSet: _scaled,
    ReplicationController: _replication_controller,
    ResourceClaim: _in_spec(_claim_spec),
    ResourceClaimTemplate: _in_spec(_in_spec(_claim_spec)),
    StatefulSet: _scaled,
    StorageClass: _storage_class,
}
