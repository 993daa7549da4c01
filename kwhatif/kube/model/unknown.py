"""What an input does not show of its cluster: kinds that were not read, and nodes that pods refer to.

From a live cluster all kinds are read, so an absent object does not exist. A dump shows only what is in it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.kube.model.cluster import SYSTEM_PRIORITY_CLASSES, Cluster, KubernetesObject
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.policy import PriorityClass


def lacks(kind: type, cluster: Cluster) -> bool:
    """Whether the input has no object of that kind, although the cluster may have some.

    That is so if the dump was made without the kind, or if the kind could not be read.
    """
    if kind.__name__ in cluster.made_up:
        return True
    if any(read_classes(cluster)) if kind is PriorityClass else any(map(_is_itself, cluster.all(kind).values())):
        return False
    return kind.__name__ in cluster.unread or not (cluster.is_whole or kind.__name__ in cluster.listed)


def _is_itself(obj: KubernetesObject) -> bool:
    """Whether it does not stand for a custom resource."""
    return obj.metadata.stands_for is None


def read_classes(cluster: Cluster) -> Iterator[PriorityClass]:
    """The priority classes that were read; the two built-in ones count only if they have a UID."""
    found = cluster.all(PriorityClass).items()
    return (each for name, each in found if each.metadata.uid or name not in SYSTEM_PRIORITY_CLASSES)


def lacks_node(name: str, cluster: Cluster) -> bool:
    """Whether a node of that name may exist that the input lacks: it is not in the input, and not known to be gone.

    If all nodes were read, an absent one is gone.
    """
    return bool(name) and not cluster.is_whole and name not in cluster.gone_nodes and cluster.get(Node, name) is None
