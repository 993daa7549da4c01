"""In-place pod resize: the kubelet's decision, and its update of the pod (`pkg/kubelet/allocation`).

A pod's spec has the requests, its status what the kubelet has granted. The kubelet tries the resize as if the pod
were new, beside what it has granted all others: it fits, or it is deferred until there is room. Until 1.35 one that
asks for more than the whole node has is infeasible; since then the API server refuses it (`admission/pod_update.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from msgspec.structs import replace

from kwhatif.admission.pod_update import API_SERVER_LOOKS_AT_NODES, OS_LABEL, RESIZABLE
from kwhatif.kube.matching.nodes import RequiredNodeAffinity, no_execute_taints, tolerated
from kwhatif.kube.matching.requests import (
    MEMORY,
    is_extended_resource,
    pod_requests,
    qos_class,
    resource_nanos,
    to_resources,
)
from kwhatif.kube.model.cluster import SYSTEM_PRIORITY_CLASSES, Cluster, key_of
from kwhatif.kube.model.pod import (
    RESIZE_IN_PROGRESS,
    RESIZE_PENDING,
    ContainerStatus,
    Pod,
    PodCondition,
    PodStatus,
    is_terminal,
    pod_condition,
)
from kwhatif.kube.model.pod_spec import Container, ResourceList, ResourceRequirements, is_sidecar
from kwhatif.kube.model.quantity import milli_value
from kwhatif.scheduler.framework.evidence import InsufficientResource
from kwhatif.scheduler.plugins.node_affinity import REASON_POD
from kwhatif.scheduler.plugins.node_resources_fit.room import Room
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo

PENDING, IN_PROGRESS = RESIZE_PENDING, RESIZE_IN_PROGRESS
_RESTART = "RestartContainer"
Decision = Literal["Fits", "Deferred", "Infeasible"]


class Verdict(NamedTuple):
    """The kubelet's decision; `message` is its message if it does not resize the pod."""

    decision: Decision
    message: str = ""


FITS = Verdict("Fits")

# --- granted resources --------------------------------------------------------------------------------------------


def allocated(pod: Pod) -> Pod:
    """The pod with the granted resources instead of the requested ones (`UpdatePodFromAllocation`).

    If its status does not show them, everything is granted.
    """
    status, spec = pod.status, pod.spec
    rows = {row.name: row for row in (*status.init_container_statuses, *status.container_statuses)}

    def granted(container: Container) -> Container:
        row = rows.get(container.name)
        if row is None:
            return container
        return replace(container, resources=_granted(container.resources, row.allocated_resources, row.resources))

    return replace(
        pod,
        spec=replace(
            spec,
            containers=tuple(map(granted, spec.containers)),
            init_containers=tuple(granted(each) if is_sidecar(each) else each for each in spec.init_containers),
            resources=spec.resources and _granted(spec.resources, status.allocated_resources, status.resources),
        ),
    )


def _granted(
    spec: ResourceRequirements, allocated: ResourceList | None, actual: ResourceRequirements | None
) -> ResourceRequirements:
    if not allocated and actual is None:
        return spec
    requests = allocated or (actual.requests if actual is not None else {})
    limits = spec.limits if actual is None else actual.limits
    return replace(spec, requests=_compute_of(requests, spec.requests), limits=_compute_of(limits, spec.limits))


def _compute_of(granted: ResourceList, spec: ResourceList) -> ResourceList:
    """Cpu and memory as granted, everything else as requested."""
    others = {name: amount for name, amount in spec.items() if name not in RESIZABLE}
    return {name: amount for name, amount in granted.items() if name in RESIZABLE} | others


def is_under_way(pod: Pod) -> bool:
    """Whether a kubelet has yet to decide about a resize, or to carry it out.

    Requests show it, not limits: those in a pod's status are the container runtime's. What is
    infeasible is not retried.
    """
    if is_terminal(pod) or not pod.spec.node_name or pod.metadata.deletion_timestamp is not None:
        return False
    pending = pod_condition(pod, PENDING)
    if pending is not None:
        return pending.reason != "Infeasible"
    status, spec = pod.status, pod.spec
    if not (status.container_statuses or status.init_container_statuses or status.resources):
        return False
    containers = {each.name: each for each in (*spec.containers, *filter(is_sidecar, spec.init_containers))}
    parts = [
        (containers[row.name].resources, row.allocated_resources, row.resources)
        for row in (*status.container_statuses, *status.init_container_statuses)
        if row.name in containers
    ]
    if spec.resources is not None:
        parts.append((spec.resources, status.allocated_resources, status.resources))
    return any(_differ(*part) for part in parts)


