"""The order in which the scheduler walks nodes: round robin over zones (`backend/cache/node_tree.go`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest

from kwhatif.model.node import Node

_REGION = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
_ZONE = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")


def _label(node: Node, keys: tuple[str, str]) -> str:
    beta, stable = keys
    labels = node.metadata.labels
    return labels[beta] if beta in labels else labels.get(stable, "")


def zone_of(node: Node) -> tuple[str, str]:
    """Region and zone; the beta labels win where they exist (`component-helpers/node/topology`)."""
    return _label(node, _REGION), _label(node, _ZONE)


def in_zone_order(nodes: Iterable[Node]) -> Iterator[Node]:
    """The first node of every zone, then the second of every zone, and so on; zones in order of appearance."""
    zones: dict[tuple[str, str], list[Node]] = {}
    for node in nodes:
        zones.setdefault(zone_of(node), []).append(node)
    rounds = zip_longest(*zones.values())
    return (node for node in chain.from_iterable(rounds) if node is not None)
