"""A node of the cache, and the states of all images (`pkg/scheduler/backend/cache/cache.go`)."""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.kube.model.generation import next_generation
from kwhatif.kube.model.meta import AnnotatedMeta
from kwhatif.kube.model.node import Node
from kwhatif.state.images import ImageState, images_on
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo


class CachedNode:
    """An item of the cache's list of nodes.

    `info` may be shared with a state and with snapshots; then it is copied before it changes.
    """

    __slots__ = ("generation", "info", "owned", "real")

    def __init__(self, info: NodeInfo, *, real: bool) -> None:
        self.info = info
        #: Whether the node exists. A node that does not exist is kept while pods are assigned to it ("imaginary").
        self.real = real
        #: Whether `info` is not shared.
        self.owned = False
        self.generation = info.generation

    @classmethod
    def imaginary(cls, name: str) -> CachedNode:
        """A node of which only the name is known."""
        return cls(NodeInfo(Node(metadata=AnnotatedMeta(name=name))), real=False)

    @property
    def node(self) -> Node | None:
        """The node, if it exists."""
        return self.info.node if self.real else None

    def set_node(self, node: Node, shape: int) -> None:
        """Replace the node object; its pods and their sums stay."""
        self.info = self.info.with_node(node, shape)
        self.info.images = images_on(node)
        self.real = self.owned = True
        self.touch()

    def remove_node(self) -> None:
        """Mark the node as removed."""
        self.real = False
        self.generation = next_generation()

    def add_pod(self, pod: PodInfo) -> None:
        """Add the pod at the end."""
        self._own().add_pod(pod)
        self.touch()

    def remove_pod(self, pod: PodInfo) -> None:
        """Remove the pod; the last pod takes its place."""
        self._own().remove_pod(pod)
        self.touch()

    def share(self) -> NodeInfo:
        """The current `info`, which will not change any more."""
        self.owned = False
        return self.info

    def touch(self) -> None:
        """Give the node a new generation, because it or its pods have changed."""
        self.generation = self.info.generation = next_generation()

    def _own(self) -> NodeInfo:
        if not self.owned:
            self.info, self.owned = self.info.clone(), True
        return self.info


class CachedImages:
    """Which nodes have which image. Nodes are counted by name, so an image listed twice counts once."""

    def __init__(self) -> None:
        #: Name of the image -> its size in bytes, as reported by its first node, and the names of its nodes.
        self._images: dict[str, tuple[int, set[str]]] = {}

    def add(self, node: Node) -> None:
        """Add the images of the node."""
        for image in node.status.images:
            for name in image.names:
                self._images.setdefault(name, (image.size_bytes, set()))[1].add(node.metadata.name)

    def remove(self, node: Node) -> None:
        """Remove the images of the node. An image without nodes is dropped, with its size."""
        for name in images_on(node):
            nodes = self._images.get(name, (0, set[str]()))[1]
            nodes.discard(node.metadata.name)
            if not nodes:
                self._images.pop(name, None)

    def of(self, info: NodeInfo) -> Mapping[str, ImageState]:
        """The images of the node, with their current sizes and numbers of nodes."""
        return {name: ImageState(self._images[name][0], len(self._images[name][1])) for name in info.images}
