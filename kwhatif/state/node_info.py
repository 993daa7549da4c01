"""`NodeInfo`: a node, its pods, and running sums (`pkg/scheduler/framework/types.go`); and shapes of nodes.

A shape is a class of nodes that all rules about the node itself treat the same. A cluster of 5,000 nodes has a few
dozen of them. A filter that reads only what a shape fixes (labels other than the near-unique ones, taints,
`unschedulable`, declared features) runs once per shape, not once per node.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from kwhatif.kube.matching.nodes import HostPort
from kwhatif.kube.matching.requests import PODS, Resources, resource_nanos, to_resources
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.node import HOSTNAME, Node, Taint
from kwhatif.kube.model.quantity import LARGEST_EXACT, value
from kwhatif.state.pod_info import PodInfo


class NodeInfo:
    """A node with its pods and the sums of their requests.

    Mutable, but only `State.apply` may change one that belongs to a state; simulations work on a `clone`.
    """

    __slots__ = (
        "_cut_from",
        "_is_huge",
        "_used_ports",
        "allocatable",
        "allowed_pods",
        "cpu",
        "declared_features",
        "ephemeral",
        "generation",
        "images",
        "labels",
        "memory",
        "memos",
        "name",
        "node",
        "nonzero_cpu",
        "nonzero_memory",
        "owner",
        "pods",
        "scalars",
        "shape",
        "taints",
        "unschedulable",
    )

    def __init__(self, node: Node, shape: int = 0) -> None:
        self.node = node
        self.name = node.metadata.name
        self.labels: Mapping[str, str] = node.metadata.labels
        self.taints: tuple[Taint, ...] = node.spec.taints
        self.unschedulable = node.spec.unschedulable
        self.declared_features = frozenset(node.status.declared_features)
        #: Nodes of one shape differ only in name, near-unique labels and amounts (`shapes`).
        self.shape = shape
        status = node.status
        listed = status.allocatable_or_capacity
        allocatable = resource_nanos(listed)
        #: Milli-CPU, bytes and scalars that pods may use.
        self.allocatable: Resources = to_resources(allocatable)
        #: `allocatable.pods`; a node without it can run no pods.
        self.allowed_pods = value(allocatable.get(PODS, 0))
        #: Names of its images, if a state counts them; the state has their sizes.
        self.images: AbstractSet[str] = frozenset()
        self.pods: list[PodInfo] = []
        #: Sums over `pods` (`Requested`): milli-CPU, bytes, bytes, and scalars by name.
        self.cpu = 0
        self.memory = 0
        self.ephemeral = 0
        self.scalars: dict[str, int] = {}
        #: Sums with defaults for containers that request nothing (`NonZeroRequested`).
        self.nonzero_cpu = 0
        self.nonzero_memory = 0
        self._is_huge: bool | None = None
        #: Computed on demand: most pods have no host ports, and most preemptors do not need them.
        self._used_ports: set[HostPort] | None = None
        #: The node that this is a copy of, and the pods that were left out: both decide which ports are free.
        self._cut_from: tuple[NodeInfo, Sequence[PodInfo]] | None = None
        #: Changes whenever the node or its pods change; 0 for a clone until a state owns it.
        self.generation = 0
        #: The only owner that may change it; once it is shared, it must not be changed at all.
        self.owner: object = None
        #: Cached results about the node, cleared when its pods change. Keys contain the generation of whatever else
        #: a result depends on, because a node may belong to several states.
        self.memos: dict[Hashable, Any] | None = None

    def add_pod(self, pod: PodInfo) -> None:
        """Append the pod and count it."""
        self.add_pods((pod,))

    def add_pods(self, pods: Sequence[PodInfo]) -> None:
        """Append the pods, in this order, and count them."""
        self.pods += pods
        if self._used_ports is not None:
            self._used_ports.update(*[pod.ports for pod in pods])
        self._count(pods, 1)

    def remove_pod(self, pod: PodInfo) -> None:
        """Remove the pod with the same UID; the last pod takes its place, as in upstream's slices.

        Raises:
            KeyError: the pod is not on the node.
        """
        if pod.ports:
            self.used_ports()
        pods, index = self.pods, self._index_of(pod)
        present, pods[index] = pods[index], pods[-1]
        pods.pop()
        if present.ports:
            # QUIRK: (types.go, HostPortInfo) a port that two pods use is free as soon as one of them is removed.
            self.used_ports().difference_update(present.ports)
        self._count((present,), -1)

    def _index_of(self, pod: PodInfo) -> int:
        """The index in `pods` of the pod, or of the one with its UID."""
        pods = self.pods
        if pods and pods[-1] is pod:
            return len(pods) - 1
        try:
            return pods.index(pod)
        except ValueError:
            index = next((at for at, other in enumerate(pods) if other.uid == pod.uid), None)
        if index is None:
            raise KeyError(f"no corresponding pod {pod.name} in pods of node {self.name}")
        return index

    def exchange(self, pod: PodInfo, other: PodInfo) -> bool:
        """Replace the pod by another one with equal requests, without counting again; False: not possible.

        It is not possible if host ports have been computed: see `remove_pod`.
        """
        if pod.pod.spec is not other.pod.spec or pod.resources != other.resources or self._used_ports is not None:
            return False
        self.pods[self.pods.index(pod)] = other
        return True

    def _count(self, pods: Sequence[PodInfo], sign: int) -> None:
        self.memos = self._is_huge = None
        cpu = memory = ephemeral = nonzero_cpu = nonzero_memory = 0
        for pod in pods:  # 100,000 of them when a cluster is loaded
            requested, least_cpu, least_memory = pod.resources
            cpu += requested[0]
            memory += requested[1]
            ephemeral += requested[2]
            nonzero_cpu += least_cpu
            nonzero_memory += least_memory
            for name, amount in requested[3]:
                self.scalars[name] = self.scalars.get(name, 0) + sign * amount
        self.cpu += sign * cpu
        self.memory += sign * memory
        self.ephemeral += sign * ephemeral
        self.nonzero_cpu += sign * nonzero_cpu
        self.nonzero_memory += sign * nonzero_memory

    @property
    def is_huge(self) -> bool:
        """Whether amounts of it are so large that floats do not hold them, and 64 bits not their products."""
        if self._is_huge is None:
            cpu, memory, ephemeral, scalars = self.allocatable
            used = self.nonzero_cpu, self.nonzero_memory, self.ephemeral, *self.scalars.values()
            amounts = cpu, memory, ephemeral, *(amount for _, amount in scalars), *used
            self._is_huge = max(amounts) >= LARGEST_EXACT
        return self._is_huge

    def used_ports(self) -> set[HostPort]:
        """Host ports in use. A set, so equal ports of two pods are one entry, as upstream."""
        if self._used_ports is None:
            before, new = set(), self.pods
            if self._cut_from is not None:
                whole, without = self._cut_from
                gone = set(without)
                # QUIRK: see `remove_pod`
                before = whole.used_ports().difference(*(pod.ports for pod in gone))
                new = [pod for pod in self.pods if pod in gone or pod not in whole.pods]
            self._used_ports = before.union(*(pod.ports for pod in new))
        return self._used_ports

    def clone(self) -> NodeInfo:
        """A copy whose pods and sums can change; the data of the node itself is shared."""
        return self._bare()._take_pods(self)

    def _take_pods(self, other: NodeInfo) -> NodeInfo:
        """Copy the pods and sums of the other."""
        self.pods = other.pods.copy()
        self.cpu, self.memory, self.ephemeral = other.cpu, other.memory, other.ephemeral
        self.nonzero_cpu, self.nonzero_memory = other.nonzero_cpu, other.nonzero_memory
        self.scalars = other.scalars.copy()
        self._used_ports = None if other._used_ports is None else other._used_ports.copy()
        self._cut_from = other._cut_from
        return self

    def with_pods(self, pods: Sequence[PodInfo]) -> NodeInfo:
        """A copy of the node with only these pods, as if it had never had others."""
        other = self._bare()
        other.add_pods(pods)
        return other

    def clone_without(self, pods: Sequence[PodInfo]) -> NodeInfo:
        """A copy without these pods; the others keep their order."""
        other = self._bare()
        if len(pods) < len(self.pods):
            gone = set(pods)
            other.add_pods([pod for pod in self.pods if pod not in gone])
        other._cut_from = self, pods
        return other

    def _bare(self) -> NodeInfo:
        """A copy without any pods."""
        other = NodeInfo.__new__(NodeInfo)
        other.node, other.name, other.labels = self.node, self.name, self.labels
        other.taints, other.unschedulable = self.taints, self.unschedulable
        other.declared_features, other.shape, other.images = self.declared_features, self.shape, self.images
        other.allocatable, other.allowed_pods = self.allocatable, self.allowed_pods
        other.pods = []
        other.cpu = other.memory = other.ephemeral = 0
        other.scalars = {}
        other.nonzero_cpu = other.nonzero_memory = other.generation = 0
        other._used_ports = other._cut_from = other.owner = other.memos = other._is_huge = None
        return other

    def __getstate__(self) -> dict[str, object]:
        """Leave out cached results, and the node that this is a copy of, because the ports are computed."""
        if self._cut_from is not None:
            self.used_ports()
        return {name: getattr(self, name) for name in self.__slots__} | {"memos": None, "_cut_from": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, content in state.items():
            setattr(self, name, content)

    def __repr__(self) -> str:
        """For people and failing tests."""
        return f"NodeInfo({self.name}, {len(self.pods)} pods)"


# --- shapes ------------------------------------------------------------------------------------------

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
        for key, content in node.metadata.labels.items():
            values.setdefault(key, set()).add(content)
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
