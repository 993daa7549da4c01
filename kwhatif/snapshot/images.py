"""Image states: size of every image, and how many nodes have it (`pkg/scheduler/backend/cache/cache.go`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kwhatif.model.node import Node
from kwhatif.snapshot.node_info import ImageState


def image_states(nodes: Iterable[Node]) -> dict[str, ImageState]:
    """All images of the cluster, by name; names are taken as they stand.

    The size is what the first node said that brought the name in: `nodes` come in the API server's order, in which
    the scheduler learns of them.
    """
    sizes: dict[str, int] = {}
    holders: dict[str, int] = {}
    for node in nodes:
        # A name that a node lists twice still makes it one node.
        for name in {name: None for image in node.status.images for name in image.names}:
            holders[name] = holders.get(name, 0) + 1
        for image in node.status.images:
            for name in image.names:
                sizes.setdefault(name, image.size_bytes)
    return {name: ImageState(sizes[name], count) for name, count in holders.items()}


def images_on(node: Node, states: Mapping[str, ImageState]) -> dict[str, ImageState]:
    """The states of the images that the node has."""
    return {name: states[name] for image in node.status.images for name in image.names}
