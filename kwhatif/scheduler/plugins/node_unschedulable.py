"""NodeUnschedulable: rejects cordoned nodes (`plugins/nodeunschedulable/node_unschedulable.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kwhatif.kube.matching.nodes import UNSCHEDULABLE_TAINT, tolerated
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.scheduler.framework import signers
from kwhatif.scheduler.framework.events import ActionType, EventResource
from kwhatif.scheduler.framework.evidence import CordonedNode
from kwhatif.scheduler.framework.hints import ClusterEventWithHint, QueueingHint, builtin, is_same_pod, queue_if
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.status import SKIP, SUCCESS, Status, unresolvable
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

CORDONED = unresolvable("node(s) were unschedulable", CordonedNode())


class _NotCordoned(NodeFilter):
    reads = Reads.SHAPE

    def filter(self, node: NodeInfo) -> Status:
        return CORDONED if node.unschedulable else SUCCESS


class NodeUnschedulable:
    """Rejects nodes with `spec.unschedulable`, unless the pod tolerates the taint for it."""

    name: ClassVar[str] = "NodeUnschedulable"

    def pre_filter(self, pod: PodInfo, state: State) -> NodeFilter | Status:
        """SKIP for a pod that tolerates the taint."""
        if tolerated(UNSCHEDULABLE_TAINT, pod.pod.spec.tolerations):
            return SKIP
        return _NotCordoned()

    sign = staticmethod(signers.tolerations)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """A node is added or uncordoned; the pod gets a toleration."""
        node = ActionType.ADD | ActionType.UPDATE_NODE_TAINT
        return (
            builtin(EventResource.NODE, node, _after_node_change),
            builtin(EventResource.POD, ActionType.UPDATE_POD_TOLERATION, _after_toleration_change),
        )


def _after_node_change(_pod: PodInfo, old: Node | None, new: Node, _cluster: Cluster) -> QueueingHint:
    """The node was uncordoned or added."""
    return queue_if(not new.spec.unschedulable and (old is None or old.spec.unschedulable))


def _after_toleration_change(pod: PodInfo, _old: Pod, new: Pod, _cluster: Cluster) -> QueueingHint:
    """The pod itself now tolerates cordoned nodes."""
    return queue_if(is_same_pod(pod, new) and tolerated(UNSCHEDULABLE_TAINT, new.spec.tolerations))