def _differ(spec: ResourceRequirements, allocated: ResourceList | None, actual: ResourceRequirements | None) -> bool:
    every = [allocated] if allocated else []
    every += [actual.requests] if actual is not None else []
    if all(granted == spec.requests for granted in every):
        return False
    wanted = resource_nanos(spec.requests)
    return any(
        nanos != wanted.get(name, 0)
        for granted in every
        for name, nanos in ((name, resource_nanos(granted).get(name, 0)) for name in RESIZABLE)
    )


def asks_as_before(new: Pod, old: Pod) -> Pod:
    """The pod with new requests; if its status does not show the granted resources, they stay as before."""
    return replace(new, status=_with_grants(new, allocated(old), known=True))


# --- the decision ------------------------------------------------------------------------------------------------


def decide(pod: Pod, node: NodeInfo, cluster: Cluster) -> Verdict:
    """`canAdmitPod` of a resize, and until 1.35 the check before it.

    Args:
        pod: with its new requests.
        node: its node, with all its pods.
        cluster: has the release, which is assumed for the kubelet too.
    """
    if cluster.facts.minor < API_SERVER_LOOKS_AT_NODES and (impossible := _impossible(pod, node)):
        return Verdict("Infeasible", impossible)
    key = key_of(pod)
    others = [PodInfo(allocated(each.pod), cluster.facts.resizes) for each in node.pods if each.key != key]
    message = next(_reasons(pod, node.with_pods(others)), "")
    return Verdict("Deferred", message) if message else FITS


def _impossible(pod: Pod, node: NodeInfo) -> str:
    """`canResizePod` until 1.35."""
    if node.labels.get(OS_LABEL) == "windows":
        return "In-place pod resize is not supported on Windows"
    requested, allocatable = to_resources(pod_requests(pod)), node.allocatable
    for name in reversed(RESIZABLE):
        if requested.of(name) > allocatable.of(name):
            short = f"{name}, requested: {requested.of(name)}, capacity: {allocatable.of(name)}"
            return f"Node didn't have enough capacity: {short}"
    return ""


def _reasons(pod: Pod, node: NodeInfo) -> Iterator[str]:
    """`generalFilter`: why the pod would not be admitted beside the others, in order."""
    requested = to_resources(pod_requests(pod))
    known = [
        each for each in requested.scalars if not is_extended_resource(each[0]) or node.allocatable.scalar(each[0])
    ]
    for short in Room(requested._replace(scalars=tuple(known))).filter(node).evidence:
        if isinstance(short, InsufficientResource):
            yield (
                f"Node didn't have enough resource: {short.resource}, requested: {short.requested},"
                f" used: {short.used}, capacity: {short.allocatable}"
            )
    if not RequiredNodeAffinity(pod.spec).matches(node):
        yield f"Predicate NodeAffinity failed: {REASON_POD}"
    if not all(tolerated(taint, pod.spec.tolerations) for taint in no_execute_taints(node.node)):
        yield "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"


def in_order(pods: Iterable[Pod]) -> list[Pod]:
    """In the order of retries (`sortPendingResizes`): pods that do not grow, then by priority, QoS class, and time."""
    return sorted(pods, key=_order)


def _order(pod: Pod) -> tuple[bool, int, bool, bool, str, str]:
    pending = pod_condition(pod, PENDING)
    since = (pending and pending.last_transition_time) or ""
    return grows(pod), -(pod.spec.priority or 0), qos_class(pod) != "Guaranteed", not since, since, key_of(pod)


def grows(pod: Pod) -> bool:
    """Whether it requests more cpu or memory than granted (`isResizeIncreasingRequests`)."""
    now, before = pod_requests(pod), pod_requests(allocated(pod))
    return any(now.get(name, 0) > before.get(name, 0) for name in RESIZABLE)


def is_critical(pod: Pod) -> bool:
    """Whether the kubelet would evict others for it (`IsCriticalPod`)."""
    return (pod.spec.priority or 0) >= SYSTEM_PRIORITY_CLASSES["system-cluster-critical"]


