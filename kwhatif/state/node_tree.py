"""The order in which the scheduler walks nodes: round robin over zones (`backend/cache/node_tree.go`)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, zip_longest

from kwhatif.kube.model.node import REGION, ZONE, Node

_REGION = ("failure-domain.beta.kubernetes.io/region", REGION)
_ZONE = ("failure-domain.beta.kubernetes.io/zone", ZONE)

Zone = tuple[str, str]


def _label(node: Node, keys: tuple[str, str]) -> str:
    beta, stable = keys
    labels = node.metadata.labels
    return labels[beta] if beta in labels else labels.get(stable, "")


def zone_of(node: Node) -> Zone:
    """Region and zone; the beta labels win where they exist (`component-helpers/node/topology`)."""
    return _label(node, _REGION), _label(node, _ZONE)


class NodeTree:
    """Names of nodes by zone. Zones are in the order of their first node, nodes in the order of their addition."""

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        self._zones: dict[Zone, dict[str, None]] = {}
        for node in nodes:
            self.add(node)

    def add(self, node: Node) -> None:
        """Add the node last in its zone, and a new zone after all others; an existing node keeps its place."""
        self._zones.setdefault(zone_of(node), {})[node.metadata.name] = None

    def remove(self, node: Node) -> bool:
        """Remove the node, and its zone if that becomes empty; returns whether the node was there."""
        zone = zone_of(node)
        names = self._zones.get(zone, {})
        if node.metadata.name not in names:
            return False
        del names[node.metadata.name]
        if not names:
            del self._zones[zone]
        return True

    def update(self, before: Node, after: Node) -> bool:
        """Move the node if its zone has changed: remove it and add it; returns whether it has moved."""
        if zone_of(before) == zone_of(after):
            return False
        self.remove(before)
        self.add(after)
        return True

    def names(self) -> list[str]:
        """The first node of every zone, then the second of every zone, and so on."""
        rounds = zip_longest(*self._zones.values())
        return list(filter(None, chain.from_iterable(rounds)))

    def copy(self) -> NodeTree:
        """An independent tree."""
        other = NodeTree()
        other._zones = {zone: names.copy() for zone, names in self._zones.items()}
        return other
