"""`Assigned`: the pods of a state by the name of their node, whether or not there is such a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo


class Assigned:
    """Where indexes find the pods that nobody has asked about yet."""

    __slots__ = ("nodes", "strays")

    def __init__(self, nodes: Sequence[NodeInfo], strays: Mapping[str, Sequence[PodInfo]]) -> None:
        self.nodes = nodes
        #: Pods on nodes that do not exist, by the node's name.
        self.strays = strays

    def __iter__(self) -> Iterator[tuple[str, Sequence[PodInfo]]]:
        """Each node's name, and its pods."""
        for node in self.nodes:
            yield node.name, node.pods
        yield from self.strays.items()

    def with_affinity(self) -> Iterator[tuple[str, Sequence[PodInfo]]]:
        """The same, but of the nodes only the pods with affinity."""
        for node in self.nodes:
            yield node.name, node.with_affinity
        yield from self.strays.items()


class PodsOfNamespace(NamedTuple):
    """Pods, and beside them the names of their nodes.

    Two flat lists: a hundred thousand pairs would keep the garbage collector busy for longer than all the rest takes.
    """

    pods: list[PodInfo]
    node_names: list[str]


def of_namespace(found: dict[str, PodsOfNamespace], namespace: str) -> PodsOfNamespace:
    """Those that were found of the namespace, to which more can be added."""
    known = found.get(namespace)
    if known is None:
        known = found[namespace] = PodsOfNamespace([], [])
    return known


def count(counts: dict[str, int], node_name: str, amount: int) -> None:
    """So many more pods on the node; one without any is not in the counts."""
    number = counts.get(node_name, 0) + amount
    if number:
        counts[node_name] = number
    else:
        del counts[node_name]
