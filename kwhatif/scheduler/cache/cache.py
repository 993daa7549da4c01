"""`Cache`: what the scheduler knows of nodes and of the pods on them (`pkg/scheduler/backend/cache/cache.go`).

A pod is unknown, assumed (the scheduler has decided, the API server has not confirmed it) or added. Up to Kubernetes
1.35 an assumed pod could expire after its binding had finished; since 1.36 it stays until it is confirmed or
forgotten, so there is neither a `FinishBinding` nor a clock.

Pods are known by UID: two pods may have the same name. A hand-written pod without UID is known by its key.
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
    """An event says that a pod is on another node than the cache has it on: here kube-scheduler ends itself."""


class Cache:
    """Nodes and pods as events change them.

    What the cache refuses to do is a value: the text of upstream's error, None if all is well. The scheduler logs most
    of them and goes on. Nothing has changed then, unless something else is said.
    """

    def __init__(self, state: State | None = None) -> None:
        """Begin with the nodes, and the pods assigned to nodes, of a state; it stays as it is, and nodes are shared."""
        #: The one that changed last at the end.
        self._nodes: dict[str, CachedNode] = {}
        self._images = CachedImages()
        self._pods: dict[str, PodInfo] = {}
        self._assumed: set[str] = set()
        if state is None:
            self._tree, self._shapes = NodeTree(), Shapes(frozenset())
            return
        # From now on neither changes a NodeInfo in place that the other may have.
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
        """All nodes by name, imaginary ones included, the one that changed last at the end."""
        return self._nodes

    @property
    def images(self) -> CachedImages:
        """The images of all nodes."""
        return self._images

    @property
    def pods(self) -> Mapping[str, PodInfo]:
        """The pods that are on nodes, by UID, the assumed ones included (`GetPod`)."""
        return self._pods

    @property
    def assumed(self) -> AbstractSet[str]:
        """UIDs of the assumed pods (`IsAssumedPod`)."""
        return self._assumed

    def update_snapshot(self, snapshot: Snapshot) -> str | None:
        """Bring a snapshot of this cache up to date, at the begin of a cycle; only nodes that have changed are copied.

        If the snapshot's list and the tree still differ in length then, it is made anew, and that is an error, too.
        """
        return snapshot.update(self._nodes, self._tree, self._images)

    # --- pods ----------------------------------------------------------------------------------------

    def assume_pod(self, pod: Pod) -> str | None:
        """The scheduler has decided: the pod is on the node of its `spec.nodeName`, subject to confirmation."""
        info = PodInfo(pod)
        if info.uid in self._pods:
            return f"pod {_name(info)} is in the cache, so can't be assumed"
        self._add(info)
        self._assumed.add(info.uid)
        return None

    def forget_pod(self, pod: Pod) -> str | None:
        """Binding has failed: the pod is not on its node. One that is unknown is not an error."""
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
        """A pod with a node has appeared; this confirms an assumed one, even if it is on another node than assumed."""
        info = PodInfo(pod)
        there = self._pods.get(info.uid)
        if there is not None and info.uid not in self._assumed:
            return f"pod {_name(info)} was already in added state"
        if there is not None:
            self._remove(there)
        self._add(info)
        return None

    def update_pod(self, before: Pod, after: Pod) -> str | None:
        """A pod on a node has changed. It comes last on its node from now on, whatever has changed.

        It may have another UID: watching began anew, and meanwhile it was replaced by one of its name.

        Raises:
            CacheCorruptedError: it is on another node than before.
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
        """A pod is gone, or has come to its end.

        Raises:
            CacheCorruptedError: it is said to be on another node; none at all may be said.
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
        """A node has come. Pods that were assigned to it already, or still, are on it."""
        self._tree.add(node)
        self._set_node(node)

    def update_node(self, before: Node, after: Node) -> None:
        """A node has changed."""
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
        """A node is gone. It is imaginary from now on, until the last of its pods goes.

        A node that the tree does not have where its labels say is an error, but is gone nevertheless.
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
    """See `GetZoneKey`."""
    region, zone = zone_of(node)
    return f"{region}:\0:{zone}" if region or zone else ""


def _quoted(text: str) -> str:
    """As Go writes `%q`, for names and labels."""
    return '"' + text.replace("\0", r"\x00") + '"'
