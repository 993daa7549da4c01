"""Image states: size of every image, and how many nodes have it (`pkg/scheduler/backend/cache/cache.go`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kwhatif.kube.model.node import Node
from kwhatif.kube.model.overlay import Overlay


class ImageState(NamedTuple):
    """One image: its size in bytes, and on how many nodes of the cluster it is."""

    size: int
    num_nodes: int


ImageStates = Overlay[str, ImageState]


def images_on(node: Node) -> frozenset[str]:
    """Names of the images of the node, as listed; an image that it lists twice counts once."""
    images = node.status.images
    return frozenset([name for image in images for name in image.names]) if images else _NONE


_NONE: frozenset[str] = frozenset()


def add_images(states: ImageStates, node: Node, mixed: set[str]) -> None:
    """Count the images of a new node. The size of an image is the one reported by the first node that has it.

    The names of images about whose size nodes disagree are added to `mixed`.
    """
    counted = set()
    for image in node.status.images:
        for name in image.names:
            if name not in counted:
                counted.add(name)
                size, number = states.get(name) or (image.size_bytes, 0)
                if size != image.size_bytes:
                    mixed.add(name)
                states.put(name, ImageState(size, number + 1))


def remove_images(states: ImageStates, node: Node) -> None:
    """Uncount the images of a removed node. As upstream, the size is kept until no node has the image."""
    for name in images_on(node):
        size, number = states[name]
        if number > 1:
            states.put(name, ImageState(size, number - 1))
        else:
            states.pop(name)


def sizes_in_order(states: ImageStates, nodes: Iterable[Node], mixed: set[str]) -> None:
    """Give each image about which nodes disagree the size that the first of these nodes says."""
    left = {name for name in mixed if name in states}
    mixed.intersection_update(left)
    for node in nodes:
        if not left:
            return
        for image in node.status.images:
            for name in left.intersection(image.names):
                states.put(name, ImageState(image.size_bytes, states[name].num_nodes))
                left.discard(name)
