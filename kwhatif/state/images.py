"""Image states: size of every image, and how many nodes have it (`pkg/scheduler/backend/cache/cache.go`)."""

from __future__ import annotations

from typing import NamedTuple

from kwhatif.kube.model.node import Node
from kwhatif.kube.model.overlay import Overlay


class ImageState(NamedTuple):
    """One image: its size in bytes, and on how many nodes of the cluster it is."""

    size: int
    num_nodes: int


ImageStates = Overlay[str, ImageState]


def images_on(node: Node) -> frozenset[str]:
    """Names of the images that the node has, as they stand; one that it lists twice still makes it one node."""
    images = node.status.images
    return frozenset([name for image in images for name in image.names]) if images else _NONE


_NONE: frozenset[str] = frozenset()


def add_images(states: ImageStates, node: Node) -> None:
    """The node has come. The size of an image is what the first node said that brought its name in."""
    counted = set()
    for image in node.status.images:
        for name in image.names:
            if name not in counted:
                counted.add(name)
                size, number = states.get(name) or (image.size_bytes, 0)
                states.put(name, ImageState(size, number + 1))


def remove_images(states: ImageStates, node: Node) -> None:
    """The node is gone. The size stays, as upstream's does, until no node has the image any more."""
    for name in images_on(node):
        size, number = states[name]
        if number > 1:
            states.put(name, ImageState(size, number - 1))
        else:
            states.pop(name)
