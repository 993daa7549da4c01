"""`Nodes`: the nodes of a state in the scheduler's order, by name, index and shape; each is copied on write.

Follows `pkg/scheduler/backend/cache/cache.go` (image states) and `node_tree.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

from kwhatif.kube.model.cluster import KubernetesObject, list_order, next_generation
from kwhatif.kube.model.node import REGION, ZONE, Node
from kwhatif.kube.model.overlay import Overlay
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.state.change import Touched
from kwhatif.state.node_info import NodeInfo, Shapes, near_unique_keys
from kwhatif.state.pod_info import PodInfo


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


_REGION = ("failure-domain.beta.kubernetes.io/region", REGION)
_ZONE = ("failure-domain.beta.kubernetes.io/zone", ZONE)

Zone = tuple[str, str]


def _label(node: Node, keys: tuple[str, str]) -> str:
    beta, stable = keys
    labels = node.metadata.labels
    return labels[beta] if beta in labels else labels.get(stable, "")


def zone_of(node: Node) -> Zone:
    """Region and zone; the beta labels win where they exist (`component-helpers/node/topology`)."""
    return _label(node, _REGION), _label(node, _ZONE)


def images_differ(before: KubernetesObject | None, after: KubernetesObject | None) -> bool:
    """Whether the node, which stays where it is, has other images: the size of an image is the first node's."""
    return isinstance(before, Node) and isinstance(after, Node) and before.status.images != after.status.images


def moves(before: KubernetesObject | None, after: KubernetesObject | None) -> bool:
    """Whether the object, or another, would have another place in a list of the API server."""
    if isinstance(before, Node) and isinstance(after, Node):
        return zone_of(before) != zone_of(after)
    if isinstance(before, Pod) and isinstance(after, Pod):
        return before.spec.node_name != after.spec.node_name or is_terminal(before) or is_terminal(after)
    return before is None or isinstance(before, Node)


class NodeTree:
    """The order in which the scheduler walks nodes: round robin over zones.

    Zones are in the order of their first node, nodes in the order of their addition.
    """

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        self._zones: dict[Zone, dict[str, None]] = {}
        for node in nodes:
            self.add(node)

    def add(self, node: Node) -> None:
        """Add the node last in its zone, and a new zone after all others; an existing node keeps its position."""
        self._zones.setdefault(zone_of(node), {})[node.metadata.name] = None

    def remove(self, node: Node) -> bool:
        """Remove the node, and its zone if that becomes empty; returns whether the node was there."""
        zone = zone_of(node)
        names = self._zones.get(zone, {})
        if node.metadata.name not in names:
            return False
        del names[node.metadata.name]
        if not names:
            del self._zones[zone]
        return True

    def update(self, before: Node, after: Node) -> bool:
        """Move the node if its zone has changed: remove it and add it; returns whether it has moved."""
        if zone_of(before) == zone_of(after):
            return False
        self.remove(before)
        self.add(after)
        return True

    def names(self) -> list[str]:
        """The first node of every zone, then the second of every zone, and so on."""
        rounds = zip_longest(*self._zones.values())
        return list(filter(None, chain.from_iterable(rounds)))

    def copy(self) -> NodeTree:
        """An independent tree."""
        other = NodeTree()
        other._zones = {zone: names.copy() for zone, names in self._zones.items()}
        return other


