"""ImageLocality: prefers nodes that already have the pod's images (`plugins/imagelocality/image_locality.go`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from kwhatif.kube.model.pod import PodSpec
from kwhatif.kube.model.quantity import from_float, wrap
from kwhatif.scheduler.framework import signers
from kwhatif.scheduler.framework.filters import ByShape
from kwhatif.scheduler.framework.incremental import SignedScorer
from kwhatif.scheduler.framework.plugin import MAX_NODE_SCORE, NodeScorer, Reads
from kwhatif.scheduler.framework.signers import Fragments
from kwhatif.scheduler.framework.status import Status
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

_MB = 1024 * 1024
#: In bytes: images of this total size or less score 0; images of the second size per container score 100.
_MIN_THRESHOLD = 23 * _MB
_MAX_CONTAINER_THRESHOLD = 1000 * _MB


def normalized_image_name(name: str) -> str:
    """The name, with `:latest` added if it has no tag; a digest counts as a tag."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


def _container_images(spec: PodSpec) -> Iterator[str]:
    """Images of containers; one that is used twice counts twice."""
    for container in (*spec.init_containers, *spec.containers):
        yield normalized_image_name(container.image)


def _images(spec: PodSpec) -> Iterator[str]:
    """Images of containers and of image volumes."""
    yield from _container_images(spec)
    for volume in spec.volumes:
        if volume.image is not None:
            yield normalized_image_name(volume.image.reference)


def image_score(total: int, containers: int) -> int:
    """0 to 100 for the bytes of images on the node, weighted by spread; `containers` sets the size for 100."""
    largest = _MAX_CONTAINER_THRESHOLD * containers
    total = max(total, _MIN_THRESHOLD)
    # A pod always has a container, so `largest` is above the minimum.
    return MAX_NODE_SCORE * (min(total, largest) - _MIN_THRESHOLD) // (largest - _MIN_THRESHOLD)


class _NothingAnywhere(ByShape, NodeScorer):
    reads = Reads.SHAPE

    def score(self, node: NodeInfo) -> int:
        return 0


class _ImagesPresent(SignedScorer):
    reads = Reads.NODE

    def __init__(self, worth: Sequence[tuple[str, int]], containers: int) -> None:
        self._worth = worth
        self.signature = tuple(worth), containers
        self._containers = containers
        self._scores: dict[int, int] = {}

    def score(self, node: NodeInfo) -> int:
        images = node.images
        total = 0
        for name, worth in self._worth:
            if name in images:
                total += worth
        # Each total is the sum of some of the pod's images: there are few sums, and thousands of nodes.
        if total not in self._scores:
            # QUIRK: (image_locality.go) the sizes that a node reports are not limited, so the sum can overflow.
            self._scores[total] = image_score(wrap(total), self._containers)
        return self._scores[total]


class ImageLocality:
    """Scores nodes by the total size of the pod's images on them; an image that is on more nodes counts more."""

    name: ClassVar[str] = "ImageLocality"
    _images = staticmethod(_images)

    def sign(self, pod: PodInfo, state: State) -> Fragments:
        """The containers' images, each once. QUIRK: (image_locality.go, SignPod) without images of image volumes."""
        containers = (*pod.pod.spec.containers, *pod.pod.spec.init_containers)
        return {signers.IMAGE_NAMES: frozenset(normalized_image_name(each.image) for each in containers)}

    def pre_score(self, pod: PodInfo, state: State, nodes: Sequence[NodeInfo]) -> NodeScorer | Status:
        """Never SKIP: the plugin has no PreScore upstream."""
        spec = pod.pod.spec
        states = state.images
        number = len(state.nodes)
        # As upstream: a floating-point division first, then truncation. A difference of one byte can change a score.
        worth = [
            (name, from_float(float(states[name].size) * (states[name].num_nodes / number)))
            for name in self._images(spec)
            if name in states
        ]
        if not worth:
            return _NothingAnywhere()
        return _ImagesPresent(worth, self._count(spec))

    @staticmethod
    def _count(spec: PodSpec) -> int:
        """The number of images that the maximum score is based on. QUIRK: (image_locality.go) without image volumes."""
        return len(spec.init_containers) + len(spec.containers)


class ImageLocalityOfContainers(ImageLocality):
    """The plugin up to 1.35: image volumes do not count."""

    _images = staticmethod(_container_images)


class ImageLocalityOfAll(ImageLocality):
    """The plugin since 1.37: image volumes are counted as well."""

    @staticmethod
    def _count(spec: PodSpec) -> int:
        return sum(1 for _ in _images(spec))
