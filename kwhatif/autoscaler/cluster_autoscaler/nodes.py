"""The state of a node for the Cluster Autoscaler: whether it is ready, is being deleted, has GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kwhatif.autoscaler.cluster_autoscaler.flags import Flags
from kwhatif.kube.model.meta import SECOND, parse_time
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.quantity import parse_quantity, value

TO_BE_DELETED = "ToBeDeletedByClusterAutoscaler"
DELETION_CANDIDATE = "DeletionCandidateOfClusterAutoscaler"
SCALE_DOWN_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
#: The maximum time in seconds between a node's deletion mark and its removal (`MaxCloudProviderNodeDeletionTime`).
_DELETION_SECONDS = 5 * 60
_STARTUP_PREFIXES = (
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
    "startup-taint.cluster-autoscaler.kubernetes.io/",
)
_STATUS_PREFIX = "status-taint.cluster-autoscaler.kubernetes.io/"
#: Conditions that, with this status, make a node unready (`GetNodeReadiness` in `utils/kubernetes/ready.go`).
_UNREADY = {"Ready": ("False", "Unknown"), "DiskPressure": ("True",), "NetworkUnavailable": ("True",)}
_UNREADY_TAINTS = frozenset(
    f"node.kubernetes.io/{name}" for name in ("not-ready", "disk-pressure", "network-unavailable")
)
#: Taints for temporary conditions (`NodeConditionTaints` in `utils/taints/taints.go`).
_CONDITION_TAINTS = frozenset(
    {
        *(
            f"node.kubernetes.io/{name}"
            for name in (
                *("not-ready", "unreachable", "unschedulable", "memory-pressure", "disk-pressure"),
                *("network-unavailable", "pid-pressure"),
            )
        ),
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.cloudprovider.kubernetes.io/shutdown",
        "cloud.google.com/impending-node-termination",
        "NodeWithImpairedVolumes",
    }
)
#: In upstream's order (`utils/gpu/gpu.go`).
_GPUS = ("nvidia.com/gpu", "habana.ai/gaudi", "gpu.intel.com/xe", "amd.com/gpu", "microsoft.com/directx")
_GPU_LABELS = (
    *("cloud.google.com/gke-accelerator", "k8s.amazonaws.com/accelerator", "accelerator"),
    "cluster-api/accelerator",
)


class Readiness(NamedTuple):
    """Whether a node is ready, and since when, in nanoseconds since the epoch; 0 if that is not known."""

    ready: bool
    since: int


def readiness(node: Node, flags: Flags) -> Readiness:
    """Whether the node is ready; not while it has a startup taint."""
    conditions = [each for each in node.status.conditions if each.type in _UNREADY]
    ready = (
        any(each.type == "Ready" for each in conditions)
        and not any(each.status in _UNREADY[each.type] for each in conditions)
        and not any(taint.key in _UNREADY_TAINTS or is_startup_taint(taint.key, flags) for taint in node.spec.taints)
        and not _waits_for_gpus(node)
    )
    times = (parse_time(each.last_transition_time) for each in conditions if each.last_transition_time)
    return Readiness(ready, max(times, default=0))


def _waits_for_gpus(node: Node) -> bool:
    """Whether a label says that it has GPUs, but it does not have them yet (`gpu_processor.go`)."""
    labels = node.metadata.labels
    if not any(label in labels for label in _GPU_LABELS):
        return False
    listed = node.status.allocatable_or_capacity
    return not any(parse_quantity(listed.get(name, 0)) for name in _GPUS)


def unready_of(nodes: Iterable[Node], flags: Flags) -> Mapping[str, Node]:
    """The nodes that are not ready, by name."""
    return {node.metadata.name: node for node in nodes if not readiness(node, flags).ready}


def is_halted(unready: Mapping[str, Node], nodes: int, flags: Flags, now: int) -> bool:
    """Whether too many nodes are not ready, so that the autoscaler does nothing at all (`IsClusterHealthy`)."""
    dead = sum(has_started(node, flags, now) for node in unready.values())
    return dead > flags.ok_total_unready_count and dead > flags.max_total_unready_percentage / 100 * nodes


def has_started(node: Node, flags: Flags, now: int) -> bool:
    """Whether it is too old to be still starting: then it will not become ready by itself."""
    created = node.metadata.creation_timestamp
    return created is None or parse_time(created) + flags.max_node_startup_time <= now


def is_startup_taint(key: str, flags: Flags) -> bool:
    """Whether nodes have the taint only while they start."""
    return key in flags.startup_taints or key.startswith((*_STARTUP_PREFIXES, *flags.startup_taint_prefix))


def is_passing_taint(key: str, flags: Flags) -> bool:
    """Whether a new node of the group does not have the taint (`SanitizeTaints`)."""
    return (
        key in (TO_BE_DELETED, DELETION_CANDIDATE)
        or key in _CONDITION_TAINTS
        or is_startup_taint(key, flags)
        or key in flags.status_taint
        or key.startswith(_STATUS_PREFIX)
    )


def is_marked_for_deletion(node: Node) -> bool:
    """Whether the autoscaler has begun to remove it."""
    return any(taint.key == TO_BE_DELETED for taint in node.spec.taints)


def is_being_deleted(node: Node, now: int) -> bool:
    """Whether it was marked for deletion a short time ago (`IsNodeBeingDeleted`); the taint says when, in seconds."""
    for taint in node.spec.taints:
        if taint.key == TO_BE_DELETED:
            since = taint.value
            return since.isdecimal() and now - int(since) * SECOND < _DELETION_SECONDS * SECOND
    return False


def gpu_of(node: Node) -> str | None:
    """The GPU resource of the node (`GetNodeGPUFromCloudProvider`); None if it has no GPUs."""
    listed = node.status.allocatable_or_capacity
    for name in _GPUS:
        if parse_quantity(listed.get(name, 0)):
            return name
    return _GPUS[0] if any(label in node.metadata.labels for label in _GPU_LABELS) else None


def gpu_type(node: Node) -> str:
    """The type of its GPUs, from the cloud's label; "" without such a label."""
    return next((node.metadata.labels[label] for label in _GPU_LABELS if label in node.metadata.labels), "")


def amount_of(resource: str, node: Node) -> int:
    """The node's capacity of this resource, in whole units."""
    return value(parse_quantity(node.status.capacity.get(resource, 0)))