class Nodes:
    """Forks share the list, the tree and each `NodeInfo` until one of them changes it."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        #: The owner of the `NodeInfo`s that are not shared; after a fork all are shared.
        self._mark = object()
        self._tree = NodeTree(nodes.values())
        self.shapes = Shapes(near_unique_keys(nodes.values()))
        self.images: ImageStates = Overlay()
        #: Names of the images about whose size nodes disagree; shared by forks, so it may have too many.
        self._mixed: set[str] = set()
        for node in nodes.values():
            add_images(self.images, node, self._mixed)
        #: The names of `infos`; shared by forks, so never changed in place.
        self._names: Sequence[str] = self._tree.names()
        #: In the scheduler's order: round robin over zones.
        self.infos: list[NodeInfo] = [self._info(nodes[name]) for name in self._names]
        #: The index of each node in `infos`, by name.
        self.index_by_name: dict[str, int] = {name: index for index, name in enumerate(self._names)}
        self._by_name: dict[str, NodeInfo] | None = None
        self._of_shape: Mapping[int, NodeInfo] | None = None
        self._names_and_shapes: tuple[Sequence[str], Sequence[int]] | None = None
        #: The generations of `infos`, shared by forks, and the names of nodes that have another one since.
        self._generations: Sequence[int] | None = None
        self._changed: set[str] = set()
        #: Whether `infos` with `_by_name`, and the tree with the indexes, are not shared with a fork.
        self._owns_infos = self._owns_tree = True

    def _info(self, node: Node) -> NodeInfo:
        info = NodeInfo(node, self.shapes.number(node))
        info.images = images_on(node)
        info.owner = self._mark
        info.generation = next_generation()
        return info

    def fork(self) -> Nodes:
        """An independent copy."""
        other = Nodes.__new__(Nodes)
        self._mark, other._mark = object(), object()
        self._owns_infos = self._owns_tree = other._owns_infos = other._owns_tree = False
        other._tree, other.shapes, other.images = self._tree, self.shapes, self.images.fork()
        other._mixed = self._mixed
        other._names = self._names
        other.infos, other.index_by_name, other._by_name = self.infos, self.index_by_name, self._by_name
        other._of_shape, other._names_and_shapes = self._of_shape, self._names_and_shapes
        other._generations, other._changed = self._generations, self._changed.copy()
        return other

    # --- reading -------------------------------------------------------------------------------------

    def get(self, name: str) -> NodeInfo | None:
        """The node of that name."""
        index = self.index_by_name.get(name)
        return None if index is None else self.infos[index]

    @property
    def by_name(self) -> Mapping[str, NodeInfo]:
        """The nodes by name."""
        found = self._by_name
        if found is None:
            found = self._by_name = {node.name: node for node in self.infos}
        return found

    @property
    def of_shape(self) -> Mapping[int, NodeInfo]:
        """The first node of each shape; its pods may be out of date."""
        if self._of_shape is None:
            self._of_shape = {node.shape: node for node in reversed(self.infos)}
        return self._of_shape

    @property
    def names_and_shapes(self) -> tuple[Sequence[str], Sequence[int]]:
        """The names and shapes of `infos`, in their order."""
        if self._names_and_shapes is None:
            self._names_and_shapes = self._names, [node.shape for node in self.infos]
        return self._names_and_shapes

    @property
    def generations(self) -> Sequence[int]:
        """The generations of `infos`, in their order; the same object as long as there is no other one."""
        known, changed = self._generations, self._changed
        if known is None:
            known = [node.generation for node in self.infos]
        elif changed:
            known = list(known)
            for name in changed & self.index_by_name.keys():
                index = self.index_by_name[name]
                known[index] = self.infos[index].generation
        if changed:
            self._changed = set()
        self._generations = known
        return known

    # --- pods of a node ------------------------------------------------------------------------------

    def own(self, name: str) -> NodeInfo:
        """The node, copied if shared and with a new generation: ready to be changed."""
        node = self.infos[self.index_by_name[name]]
        if node.owner is not self._mark:
            node = node.clone()
            self.replace(node)
            return node
        node.generation = next_generation()
        node.memos = None
        self._changed.add(name)
        return node

    def replace(self, node: NodeInfo) -> None:
        """Replace the node with the same name by this `NodeInfo`, which must not be shared."""
        node.owner = self._mark
        node.generation = next_generation()
        self._changed.add(node.name)
        if not self._owns_infos:
            self.infos, self._owns_infos, self._by_name = self.infos.copy(), True, None
        self.infos[self.index_by_name[node.name]] = node
        if self._by_name is not None:
            self._by_name[node.name] = node

    # --- the nodes themselves ------------------------------------------------------------------------

    def add(self, node: Node, pods: Sequence[PodInfo], touched: Touched) -> NodeInfo:
        """Add a new node with these pods: it is last until `reorder`."""
        self._own_tree()
        info = self._info(node)
        info.add_pods(pods)
        self._tree.add(node)
        add_images(self.images, node, self._mixed)
        self.index_by_name[info.name] = len(self.infos)
        self.infos, self._owns_infos, self._by_name = [*self.infos, info], True, None
        if pods:
            touched.rearranged = True
        else:
            touched.added_nodes.append(info.name)
        return info

    def update(self, before: Node, node: Node, touched: Touched) -> None:
        """Replace the node; it keeps its pods."""
        self._own_tree()
        there = self.infos[self.index_by_name[node.metadata.name]]
        self.replace(self._info(node).with_pods(there.pods))
        if before.status.images != node.status.images:
            remove_images(self.images, before)
            add_images(self.images, node, self._mixed)
        touched.changed_nodes.append((before, node))
        touched.rearranged |= self._tree.update(before, node)

    def remove(self, node: Node, touched: Touched) -> NodeInfo:
        """Remove the node; it stays in `infos` until `reorder`."""
        self._own_tree()
        self._tree.remove(node)
        remove_images(self.images, node)
        touched.rearranged = True
        return self.infos[self.index_by_name.pop(node.metadata.name)]

    def reorder(self) -> None:
        """Put the nodes into the tree's order, which no longer has the removed ones.

        Most keep their index: a new node is near the end, and nodes before a removed one do not move.
        """
        before, names = self._names, self._tree.names()
        kept = _common(before, names)
        others = names[kept:]
        node_at, index_of = self.infos.__getitem__, self.index_by_name.__getitem__
        self.infos, self._owns_infos = [*self.infos[:kept], *map(node_at, map(index_of, others))], True
        self.index_by_name.update(zip(others, range(kept, len(names)), strict=True))
        self._names, self._by_name, self._generations = names, None, None

    def sort(self, nodes: Iterable[Node], touched: Touched) -> None:
        """Put the nodes where they would be if they had been added in this order."""
        self._own_tree()
        self._tree = NodeTree(nodes)
        touched.rearranged = True

    def sort_images(self, nodes: Iterable[Node]) -> None:
        """Give images the sizes that they would have if the nodes had been added in this order."""
        if self._mixed:
            sizes_in_order(self.images, nodes, self._mixed)

    def sort_pods(self, name: str) -> None:
        """Put the pods of the node into the API server's order."""
        self.own(name).pods.sort(key=lambda pod: list_order(pod.key))

    def _own_tree(self) -> None:
        self._of_shape = self._names_and_shapes = None
        if not self._owns_tree:
            self._tree, self._owns_tree = self._tree.copy(), True
            self.index_by_name = self.index_by_name.copy()

    def __getstate__(self) -> dict[str, object]:
        """Leave out cached results."""
        return self.__dict__ | {"_by_name": None, "_of_shape": None, "_names_and_shapes": None}


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the common prefix; comparing slices is faster than comparing single names."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
