"""Node groups of the Cluster Autoscaler, and its settings: the expander, and flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from kwhatif.autoscaler.cluster_autoscaler.flags import Flags
from kwhatif.kube.model.node import Node

#: The maximum size of a group without one.
NO_MAXIMUM = 2**31 - 1
DEFAULT_EXPANDER = "least-waste"
#: Those that choose among the options (`expander/expander.go`); `grpc` asks a server.
EXPANDERS = ("random", "most-pods", "least-waste", "least-nodes", "price", "priority", "grpc")


class NodeGroup(msgspec.Struct, frozen=True, kw_only=True):
    """One group: its bounds, the nodes that belong to it, and what a new one looks like."""

    name: str
    minimum: int = 0
    maximum: int = NO_MAXIMUM
    #: How many nodes the cloud is asked for; None: as many as there are.
    target: int | None = None
    nodes: tuple[str, ...] = ()
    #: What a new node looks like where the group has none to copy.
    template: Node | None = None
    #: Of a node, in an hour.
    price: float | None = None
    #: For the expander `priority`: the highest is preferred.
    priority: int | None = None
    #: Whether the file says its bounds.
    has_bounds: bool = True

    @property
    def size(self) -> int:
        """How many nodes the cloud is asked for (`TargetSize`)."""
        return len(self.nodes) if self.target is None else self.target


class NodeGroups(msgspec.Struct, frozen=True, kw_only=True):
    """All groups, by name, and the settings."""

    groups: Sequence[NodeGroup] = ()
    #: In order: what one of them leaves undecided the next one decides. None: not given.
    expander: tuple[str, ...] | None = None
    flags: Flags = Flags()
    #: Flags that would change the answer, and are not modelled.
    unmodelled: tuple[str, ...] = ()

    def of_nodes(self) -> Mapping[str, NodeGroup]:
        """The group of each node that has one, by the node's name (`NodeGroupForNode`)."""
        return {node: group for group in self.groups for node in group.nodes}
