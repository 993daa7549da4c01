"""The API server's checks of a changed pod: `ValidatePodUpdate`, and for a resize `ValidatePodResize` and plugins.

(`pkg/apis/core/validation/validation.go`; since 1.36, for resizes, `plugin/pkg/admission/podresize/admission.go` and
`plugin/pkg/admission/nodedeclaredfeatures/admission.go`, which look at the node.)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.admission.outcome import Denied, Forbidden, forbidden
from kwhatif.admission.plugins import check_limits
from kwhatif.admission.quota import QuotaAdmission
from kwhatif.admission.validation.errors import FieldErrors
from kwhatif.kube.matching.contents import plain
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
from kwhatif.kube.model.pod_spec import (
    Affinity,
    Container,
    NodeAffinity,
    NodeSelectorTerm,
    ResourceList,
    ResourceRequirements,
    is_sidecar,
)

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
#: The feature gate for resizes of init containers that end; also the name of the feature that a node must declare.
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
    if "InPlacePodVerticalScaling" not in cluster.facts.gates:
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
    if has_level and cluster.facts.minor < 35:
        errors.forbidden(_WHOLE, "pods with pod-level resources cannot be resized")
        return
    if qos_class(old) != computed_qos_class(new.spec):
        errors.invalid("spec", old.status.qos_class, "Pod QOS Class may not change as a result of resizing")
    if not _is_supported(old, cluster):
        errors.forbidden("spec", "Pod running on node without support for resize")
    if has_level:
        if "InPlacePodLevelResourcesVerticalScaling" not in cluster.facts.gates:
            gate = "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled"
            errors.forbidden(_WHOLE, f"resize of pods with pod-level resources is forbidden when {gate}")
            return
        _check_pod_level(new.spec.resources, levels[1], errors)
    _check_containers(new.spec, old.spec, cluster, errors)


def _check_containers(new: PodSpec, old: PodSpec, cluster: Cluster, errors: FieldErrors) -> None:
    if _names(new) != _names(old):
        errors.forbidden("spec.containers", "containers may not be added, removed, renamed or reordered on resize")
        return
    minor, resizes_all = cluster.facts.minor, _OF_INIT_CONTAINERS in cluster.facts.gates
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
    """Whether the kubelet reports allocated resources, and so can resize pods (`isPodResizeRequestSupported`).

    All kubelets since 1.33 report them: if those of a newer kubelet are missing, the dump has lost them.
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
    """Whether the two differ in nothing but these resources."""
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
    """Forbidden changes of init containers: those that end must not change at all, unless they may be resized, too."""
    for index, (container, before) in enumerate(zip(new.init_containers, old.init_containers, strict=True)):
        if resizes_all or is_sidecar(before):
            if not _differ_in(container.resources, before.resources, RESIZABLE):
                kinds = "init or sidecar containers" if minor >= API_SERVER_LOOKS_AT_NODES else "sidecar containers"
                yield f"spec.initContainers[{index}]", f"only cpu and memory resources for {kinds} are mutable"
            if not is_sidecar(before) and not _differ_in(container.resources, before.resources, ()):
                for policy in container.resize_policy:
                    if policy.restart_policy == _RESTART:
                        message = f"non-sidecar init containers with a resize policy of {_RESTART} cannot be resized"
                        yield f"spec.initContainers[{index}]", message
        elif not _differ_in(container.resources, before.resources, ()):
            yield "spec", "resources for non-sidecar init containers are immutable"


def _rest(spec: PodSpec) -> PodSpec:
    def bare(containers: Sequence[Container]) -> tuple[Container, ...]:
        return tuple(replace(each, resources=_NOTHING) for each in containers)

    parts = {"containers": bare(spec.containers), "init_containers": bare(spec.init_containers), "resources": None}
    return replace(spec, **parts)


def _not_declared(new: Pod, old: Pod, cluster: Cluster) -> Denied | None:
    """NodeDeclaredFeatureValidator: the node must declare the features that the update needs (`InferForUpdate`)."""
    if "NodeDeclaredFeatures" not in cluster.facts.gates:
        return None
    needed = {_OF_POD_LEVEL} if new.spec.resources != old.spec.resources else set()
    for one, other in zip(new.spec.init_containers, old.spec.init_containers, strict=True):
        needed |= {_OF_INIT_CONTAINERS} if not is_sidecar(other) and one.resources != other.resources else set()
    node = cluster.get(Node, new.spec.node_name)
    missing = sorted(needed.difference(node.status.declared_features)) if node is not None else []
    if node is None or not missing:
        return None
    message = f"pod update requires features {', '.join(missing)} which are not available on node"
    return forbidden(new, f'{message} "{node.metadata.name}"', Forbidden("NodeDeclaredFeatureValidator"))


def _beyond_its_node(pod: Pod, cluster: Cluster) -> Denied | None:
    """PodResizeValidator: only on Linux nodes, and not beyond the node's allocatable."""
    node = cluster.get(Node, pod.spec.node_name)
    if node is None or cluster.facts.minor < API_SERVER_LOOKS_AT_NODES:
        return None
    system = node.metadata.labels.get(OS_LABEL, "linux")
    if system != "linux":
        message = f'pod resize is only supported on linux nodes, node "{node.metadata.name}" is "{system}"'
        return forbidden(pod, message, Forbidden("PodResizeValidator"))
    allocatable = to_resources(resource_nanos(node.status.allocatable_or_capacity))
    requested = to_resources(pod_requests(pod))
    short = [
        f"{name}, requested: {requested.of(name)}, allocatable: {allocatable.of(name)}"
        for name in RESIZABLE
        if requested.of(name) > allocatable.of(name)
    ]
    if not short:
        return None
    message = f"node didn't have enough allocatable resources: {'; '.join(short)}"
    return forbidden(pod, message, Forbidden("PodResizeValidator"))


