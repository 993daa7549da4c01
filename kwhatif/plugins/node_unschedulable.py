"""NodeUnschedulable: cordoned nodes (`plugins/nodeunschedulable/node_unschedulable.go`)."""

from __future__ import annotations

from typing import ClassVar

from kwhatif.framework.evidence import CordonedNode
from kwhatif.framework.plugin import NodeFilter, Reads
from kwhatif.framework.status import SKIP, SUCCESS, Status, unresolvable
from kwhatif.matching.tolerations import UNSCHEDULABLE_TAINT, tolerated
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

CORDONED = unresolvable("node(s) were unschedulable", CordonedNode())


class _NotCordoned(NodeFilter):
    reads = Reads.SHAPE

    def filter(self, node: NodeInfo) -> Status:
        return CORDONED if node.unschedulable else SUCCESS


class NodeUnschedulable:
    """Rejects nodes with `spec.unschedulable`, unless the pod tolerates the taint of that name."""

    name: ClassVar[str] = "NodeUnschedulable"

    def pre_filter(self, pod: PodInfo, snapshot: State) -> NodeFilter | Status:
        """SKIP when no node is cordoned or the pod does not mind."""
        if not any(node.spec.unschedulable for node in snapshot.shapes.representatives):
            return SKIP
        if tolerated(UNSCHEDULABLE_TAINT, pod.pod.spec.tolerations):
            return SKIP
        return _NotCordoned()
