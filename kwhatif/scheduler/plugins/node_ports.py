"""NodePorts: the pod's host ports must be free (`plugins/nodeports/node_ports.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kwhatif.kube.matching.nodes import HostPort, conflicts, host_ports
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod
from kwhatif.scheduler.framework import signers
from kwhatif.scheduler.framework.events import ActionType, EventResource
from kwhatif.scheduler.framework.evidence import PortConflict
from kwhatif.scheduler.framework.hints import (
    ClusterEventWithHint,
    HintIndex,
    Keys,
    QueueingHint,
    builtin,
    is_scheduled,
    queue_if,
)
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads, always
from kwhatif.scheduler.framework.status import SKIP, SUCCESS, Status, error, unschedulable
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

REASON = "node(s) didn't have free ports for the requested pod ports"


def _taken(port: HostPort, node: NodeInfo) -> PortConflict:
    """The conflict for this port, with the first pod on the node that uses it."""
    holder = next(pod for pod in node.pods if conflicts(port, pod.ports))
    return PortConflict(port.ip, port.protocol, port.port, holder.key)


class _PortsFree(NodeFilter):
    reads = Reads.PODS

    def __init__(self, wanted: Sequence[HostPort]) -> None:
        self._wanted = wanted

    def filter(self, node: NodeInfo) -> Status:
        used = node.used_ports()
        if not used:
            return SUCCESS
        conflicting = [port for port in self._wanted if conflicts(port, used)]
        if not conflicting:
            return SUCCESS
        return unschedulable(REASON, *(_taken(port, node) for port in conflicting))


class NodePorts:
    """Rejects nodes where a host port of the pod is in use; conflicts within the pod itself are not checked."""

    name: ClassVar[str] = "NodePorts"

    def pre_filter(self, pod: PodInfo, state: State) -> NodeFilter | Status:
        """SKIP for a pod without host ports."""
        return _PortsFree(pod.ports) if pod.ports else SKIP

    #: Filter fails, because it needs PreFilter's state.
    without_pre_filter = always(error('reading "PreFilterNodePorts" from cycleState: not found'))

    sign = staticmethod(signers.host_ports)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """A pod is deleted; a node is added."""
        return (
            builtin(EventResource.POD, ActionType.DELETE, _after_pod_deleted, HintIndex(_ports, _freed_ports)),
            builtin(EventResource.NODE, ActionType.ADD),
        )


def _after_pod_deleted(pod: PodInfo, old: Pod, _new: None, _cluster: Cluster) -> QueueingHint:
    """The deleted pod used a host port that the pod requests."""
    if not is_scheduled(old):
        return QueueingHint.QUEUE_SKIP
    freed = host_ports(old.spec)
    return queue_if(any(conflicts(port, freed) for port in pod.ports))


def _ports(pod: Pod) -> Keys:
    return {(port.protocol, port.port) for port in host_ports(pod.spec)}


def _freed_ports(old: Pod, _new: None, _cluster: Cluster) -> Keys:
    return _ports(old)
