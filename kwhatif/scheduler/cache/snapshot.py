"""`Snapshot`: the nodes as a scheduling cycle sees them (`pkg/scheduler/backend/cache/{cache,snapshot}.go`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from kwhatif.scheduler.cache.cached_node import CachedImages, CachedNode
from kwhatif.state.images import ImageState
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.node_tree import NodeTree


class Snapshot:
    """The existing nodes with their pods; `Cache.update_snapshot` updates it.

    Its NodeInfos are shared with the cache, which never changes a shared one. Pod groups are not modelled: their
    feature gate is off by default.
    """

    def __init__(self) -> None:
        """Start empty."""
        #: The highest generation of a node at the last update.
        self.generation = 0
        #: The images by node; their numbers of nodes are from the last update that copied the node.
        self.images: dict[str, Mapping[str, ImageState]] = {}
        self._infos: dict[str, NodeInfo] = {}
        #: The claims that pods use, by node.
        self._claims: dict[str, AbstractSet[str]] = {}
        self._order: list[str] = []
        self._with_affinity: list[str] = []
        self._with_required_anti_affinity: list[str] = []
        self._used_claims: AbstractSet[str] = frozenset()

    # --- reading -------------------------------------------------------------------------------------

    @property
    def nodes(self) -> Sequence[NodeInfo]:
        """The nodes in the scheduler's order: that of the tree when a node was last added or removed.

        QUIRK: (cache.go, UpdateSnapshot) a node that changes its zone keeps its place until then.
        """
        return self._listed(self._order)

    @property
    def with_affinity(self) -> Sequence[NodeInfo]:
        """The nodes that have a pod with inter-pod affinity or anti-affinity."""
        return self._listed(self._with_affinity)

    @property
    def with_required_anti_affinity(self) -> Sequence[NodeInfo]:
        """The nodes that have a pod with required inter-pod anti-affinity."""
        return self._listed(self._with_required_anti_affinity)

    @property
    def used_claims(self) -> AbstractSet[str]:
        """The PersistentVolumeClaims that pods on nodes use, `namespace/name`."""
        return self._used_claims

    def node(self, name: str) -> NodeInfo | None:
        """The node with that name."""
        return self._infos.get(name)

    def _listed(self, names: Iterable[str]) -> Sequence[NodeInfo]:
        return [self._infos[name] for name in names]

    # --- updating ------------------------------------------------------------------------------------

    def update(self, nodes: dict[str, CachedNode], tree: NodeTree, images: CachedImages) -> str | None:
        """Copy what has changed, and rebuild the lists that this affects; see `Cache.update_snapshot`.

        Args:
            nodes: all nodes of the cache, including imaginary ones; the last changed node is at the end.
            tree: the order of the existing nodes.
            images: the images of the existing nodes.
        """
        everything, lists = self._copy_changed(nodes, images)
        if nodes:
            self.generation = next(reversed(nodes.values())).generation
        if len(self._infos) > len(tree):
            self._drop_deleted(nodes, len(self._infos) - len(tree))
            everything = True
        if everything:
            self._order = [name for name in tree.names() if name in self._infos]
        if everything or lists:
            self._make_lists()
        if len(self._order) == len(tree):
            return None
        error = (
            f"snapshot state is not consistent, length of NodeInfoList={len(self._order)} not equal to length of nodes"
            f" in tree={len(tree)} , length of NodeInfoMap={len(self._infos)}, length of nodes in cache={len(nodes)}"
            ", trying to recover"
        )
        self._order = [name for name in tree.names() if name in self._infos]
        self._make_lists()
        return error

    def _copy_changed(self, nodes: dict[str, CachedNode], images: CachedImages) -> tuple[bool, bool]:
        """Returns whether a node is new, and whether the lists of nodes or claims must change."""
        new = lists = False
        for name, cached in reversed(nodes.items()):
            if cached.generation <= self.generation:
                break
            if not cached.real:
                continue
            before, after = self._infos.get(name), cached.share()
            new |= before is None
            claims = _claims(after)
            lists |= before is None or _lists(before) != _lists(after) or self._claims[name] != claims
            self._infos[name], self._claims[name] = after, claims
            self.images[name] = images.of(after)
        return new, lists

    def _drop_deleted(self, nodes: dict[str, CachedNode], number: int) -> None:
        """Drop `number` nodes that no longer exist."""
        gone = [name for name in self._infos if name not in nodes or not nodes[name].real]
        for name in gone[:number]:
            del self._infos[name], self._claims[name]
            del self.images[name]

    def _make_lists(self) -> None:
        nodes = self.nodes
        self._with_affinity = [node.name for node in nodes if node.with_affinity]
        self._with_required_anti_affinity = [node.name for node in nodes if node.with_required_anti_affinity]
        self._used_claims = frozenset[str]().union(*(self._claims[node.name] for node in nodes))


def _claims(node: NodeInfo) -> AbstractSet[str]:
    using = (pod for pod in node.pods if pod.pod.spec.volumes)
    return {f"{pod.namespace}/{name}" for pod in using for name in pod.claim_names}


def _lists(node: NodeInfo) -> tuple[bool, bool]:
    """Whether the node is in each of the two affinity lists."""
    return bool(node.with_affinity), bool(node.with_required_anti_affinity)
