"""The API server's checks of a resize: `ValidatePodResize`, and since 1.36 plugins that look at the node.

(`pkg/apis/core/validation/validation.go`, `plugin/pkg/admission/nodedeclaredfeatures/admission.go`,
`plugin/pkg/admission/podresize/admission.go`.)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from msgspec.structs import replace

from kwhatif.admission.limit_ranger import check_limits
from kwhatif.admission.outcome import Denied, Forbidden, forbidden
from kwhatif.admission.quota.state import QuotaAdmission
from kwhatif.admission.validation.errors import FieldErrors
from kwhatif.kube.matching.requests import (
    CPU,
    MEMORY,
    computed_qos_class,
    pod_requests,
    qos_class,
    resource_nanos,
    to_resources,
)
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, PodSpec, is_terminal
from kwhatif.kube.model.pod_spec import Container, ResourceList, ResourceRequirements, is_sidecar

RESIZABLE = (CPU, MEMORY)
#: The first release whose API server checks the node's allocatable; before, only the kubelet reported Infeasible.
API_SERVER_LOOKS_AT_NODES = 36
#: The first kubelets that resize pods by default.
FIRST_TO_RESIZE = 33
_MINOR = re.compile(r"v1\.(\d{1,3})\.")
OS_LABEL = "kubernetes.io/os"
_RESTART = "RestartContainer"
_NOTHING = ResourceRequirements()
#: How the path of the object itself is printed.
_WHOLE = "[]"
#: Of init containers that end: the feature gate, which is also the name of what a node has to declare.
_OF_INIT_CONTAINERS = "InPlacePodVerticalScalingInitContainers"
_OF_POD_LEVEL = "InPlacePodLevelResourcesVerticalScaling"


def is_resize(new: Pod, old: Pod) -> bool:
    """Whether the resources of the pod, which has a node, have changed."""
    if not old.spec.node_name or new.spec.node_name != old.spec.node_name or is_terminal(old):
        return False
    return new.spec is not old.spec and _resources(new.spec) != _resources(old.spec)


def _resources(spec: PodSpec) -> tuple[object, ...]:
    every = (*spec.containers, *spec.init_containers)
    return spec.resources, tuple((each.name, each.resources) for each in every)


def refuse_resize(new: Pod, old: Pod, cluster: Cluster) -> Denied | None:
    """The API server's rejection; None if it accepts the resize, so that the kubelet decides."""
    if "InPlacePodVerticalScaling" not in cluster.gates:
        message = "the server could not find the requested resource: pods cannot be resized (the gate is off)"
        return Denied(message, Forbidden("InPlacePodVerticalScaling"))
    errors = FieldErrors()
    if old.metadata.annotations.mirror is not None:
        errors.forbidden(_WHOLE, "static pods cannot be resized")
        return errors.refusal(new)
    _check(new, old, cluster, errors)
    refusal = errors.refusal(new) or check_limits(new, cluster)
    refusal = refusal or _not_declared(new, old, cluster) or _beyond_its_node(new, cluster)
    return refusal or QuotaAdmission().refuse_update(new, old, cluster)


def _check(new: Pod, old: Pod, cluster: Cluster, errors: FieldErrors) -> None:
    levels = new.spec.resources or _NOTHING, old.spec.resources or _NOTHING
    has_level = any(level.requests or level.limits for level in levels)
    if has_level and cluster.minor < 35:
        errors.forbidden(_WHOLE, "pods with pod-level resources cannot be resized")
        return
    if qos_class(old) != computed_qos_class(new.spec):
        errors.invalid("spec", old.status.qos_class, "Pod QOS Class may not change as a result of resizing")
    if not _is_supported(old, cluster):
        errors.forbidden("spec", "Pod running on node without support for resize")
    if has_level:
        if "InPlacePodLevelResourcesVerticalScaling" not in cluster.gates:
            gate = "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled"
            errors.forbidden(_WHOLE, f"resize of pods with pod-level resources is forbidden when {gate}")
            return
        _check_pod_level(new.spec.resources, levels[1], errors)
    _check_containers(new.spec, old.spec, cluster, errors)