# --- other updates -----------------------------------------------------------------------------------

#: Upstream appends a comparison of the two specs in Go's notation. It is left out here.
_OTHER_FIELDS = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_TERMS = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"


def validate_pod_update(new: Pod, known: Pod) -> Denied | None:
    """The API server's rejection of a changed pod spec; None if it accepts the change."""
    errors = FieldErrors()
    if not _may_become(new.spec, known.spec, errors.within("spec")):
        errors.forbidden("spec", _OTHER_FIELDS)
    return errors.refusal(new)


def _may_become(new: PodSpec, old: PodSpec, errors: FieldErrors) -> bool:
    """Whether only mutable fields change. Invalid values of these have errors of their own."""
    for field, one, other in (
        ("containers", new.containers, old.containers),
        ("initContainers", new.init_containers, old.init_containers),
    ):
        if len(one) != len(other):
            errors.forbidden(field, "pod updates may not add or remove containers")
            return True
    if not _check_deadline(new.active_deadline_seconds, old.active_deadline_seconds, errors):
        return True
    _check_tolerations(new, old, errors)
    gates = {gate.name for gate in old.scheduling_gates}
    for at, gate in enumerate(new.scheduling_gates):
        if gate.name not in gates:
            reason = f"only deletion is allowed, but found new scheduling gate '{gate.name}'"
            errors.forbidden(f"schedulingGates[{at}].name", reason)
    left = _without_what_may_change(new, old)
    if old.scheduling_gates:
        left = _of_gated(left, old, errors)
    return plain(left) == plain(old)


def _check_deadline(new: int | None, old: int | None, errors: FieldErrors) -> bool:
    """Check the deadline. Returns whether the other fields are checked, too."""
    field = "activeDeadlineSeconds"
    if new is None:
        if old is not None:
            errors.invalid_object(field, None, "must not update from a positive integer to nil value")
    elif not 0 <= new < 2**31:
        errors.invalid(field, new, "must be between 0 and 2147483647, inclusive")
        return False
    elif old is not None and old < new:
        errors.invalid(field, new, "must be less than or equal to previous value")
        return False
    return True


def _check_tolerations(new: PodSpec, old: PodSpec, errors: FieldErrors) -> None:
    there = [replace(each, toleration_seconds=None) for each in new.tolerations]
    if any(replace(each, toleration_seconds=None) not in there for each in old.tolerations):
        errors.forbidden("tolerations", "existing toleration can not be modified except its tolerationSeconds")


def _without_what_may_change(new: PodSpec, old: PodSpec) -> PodSpec:
    grace = new.termination_grace_period_seconds
    if grace == 1 and old.termination_grace_period_seconds < 0:
        grace = old.termination_grace_period_seconds
    return replace(
        new,
        containers=_with_images(new.containers, old.containers),
        init_containers=_with_images(new.init_containers, old.init_containers),
        active_deadline_seconds=old.active_deadline_seconds,
        scheduling_gates=old.scheduling_gates,
        tolerations=old.tolerations,
        termination_grace_period_seconds=grace,
    )


def _with_images(new: Sequence[Container], old: Sequence[Container]) -> tuple[Container, ...]:
    return tuple(replace(each, image=known.image) for each, known in zip(new, old, strict=True))


def _of_gated(new: PodSpec, old: PodSpec, errors: FieldErrors) -> PodSpec:
    """A pod with scheduling gates may still be restricted to fewer nodes: requirements may only be added."""
    selector = new.node_selector or {}
    if any(selector.get(key) != value for key, value in (old.node_selector or {}).items()):
        reason = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        errors.invalid_object("nodeSelector", new.node_selector, reason)
    before, after = _node_affinity(old), _node_affinity(new)
    if before != after:
        _check_terms(_terms(after), _terms(before), errors)
    affinity = new.affinity or Affinity()
    affinity = replace(affinity, node_affinity=before)
    return replace(
        new,
        node_selector=old.node_selector,
        affinity=None if old.affinity is None and affinity == Affinity() else affinity,
    )


def _node_affinity(spec: PodSpec) -> NodeAffinity | None:
    return None if spec.affinity is None else spec.affinity.node_affinity


def _terms(affinity: NodeAffinity | None) -> Sequence[NodeSelectorTerm] | None:
    """The required terms; None if nothing is required."""
    return None if affinity is None or affinity.required is None else affinity.required.node_selector_terms


def _check_terms(
    new: Sequence[NodeSelectorTerm] | None, old: Sequence[NodeSelectorTerm] | None, errors: FieldErrors
) -> None:
    if not old:
        return
    if new is None or len(new) != len(old):
        reason = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        errors.invalid_object(_TERMS, msgspec.to_builtins(new or ()), reason)
        return
    for at, (one, other) in enumerate(zip(new, old, strict=True)):
        if not _is_narrower(one, other):
            reason = "only additions are allowed (no mutations or deletions)"
            errors.invalid_object(f"{_TERMS}[{at}]", msgspec.to_builtins(one), reason)


def _is_narrower(new: NodeSelectorTerm, old: NodeSelectorTerm) -> bool:
    """`validateNodeSelectorTermHasOnlyAdditions`; a term without requirements matches nothing, and stays so."""
    if not old.match_expressions and not old.match_fields:
        return not new.match_expressions and not new.match_fields
    return (
        new.match_expressions[: len(old.match_expressions)] == old.match_expressions
        and new.match_fields[: len(old.match_fields)] == old.match_fields
    )