def is_assumed(pod: Pod) -> bool:
    """Whether something that is not in the input might make its kubelet refuse, or fail.

    A Guaranteed pod is not resized under a static CPU or memory manager policy, nor is memory if containers may swap;
    and a memory limit is not lowered below the usage.
    """
    before = allocated(pod)
    if qos_class(pod) == "Guaranteed":
        return True
    every = zip(pod.spec.containers, before.spec.containers, strict=True)
    return any(
        resource_nanos(now).get(MEMORY) != resource_nanos(then).get(MEMORY)
        for one, other in every
        for now, then in (
            (one.resources.requests, other.resources.requests),
            (one.resources.limits, other.resources.limits),
        )
    )


# --- the pod afterwards ------------------------------------------------------------------------------------------


def resized(pod: Pod) -> Pod:
    """The pod with all its requests granted and in use."""
    return _without_conditions(replace(pod, status=_with_grants(pod, pod)))


def put_off(pod: Pod, verdict: Verdict, time: str | None) -> Pod:
    """The pod without the resize, and with the reason in its status; `time`: now, None if no time passes."""
    known = pod_condition(pod, PENDING)
    if known is not None and known.reason == verdict.decision:
        return pod
    pod = _without_conditions(pod)
    pending = PodCondition(type=PENDING, status="True", reason=verdict.decision, last_transition_time=time)
    return replace(pod, status=replace(pod.status, conditions=(*pod.status.conditions, pending)))


def _without_conditions(pod: Pod) -> Pod:
    conditions = tuple(each for each in pod.status.conditions if each.type not in (PENDING, IN_PROGRESS))
    return replace(pod, status=replace(pod.status, conditions=conditions))


def _with_grants(pod: Pod, granted: Pod, *, known: bool = False) -> PodStatus:
    """The pod's status with the resources of `granted`'s spec as granted and actual ones.

    `known`: existing values stay.
    """
    status, spec = pod.status, granted.spec
    sidecars = tuple(filter(is_sidecar, spec.init_containers))
    level = spec.resources
    if level is not None and not (known and status.resources is not None):
        status = replace(status, resources=level, allocated_resources=dict(level.requests))
    return replace(
        status,
        container_statuses=_rows(status.container_statuses, spec.containers, known=known),
        init_container_statuses=_rows(status.init_container_statuses, sidecars, known=known),
    )


def _rows(
    rows: Sequence[ContainerStatus], containers: Sequence[Container], *, known: bool
) -> tuple[ContainerStatus, ...]:
    given = {each.name: each.resources for each in containers}
    there = {row.name for row in rows}
    every = (*rows, *(ContainerStatus(name=name) for name in given if name not in there))

    def granted(row: ContainerStatus) -> ContainerStatus:
        if row.name not in given or (known and (row.resources is not None or row.allocated_resources)):
            return row
        now = given[row.name]
        return replace(row, resources=now, allocated_resources=dict(now.requests))

    return tuple(map(granted, every))


def restarts(pod: Pod) -> tuple[str, ...]:
    """The containers that restart when the pod is resized, by their `resizePolicy` (`computePodResizeAction`)."""
    before = {each.name: each for each in allocated(pod).spec.containers}
    return tuple(each.name for each in pod.spec.containers if _restarts(each, before[each.name].resources))


def _restarts(container: Container, before: ResourceRequirements) -> bool:
    policies = {each.resource_name: each.restart_policy for each in container.resize_policy}
    now = container.resources
    return any(
        policies.get(name) == _RESTART
        and any(
            resource_nanos(one).get(name, 0) != resource_nanos(other).get(name, 0)
            for one, other in ((now.requests, before.requests), (now.limits, before.limits))
        )
        for name in RESIZABLE
    )


def change_of(pod: Pod) -> str:
    """The change of its requests: `cpu 1500m to 7`; "" if only limits change."""
    now, before = pod_requests(pod), pod_requests(allocated(pod))
    texts = [
        f"{name} {_written(name, before.get(name, 0))} to {_written(name, now.get(name, 0))}"
        for name in RESIZABLE
        if now.get(name, 0) != before.get(name, 0)
    ]
    return ", ".join(texts)


def _written(name: str, nanos: int) -> str:
    if name == MEMORY:
        whole = nanos // 1_000_000_000
        return f"{whole >> 20}Mi" if whole % (1 << 20) == 0 else str(whole)
    milli = milli_value(nanos)
    return f"{milli}m" if milli % 1000 else str(milli // 1000)
