"""Shapes: classes of nodes that all rules about the node itself treat the same.

A cluster of 5,000 nodes has a few dozen shapes. A filter that reads only what a shape fixes (labels other than the
near-unique ones, taints, `unschedulable`, declared features) runs once per shape, not once per node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.node import HOSTNAME, Node

#: A label with more distinct values than this share of the nodes is near-unique: each node would get its own shape.
_NEAR_UNIQUE_SHARE = 0.5
#: With fewer nodes than this, only the hostname label counts as near-unique, because sharing shapes would not pay off.
#: The hostname always counts, because thousands of nodes may be added (`--add-nodes-like`).
_MIN_NODES = 8
_UNIQUE = frozenset({HOSTNAME})


def near_unique_keys(nodes: Iterable[Node]) -> frozenset[str]:
    """Label keys with (almost) a different value on every node, such as `kubernetes.io/hostname`."""
    values: dict[str, set[str]] = {}
    count = 0
    for node in nodes:
        count += 1
        for key, value in node.metadata.labels.items():
            values.setdefault(key, set()).add(value)
    if count < _MIN_NODES:
        return _UNIQUE
    limit = max(count * _NEAR_UNIQUE_SHARE, 1)
    return frozenset(key for key, distinct in values.items() if len(distinct) > limit)


class Shapes:
    """Numbers of shapes, assigned when a shape is first seen. A state and its forks share them."""

    def __init__(self, unfixed: frozenset[str]) -> None:
        #: Labels that are not part of a shape: a rule that reads one of them must run per node. Nodes that are added
        #: later do not change this set: it affects only speed.
        self.unfixed = unfixed
        self._numbers: dict[object, int] = {}

    def number(self, node: Node) -> int:
        """The shape of the node."""
        unfixed = self.unfixed
        labels = frozenset(item for item in node.metadata.labels.items() if item[0] not in unfixed)
        shape = (labels, node.spec.taints, node.spec.unschedulable, node.status.declared_features)
        return self._numbers.setdefault(shape, len(self._numbers))


class NodesByLabel:
    """Names of nodes by the value of a label. Built once for a cluster, and updated (`Cluster.derived`)."""

    def __init__(self, cluster: Cluster) -> None:
        self._nodes = [(node.metadata.name, node.metadata.labels) for node in cluster.all(Node).values()]
        #: The labels requested so far, by key.
        self._by_key: dict[str, Mapping[str | None, Sequence[str]]] = {}

    def of(self, key: str) -> Mapping[str | None, Sequence[str]]:
        """The nodes by the value of the label; None: those without the label."""
        found = self._by_key.get(key)
        if found is None:
            names: dict[str | None, list[str]] = {}
            for name, labels in self._nodes:
                names.setdefault(labels.get(key), []).append(name)
            found = self._by_key[key] = names
        return found

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> NodesByLabel | None:
        """Itself if the node's labels are unchanged."""
        same = before is not None and after is not None and before.metadata.labels == after.metadata.labels
        return self if same else None


def nodes_by_label(cluster: Cluster) -> NodesByLabel:
    """The nodes of the cluster by label."""
    return cluster.derived(NodesByLabel, Node)