def _check_containers(new: PodSpec, old: PodSpec, cluster: Cluster, errors: FieldErrors) -> None:
    if _names(new) != _names(old):
        errors.forbidden("spec.containers", "containers may not be added, removed, renamed or reordered on resize")
        return
    minor, resizes_all = cluster.minor, _OF_INIT_CONTAINERS in cluster.gates
    for index, (one, other) in enumerate(zip(new.init_containers, old.init_containers, strict=True)):
        if resizes_all or is_sidecar(other):
            _check_container(one, other, f"spec.initContainers[{index}].resources", minor, errors)
    for index, (one, other) in enumerate(zip(new.containers, old.containers, strict=True)):
        _check_container(one, other, f"spec.containers[{index}].resources", minor, errors)
    if not len(errors):
        for message in _others_changed(new, old, minor, resizes_all=resizes_all):
            errors.forbidden(*message)


def _names(spec: PodSpec) -> tuple[list[str], list[str]]:
    return [each.name for each in spec.init_containers], [each.name for each in spec.containers]


def _is_supported(pod: Pod, cluster: Cluster) -> bool:
    """Whether the kubelet reports allocated resources, as those that can resize do (`isPodResizeRequestSupported`).

    All do since 1.33: if a newer kubelet seems not to, the dump has lost them.
    """
    for row in pod.status.container_statuses:
        if row.state is not None and row.state.waiting is None and row.state.terminated is None:
            return row.resources is not None or not _has_old_kubelet(pod, cluster)
    return True


def _has_old_kubelet(pod: Pod, cluster: Cluster) -> bool:
    node = cluster.get(Node, pod.spec.node_name)
    minor = None if node is None else _MINOR.match(node.status.node_info.kubelet_version)
    return minor is not None and int(minor[1]) < FIRST_TO_RESIZE


def _check_pod_level(new: ResourceRequirements | None, old: ResourceRequirements, errors: FieldErrors) -> None:
    """`validatePodLevelResourcesResize`."""
    if new is None:
        errors.forbidden("spec.resources", "pod-level resources cannot be removed")
        return
    if _are_removed(new.requests, old.requests):
        errors.forbidden("spec.resources.requests", "pod-level resource requests cannot be removed")
    if _are_removed(new.limits, old.limits):
        errors.forbidden("spec.resources.limits", "pod-level resource limits cannot be removed")
    if not _differ_in(new, old, RESIZABLE):
        errors.forbidden("spec", "only cpu and memory resources are mutable at pod-level")


def _check_container(new: Container, old: Container, path: str, minor: int, errors: FieldErrors) -> None:
    """`validateContainerResize`."""
    if _are_removed(new.resources.requests, old.resources.requests):
        errors.forbidden(f"{path}.requests", "resource requests cannot be removed")
    if _are_removed(new.resources.limits, old.resources.limits):
        errors.forbidden(f"{path}.limits", "resource limits cannot be removed")
    policy = next((each.restart_policy for each in new.resize_policy if each.resource_name == MEMORY), "")
    limit = resource_nanos(new.resources.limits).get(MEMORY)
    if minor >= 34 or policy == _RESTART or limit is None:
        return
    before = resource_nanos(old.resources.limits).get(MEMORY)
    if before is None or limit < before:
        verb = "added" if before is None else "decreased"
        detail = f"memory limits cannot be {verb} unless resizePolicy is {_RESTART}"
        errors.forbidden(f"{path}.limits[memory]", detail)


def _are_removed(new: ResourceList, old: ResourceList) -> bool:
    return not old.keys() <= new.keys()


def _differ_in(new: ResourceRequirements, old: ResourceRequirements, names: Collection[str]) -> bool:
    """Whether they differ only in these resources."""
    same = (_without(new.requests, names), _without(new.limits, names), new.claims)
    return same == (_without(old.requests, names), _without(old.limits, names), old.claims)


def _without(amounts: ResourceList, names: Collection[str]) -> dict[str, int]:
    return {name: nanos for name, nanos in resource_nanos(amounts).items() if name not in names}


