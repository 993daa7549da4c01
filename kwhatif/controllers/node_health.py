"""`NodeHealth`: which nodes are unhealthy, and how many nodes of each zone are ready."""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.controllers.node_taints import is_evicting, ready_status
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.node import Node
from kwhatif.state.node_tree import Zone, zone_of

#: The label of nodes that are not counted in their zone.
_EXCLUDED = "node.kubernetes.io/exclude-disruption"

#: Zone -> the number of its nodes that are not ready, and that are ready.
ZoneCounts = Mapping[Zone, tuple[int, int]]


class NodeHealth:
    """Built once for a cluster, and updated when nodes change (`Cluster.derived`)."""

    def __init__(self, cluster: Cluster) -> None:
        self.counts: ZoneCounts = {}
        #: The names of nodes that are not ready, or have a NoExecute taint of this controller.
        self.unwell: Mapping[str, None] = {}
        for node in cluster.all(Node).values():
            self._count(node, 1)

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> NodeHealth:
        """See `Index`."""
        other = NodeHealth.__new__(NodeHealth)
        other.counts, other.unwell = self.counts, self.unwell
        if isinstance(before, Node):
            other._count(before, -1)
        if isinstance(after, Node):
            other._count(after, 1)
        return other

    def _count(self, node: Node, amount: int) -> None:
        ready = ready_status(node) == "True"
        if _EXCLUDED not in node.metadata.labels:
            self.counts = moved(self.counts, zone_of(node), lost=0 if ready else amount, ready=amount if ready else 0)
        name = node.metadata.name
        if amount > 0 and (not ready or is_evicting(node)):
            self.unwell = {**self.unwell, name: None}
        elif amount < 0 and name in self.unwell:
            self.unwell = {other: None for other in self.unwell if other != name}

    def after_losing(self, nodes: list[Node]) -> ZoneCounts:
        """The counts if these nodes, which are ready now, are not ready any more."""
        counts = self.counts
        for node in nodes:
            if _EXCLUDED not in node.metadata.labels:
                counts = moved(counts, zone_of(node), lost=1, ready=-1)
        return counts


def moved(counts: ZoneCounts, zone: Zone, *, lost: int, ready: int) -> ZoneCounts:
    """The counts with these numbers added to the zone; a zone without nodes is dropped."""
    before = counts.get(zone, (0, 0))
    after = before[0] + lost, before[1] + ready
    if after == (0, 0):
        return {other: count for other, count in counts.items() if other != zone}
    return {**counts, zone: after}
