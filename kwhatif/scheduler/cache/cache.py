"""`Cache`: what the scheduler knows about nodes and the pods on them (`pkg/scheduler/backend/cache/cache.go`).

A pod is unknown, assumed (the scheduler has decided, the API server has not confirmed it) or added. Up to Kubernetes
1.35 an assumed pod could expire after its binding had finished; since 1.36 it stays until it is confirmed or
forgotten, so there is neither a `FinishBinding` nor a clock.

Pods are identified by UID, because two pods may have the same name; a hand-written pod without UID by its key.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.scheduler.cache.cached_node import CachedImages, CachedNode
from kwhatif.scheduler.cache.snapshot import Snapshot
from kwhatif.state.node_tree import NodeTree, zone_of
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.shapes import Shapes
from kwhatif.state.state import State


class CacheCorruptedError(Exception):
    """An event has a pod on another node than the cache: kube-scheduler exits in this case."""


class Cache:
    """Nodes and pods, changed by events.

    Methods return the text of upstream's error, or None on success. The scheduler logs most errors and goes on. Unless
    stated otherwise, an error leaves the cache unchanged.
    """

    def __init__(self, state: State | None = None) -> None:
        """Start with the nodes of a state and the pods assigned to them; nodes are shared, the state never changes."""
        #: The last changed node is at the end.
        self._nodes: dict[str, CachedNode] = {}
        self._images = CachedImages()
        self._pods: dict[str, PodInfo] = {}
        self._assumed: set[str] = set()
        if state is None:
            self._tree, self._shapes = NodeTree(), Shapes(frozenset())
            return
        # From now on neither side changes a shared NodeInfo in place.
        state.fork()
        nodes = state.cluster.all(Node).values()
        self._tree, self._shapes = NodeTree(nodes), state.shapes
        for node in nodes:
            self._images.add(node)
        for info in sorted(state.nodes, key=lambda info: info.generation):
            self._nodes[info.name] = CachedNode(info, real=True)
            self._pods |= {pod.uid: pod for pod in info.pods}
        for pods in state.strays.values():
            for pod in pods:
                self._add(pod)

    # --- reading -------------------------------------------------------------------------------------

    @property
    def nodes(self) -> Mapping[str, CachedNode]:
        """All nodes by name, including imaginary ones; the last changed node is at the end."""
        return self._nodes

    @property
    def images(self) -> CachedImages:
        """The images of all nodes."""
        return self._images

    @property
    def pods(self) -> Mapping[str, PodInfo]:
        """The pods on nodes by UID, including assumed ones (`GetPod`)."""
        return self._pods

    @property
    def assumed(self) -> AbstractSet[str]:
        """UIDs of the assumed pods (`IsAssumedPod`)."""
        return self._assumed

    def update_snapshot(self, snapshot: Snapshot) -> str | None:
        """Update a snapshot of this cache at the start of a cycle; only changed nodes are copied.

        If the snapshot's list and the tree still differ in length then, the list is rebuilt, and that is an error.
        """
        return snapshot.update(self._nodes, self._tree, self._images)

    # --- pods ----------------------------------------------------------------------------------------

    def assume_pod(self, pod: Pod) -> str | None:
        """Put the pod on the node of its `spec.nodeName`, as the scheduler has decided, until that is confirmed."""
        info = PodInfo(pod)
        if info.uid in self._pods:
            return f"pod {_name(info)} is in the cache, so can't be assumed"
        self._add(info)
        self._assumed.add(info.uid)
        return None

    def forget_pod(self, pod: Pod) -> str | None:
        """Remove an assumed pod, because binding has failed. It is not an error if the pod is unknown."""
        info = PodInfo(pod)
        there = self._pods.get(info.uid)
        if there is None:
            return None
        if _node(there) != _node(info):
            return f"pod {_name(info)} was assumed on {_node(info)} but assigned to {_node(there)}"
        if info.uid not in self._assumed:
            return f"pod {_name(info)} wasn't assumed so cannot be forgotten"
        self._remove(there)
        return None

    def add_pod(self, pod: Pod) -> str | None:
        """Add a pod with a node; this confirms an assumed pod, even on another node than assumed."""
        info = PodInfo(pod)
        there = self._pods.get(info.uid)
        if there is not None and info.uid not in self._assumed:
            return f"pod {_name(info)} was already in added state"
        if there is not None:
            self._remove(there)
        self._add(info)
        return None

    def update_pod(self, before: Pod, after: Pod) -> str | None:
        """Update a pod on a node. It becomes the last pod of its node, whatever has changed.

        It may have another UID, if a pod with the same name replaced it before watching was restarted.

        Raises:
            CacheCorruptedError: the pod is on another node than before.
        """
        old, info = PodInfo(before), PodInfo(after)
        there = self._pods.get(old.uid)
        if there is None:
            return f"pod {_name(old)} is not added to scheduler cache, so cannot be updated"
        if old.uid in self._assumed:
            return f"assumed pod {_name(old)} should not be updated"
        if _node(there) != _node(info):
            raise CacheCorruptedError(f"pod {_name(old)} is on {_node(there)}, and now said to be on {_node(info)}")
        self._remove(there)
        self._add(info)
        return None

    def remove_pod(self, pod: Pod) -> str | None:
        """Remove a pod that was deleted or has finished.

        Raises:
            CacheCorruptedError: the pod has another node; it may have none.
        """
        info = PodInfo(pod)
        there = self._pods.get(info.uid)
        if there is None:
            return f"pod {_name(info)} is not found in scheduler cache, so cannot be removed from it"
        if _node(info) not in ("", _node(there)):
            raise CacheCorruptedError(f"pod {_name(info)} is on {_node(there)}, and now said to be on {_node(info)}")
        self._remove(there)
        return None

    def _add(self, pod: PodInfo) -> None:
        name = _node(pod)
        cached = self._nodes.pop(name, None) or CachedNode.imaginary(name)
        cached.add_pod(pod)
        self._nodes[name] = cached
        self._pods[pod.uid] = pod

    def _remove(self, pod: PodInfo) -> None:
        cached = self._nodes.pop(_node(pod))
        cached.remove_pod(pod)
        if cached.real or cached.info.pods:
            self._nodes[cached.info.name] = cached
        del self._pods[pod.uid]
        self._assumed.discard(pod.uid)

    # --- nodes ---------------------------------------------------------------------------------------

    def add_node(self, node: Node) -> None:
        """Add a node. Pods that are already, or still, assigned to it are on it."""
        self._tree.add(node)
        self._set_node(node)

    def update_node(self, before: Node, after: Node) -> None:
        """Update a node."""
        if after.metadata.name not in self._nodes:
            self._tree.add(after)
        self._tree.update(before, after)
        self._set_node(after)

    def _set_node(self, node: Node) -> None:
        name = node.metadata.name
        cached = self._nodes.pop(name, None) or CachedNode.imaginary(name)
        if cached.node is not None:
            self._images.remove(cached.node)
        self._images.add(node)
        cached.set_node(node, self._shapes.number(node))
        self._nodes[name] = cached

    def remove_node(self, node: Node) -> str | None:
        """Remove a node. It becomes imaginary until its last pod is removed.

        It is an error if the tree does not have the node in the zone of its labels, but it is removed nevertheless.
        """
        name = node.metadata.name
        cached = self._nodes.pop(name, None)
        if cached is None:
            return f"node {name} is not found"
        cached.remove_node()
        if cached.info.pods:
            self._nodes[name] = cached
        if not self._tree.remove(node):
            return f"node {_quoted(name)} in group {_quoted(_zone_key(node))} was not found"
        self._images.remove(node)
        return None


def _node(pod: PodInfo) -> str:
    return pod.pod.spec.node_name


def _name(pod: PodInfo) -> str:
    return f"{pod.uid}({pod.key})"


def _zone_key(node: Node) -> str:
    """The zone of the node (`GetZoneKey`)."""
    region, zone = zone_of(node)
    return f"{region}:\0:{zone}" if region or zone else ""


def _quoted(text: str) -> str:
    """As Go writes `%q`, for names and labels."""
    return '"' + text.replace("\0", r"\x00") + '"'
