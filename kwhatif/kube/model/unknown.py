"""What an input does not show of its cluster: kinds that nobody asked for, and nodes that pods name.

Of a live cluster all kinds are read, and what is not there does not exist. Of a dump only what is in it is known.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.kube.model.cluster import SYSTEM_PRIORITY_CLASSES, Cluster
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.policy import PriorityClass


def lacks(kind: type, cluster: Cluster) -> bool:
    """Whether the input has no object of that kind, and nothing shows that the cluster has none either.

    That is so of a dump for which the kind was not asked, and of a kind that could not be read.
    """
    if kind.__name__ in cluster.made_up:
        return True
    if any(read_classes(cluster)) if kind is PriorityClass else cluster.all(kind):
        return False
    return kind.__name__ in cluster.unread or not (cluster.is_whole or kind.__name__ in cluster.listed)


def read_classes(cluster: Cluster) -> Iterator[PriorityClass]:
    """The priority classes that were read: two are in every cluster, also where none was."""
    found = cluster.all(PriorityClass).items()
    return (each for name, each in found if each.metadata.uid or name not in SYSTEM_PRIORITY_CLASSES)


def lacks_node(name: str, cluster: Cluster) -> bool:
    """Whether there may be a node of that name that the input lacks: none is in it, and none is known to be gone.

    Where all nodes were asked for, one that is not there is gone.
    """
    return bool(name) and not cluster.is_whole and name not in cluster.gone_nodes and cluster.get(Node, name) is None
