"""NodeName: only the node in `spec.nodeName` passes (`plugins/nodename/node_name.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kwhatif.scheduler.framework import signers
from kwhatif.scheduler.framework.events import ActionType, EventResource
from kwhatif.scheduler.framework.evidence import WrongNode
from kwhatif.scheduler.framework.hints import ClusterEventWithHint, builtin
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.signers import Fragments
from kwhatif.scheduler.framework.status import SKIP, SUCCESS, Status, unresolvable
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


class _OnlyNode(NodeFilter):
    # Upstream has no PreFilter here, so there is no set of node names: each other node is rejected by this filter.
    reads = Reads.NODE

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted
        self._wrong = unresolvable("node(s) didn't match the requested node name", WrongNode(wanted))

    def filter(self, node: NodeInfo) -> Status:
        return SUCCESS if node.name == self._wanted else self._wrong


class _OnlyThatNode(_OnlyNode):
    def __init__(self, wanted: str) -> None:
        super().__init__(wanted)
        self.only_nodes = frozenset({wanted})


class NodeName:
    """Rejects all nodes but the one in `spec.nodeName`."""

    name: ClassVar[str] = "NodeName"
    _filter: ClassVar[type[_OnlyNode]] = _OnlyNode

    def pre_filter(self, pod: PodInfo, state: State) -> NodeFilter | Status:
        """SKIP for a pod without `spec.nodeName`, which is the usual case."""
        wanted = pod.pod.spec.node_name
        return self._filter(wanted) if wanted else SKIP

    def sign(self, pod: PodInfo, state: State) -> Fragments:
        """The node's name."""
        return {signers.NODE_NAME: pod.pod.spec.node_name}

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """A node is added."""
        return (builtin(EventResource.NODE, ActionType.ADD),)


class NodeNameSince137(NodeName):
    """The plugin since 1.37: its PreFilter excludes all other nodes before any filter runs."""

    _filter = _OnlyThatNode