def _others_changed(new: PodSpec, old: PodSpec, minor: int, *, resizes_all: bool) -> Iterator[tuple[str, str]]:
    """Changes of anything except cpu and memory."""
    for container, before in zip(new.containers, old.containers, strict=True):
        if not _differ_in(container.resources, before.resources, RESIZABLE):
            yield "spec", "only cpu and memory resources are mutable"
    yield from _init_changed(new, old, minor, resizes_all=resizes_all)
    if _rest(new) != _rest(old):
        yield "spec", "only cpu and memory resources are mutable"


def _init_changed(new: PodSpec, old: PodSpec, minor: int, *, resizes_all: bool) -> Iterator[tuple[str, str]]:
    """What must not change of init containers: all of those that end, unless these may be resized, too."""
    for index, (container, before) in enumerate(zip(new.init_containers, old.init_containers, strict=True)):
        if resizes_all or is_sidecar(before):
            if not _differ_in(container.resources, before.resources, RESIZABLE):
                kinds = "init or sidecar containers" if minor >= API_SERVER_LOOKS_AT_NODES else "sidecar containers"
                yield f"spec.initContainers[{index}]", f"only cpu and memory resources for {kinds} are mutable"
            if not is_sidecar(before) and not _differ_in(container.resources, before.resources, ()):
                for policy in container.resize_policy:
                    if policy.restart_policy == _RESTART:
                        said = f"non-sidecar init containers with a resize policy of {_RESTART} cannot be resized"
                        yield f"spec.initContainers[{index}]", said
        elif not _differ_in(container.resources, before.resources, ()):
            yield "spec", "resources for non-sidecar init containers are immutable"


def _rest(spec: PodSpec) -> PodSpec:
    def bare(containers: Sequence[Container]) -> tuple[Container, ...]:
        return tuple(replace(each, resources=_NOTHING) for each in containers)

    parts = {"containers": bare(spec.containers), "init_containers": bare(spec.init_containers), "resources": None}
    return replace(spec, **parts)


def _not_declared(new: Pod, old: Pod, cluster: Cluster) -> Denied | None:
    """NodeDeclaredFeatureValidator: what the node has to declare for such an update (`InferForUpdate`)."""
    if "NodeDeclaredFeatures" not in cluster.gates:
        return None
    needed = {_OF_POD_LEVEL} if new.spec.resources != old.spec.resources else set()
    for one, other in zip(new.spec.init_containers, old.spec.init_containers, strict=True):
        needed |= {_OF_INIT_CONTAINERS} if not is_sidecar(other) and one.resources != other.resources else set()
    node = cluster.get(Node, new.spec.node_name)
    missing = sorted(needed.difference(node.status.declared_features)) if node is not None else []
    if node is None or not missing:
        return None
    said = f"pod update requires features {', '.join(missing)} which are not available on node"
    return forbidden(new, f'{said} "{node.metadata.name}"', Forbidden("NodeDeclaredFeatureValidator"))


def _beyond_its_node(pod: Pod, cluster: Cluster) -> Denied | None:
    """PodResizeValidator: only on Linux nodes, and not beyond the node's allocatable."""
    node = cluster.get(Node, pod.spec.node_name)
    if node is None or cluster.minor < API_SERVER_LOOKS_AT_NODES:
        return None
    system = node.metadata.labels.get(OS_LABEL, "linux")
    if system != "linux":
        said = f'pod resize is only supported on linux nodes, node "{node.metadata.name}" is "{system}"'
        return forbidden(pod, said, Forbidden("PodResizeValidator"))
    status = node.status
    most = to_resources(resource_nanos(status.capacity if status.allocatable is None else status.allocatable))
    asked = to_resources(pod_requests(pod))
    short = [
        f"{name}, requested: {asked.of(name)}, allocatable: {most.of(name)}"
        for name in RESIZABLE
        if asked.of(name) > most.of(name)
    ]
    if not short:
        return None
    said = f"node didn't have enough allocatable resources: {'; '.join(short)}"
    return forbidden(pod, said, Forbidden("PodResizeValidator"))
