"""`Snapshot`: all nodes with their pods, at one moment (`pkg/scheduler/backend/cache/snapshot.go`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from kwhatif.model.cluster import Cluster
from kwhatif.model.node import Node
from kwhatif.model.pod import Pod, is_terminal
from kwhatif.snapshot.images import image_states, images_on
from kwhatif.snapshot.node_info import NodeInfo
from kwhatif.snapshot.order import in_zone_order
from kwhatif.snapshot.pod_index import PodIndex
from kwhatif.snapshot.pod_info import PodInfo
from kwhatif.snapshot.shapes import Shapes


class Snapshot:
    """Nodes in the scheduler's order, the pods on them, and the pods nominated to them.

    A cycle reads it and never changes it. Between cycles `assume` and `forget` move it on, as binding and
    deletion would. Objects that plugins look up (claims, namespaces, budgets…) are in `cluster`.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        nodes = list(in_zone_order(cluster.all(Node).values()))
        self.shapes = Shapes(nodes)
        self.nodes = [NodeInfo(node, self.shapes.number(node)) for node in nodes]
        self.by_name = {node.name: node for node in self.nodes}
        #: Live pods by key, wherever they are (also on nodes that are not in the cluster).
        self.pods: dict[str, PodInfo] = {}
        #: Pods that wait for a node, in the cluster's order.
        self.pending: dict[str, PodInfo] = {}
        #: Pods nominated to a node, in the order of nomination; kept by the queue's nominator upstream.
        self.nominated: dict[str, list[PodInfo]] = {}
        #: Pods assigned to nodes that do not exist.
        self.stray: list[PodInfo] = []
        #: Whether many pods will be asked about: then nodes keep what preemption found there, at the price of memory.
        #: A node may belong to several snapshots. What one of them keeps is not for the others: it is kept under this.
        self.remembers: object | None = None
        self._index: PodIndex | None = None
        self._used_claims: Counter[str] | None = None
        #: Nodes whose NodeInfo another snapshot has as well: it is cloned before it is changed.
        self._shared: set[str] = set()
        #: Where the nodes are in `nodes`, by name.
        self._places = {node.name: place for place, node in enumerate(self.nodes)}
        #: All images that any node has, by name.
        self.images = image_states(cluster.all(Node).values())
        for node in self.nodes:
            node.images = images_on(node.node, self.images)
        self._load(cluster.all(Pod).values())

    def _load(self, pods: Iterable[Pod]) -> None:
        for pod in pods:
            if is_terminal(pod):
                continue
            info = PodInfo(pod)
            self.pods[info.key] = info
            if pod.spec.node_name:
                self._place(info, pod.spec.node_name)
                continue
            self.pending[info.key] = info
            if pod.status.nominated_node_name:
                self.nominate(info, pod.status.nominated_node_name)

    def assume(self, pod: PodInfo, node_name: str) -> None:
        """Place the pod on the node, as if it were bound: it is no longer pending nor nominated."""
        self.pods[pod.key] = pod
        self.pending.pop(pod.key, None)
        if pod.pod.status.nominated_node_name:
            self.drop_nomination(pod)
        self._place(pod, node_name)

    def _place(self, pod: PodInfo, node_name: str) -> None:
        node = self.by_name.get(node_name)
        if node is None:
            self.stray.append(pod)
            return
        if self._shared:
            node = self._own(node_name)
        node.add_pod(pod)
        if self._index is not None:
            self._index.add(pod, node_name)
        if self._used_claims is not None:
            self._count_claims(pod, 1)

    def _count_claims(self, pod: PodInfo, amount: int) -> None:
        if self._used_claims is not None:
            for name in pod.claim_names:
                self._used_claims[f"{pod.namespace}/{name}"] += amount

    def forget(self, pod: PodInfo, node_name: str) -> None:
        """Take the pod off the node and out of the cluster.

        Raises:
            KeyError: when the pod is not on that node.
        """
        self._own(node_name).remove_pod(pod)
        self._unlist(pod, node_name)

    def _own(self, node_name: str) -> NodeInfo:
        """The node, ready to be changed."""
        node = self.by_name[node_name]
        if node_name in self._shared:
            node = node.clone()
            self._replace(node)
        return node

    def _replace(self, node: NodeInfo) -> None:
        """Take this NodeInfo for the node; nobody else has it."""
        self._shared.discard(node.name)
        self.nodes[self._places[node.name]] = self.by_name[node.name] = node

    def _unlist(self, pod: PodInfo, node_name: str) -> None:
        if self._index is not None:
            self._index.remove(pod, node_name)
        del self.pods[pod.key]
        self._count_claims(pod, -1)

    def nominate(self, pod: PodInfo, node_name: str) -> None:
        """Reserve room on the node for the pod, in place of an earlier nomination."""
        self.drop_nomination(pod)
        self.nominated.setdefault(node_name, []).append(pod)

    def drop_nomination(self, pod: PodInfo) -> None:
        """Clear the pod's nomination, if it has one."""
        for node_name, pods in list(self.nominated.items()):
            kept = [other for other in pods if other.uid != pod.uid]
            if len(kept) != len(pods):
                self.nominated[node_name] = kept

    @property
    def index(self) -> PodIndex:
        """The pods on nodes, by labels and by affinity terms."""
        if self._index is None:
            self._index = PodIndex(self.nodes)
        return self._index

    @property
    def used_claims(self) -> Counter[str]:
        """`namespace/claim` -> number of pods on nodes that use it (`PVCRefCounts`)."""
        if self._used_claims is None:
            self._used_claims = Counter()
            for node in self.nodes:
                for pod in node.pods:
                    self._count_claims(pod, 1)
        return self._used_claims

    def nodes_where(self, holds: Callable[[NodeInfo], object]) -> Iterator[NodeInfo]:
        """The nodes for which `holds` is true, in order."""
        return (node for node in self.nodes if holds(node))

    def fork(self) -> Snapshot:
        """An independent snapshot; nodes are shared until one of the two moves a pod there."""
        other = Snapshot.__new__(Snapshot)
        other.cluster = self.cluster.fork()
        other.shapes = self.shapes
        other.images = self.images
        other.nodes = self.nodes.copy()
        other.by_name = self.by_name.copy()
        other.pods = self.pods.copy()
        other.pending = self.pending.copy()
        other.nominated = {name: pods.copy() for name, pods in self.nominated.items()}
        other._used_claims = None if self._used_claims is None else self._used_claims.copy()
        other.stray = self.stray.copy()
        other.remembers = self.remembers and object()
        other._index = None if self._index is None else self._index.fork(other.nodes)
        other._places = self._places
        self._shared = set(self.by_name)
        other._shared = set(self.by_name)
        return other

    def withdraw(self, key: str) -> bool:
        """Take the pod of that key out, as if it had never been there; whether a cycle could notice.

        For good, where `without` is for a while.
        """
        pod = self.pods.get(key)
        if pod is None:
            return False
        self.drop_nomination(pod)
        if pod.pod.spec.node_name in self.by_name:
            self._detach(pod, pod.pod.spec.node_name)
            return True
        del self.pods[key]
        self.pending.pop(key, None)
        return bool(pod.pod.status.nominated_node_name)

    def wait(self, pod: PodInfo, node_name: str = "") -> None:
        """The pod stays pending, nominated to the node if one is named."""
        self.pods[pod.key] = self.pending[pod.key] = pod
        if node_name:
            self.nominate(pod, node_name)

    @contextmanager
    def without(self, key: str) -> Iterator[None]:
        """For the duration, the pod of that key is not there: a candidate replaces its namesake."""
        pod = self.pods.get(key)
        if pod is None:
            yield
            return
        node_name = pod.pod.spec.node_name
        nominated = {name: list(pods) for name, pods in self.nominated.items()}
        self.drop_nomination(pod)
        if node_name in self.by_name:
            before = self._detach(pod, node_name)
            yield
            self._reattach(pod, node_name, before)
        else:
            del self.pods[key]
            pending = self.pending.pop(key, None)
            yield
            self.pods[key] = pod
            if pending is not None:
                self.pending[key] = pod
        self.nominated = nominated

    def _detach(self, pod: PodInfo, node_name: str) -> NodeInfo:
        """Take the pod off its node, as if it had never been there; the returned NodeInfo is the node as it was.

        Not by removal: that would free ports which another pod holds as well, and change the order of the others.
        """
        before = self.by_name[node_name]
        bare = NodeInfo(before.node, before.shape)
        bare.images = before.images
        for other in before.pods:
            if other is not pod:
                bare.add_pod(other)
        self._unlist(pod, node_name)
        self._replace(bare)
        return before

    def _reattach(self, pod: PodInfo, node_name: str, before: NodeInfo) -> None:
        self._replace(before)
        self._shared.add(node_name)  # perhaps it is
        if self._index is not None:
            self._index.add(pod, node_name)
        self.pods[pod.key] = pod
        self._count_claims(pod, 1)
