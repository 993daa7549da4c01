"""How much of a node is requested, as the autoscaler counts it (`simulator/utilization/info.go`)."""

from __future__ import annotations

from typing import NamedTuple

from kwhatif.autoscaler.cluster_autoscaler.estimator import allocatable
from kwhatif.autoscaler.cluster_autoscaler.flags import Flags
from kwhatif.autoscaler.cluster_autoscaler.nodes import gpu_of
from kwhatif.autoscaler.cluster_autoscaler.pods import is_daemon, is_long_terminating, is_mirror
from kwhatif.kube.matching.requests import CPU, MEMORY
from kwhatif.kube.model.quantity import milli_value, parse_quantity
from kwhatif.state.node_info import NodeInfo


class Utilization(NamedTuple):
    """The part of the resource that most is requested of; on a node with GPUs, of these."""

    resource: str
    #: 1: all of it.
    part: float
    #: Up to this part a node may be removed.
    threshold: float

    @property
    def is_low(self) -> bool:
        """Whether the node may be removed."""
        return self.part <= self.threshold


def utilization(node: NodeInfo, flags: Flags, now: int) -> Utilization | None:
    """How much of the node is requested; None: it does not say how much cpu, or memory, it has."""
    gpu = gpu_of(node.node)
    if gpu is not None:
        # GPUs that are not ready keep no node.
        return Utilization(gpu, _part(node, gpu, flags, now) or 0.0, flags.scale_down_gpu_utilization_threshold)
    cpu, memory = _part(node, CPU, flags, now), _part(node, MEMORY, flags, now)
    if cpu is None or memory is None:
        return None
    threshold = flags.scale_down_utilization_threshold
    return Utilization(CPU, cpu, threshold) if cpu > memory else Utilization(MEMORY, memory, threshold)


def _part(node: NodeInfo, resource: str, flags: Flags, now: int) -> float | None:
    """Requests over what is allocatable; pods that do not count take their part of that, too."""
    there = milli_value(parse_quantity(allocatable(node.node).get(resource, 0)))
    if not there:
        return None
    requested = ignored = 0
    for info in node.pods:
        amount = _milli(resource, info.resources.requested.of(resource))
        is_ignored = (flags.ignore_daemonsets_utilization and is_daemon(info.pod)) or (
            flags.ignore_mirror_pods_utilization and is_mirror(info.pod)
        )
        if is_ignored:
            ignored += amount
        elif not is_long_terminating(info.pod, now):
            requested += amount
    left = there - ignored
    return requested / left if left else float("inf") if requested else 0.0


def _milli(resource: str, amount: int) -> int:
    return amount if resource == CPU else amount * 1000
