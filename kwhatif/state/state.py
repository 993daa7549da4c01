"""`State`: a cluster at one moment, as the scheduler sees it; one way to change it, and cheap forks.

Nodes with their pods follow `pkg/scheduler/backend/cache/{cache,snapshot}.go`; nominations the queue's nominator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from kwhatif.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.model.generation import next_generation, resume_after
from kwhatif.model.node import Node
from kwhatif.model.overlay import Overlay
from kwhatif.model.pod import Pod, is_terminal
from kwhatif.state.built import Built
from kwhatif.state.change import Bind, Change, Delete, Evict, Nominate, Upsert
from kwhatif.state.history import Move, Step, Touched, record, since
from kwhatif.state.images import ImageStates, add_images, images_on, remove_images
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.node_tree import NodeTree
from kwhatif.state.objects import StateObjects
from kwhatif.state.pod_index import PodIndex
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.shapes import Shapes, near_unique_keys


class State:
    """Nodes in the scheduler's order, the pods on them, the pods nominated to them, and all other objects.

    A cycle reads it and never changes it. `apply` is the only way to change it, on a `fork` if the state as it is will
    be needed again. What a fork does not change it shares with the state that it was forked from: nodes, indexes, and
    what was found out about them.
    """

    def __init__(self, cluster: Cluster) -> None:
        """Set up.

        Args:
            cluster: all objects, nodes and pods in the order in which the scheduler learns of them. It stays as it is.
        """
        #: All objects, pods and nodes included.
        self.cluster: Cluster = StateObjects(self, cluster)
        #: Another number after every change.
        self.generation = next_generation()
        self._history: Step | None = None
        nodes = cluster.all(Node)
        self._mark = object()
        self._tree = NodeTree(nodes.values())
        self._shapes = Shapes(near_unique_keys(nodes.values()))
        self._images: ImageStates = Overlay()
        for node in nodes.values():
            add_images(self._images, node)
        #: In the scheduler's order: round robin over zones.
        self.nodes: list[NodeInfo] = [self._info(nodes[name]) for name in self._tree.names()]
        #: Where the nodes are in `nodes`, by name.
        self._places: dict[str, int] = {node.name: place for place, node in enumerate(self.nodes)}
        self._by_name: dict[str, NodeInfo] | None = None
        self._of_shape: Mapping[int, NodeInfo] | None = None
        self._shape_of: tuple[Sequence[str], Sequence[int]] | None = None
        #: Whether `nodes`, the tree and places, and what is known of nominations are this state's alone.
        self._owns_nodes = self._owns_tree = self._owns_nominations = True
        self._pods: Overlay[str, PodInfo] = Overlay()
        self._pending: Overlay[str, PodInfo] = Overlay()
        self._strays: Overlay[str, tuple[PodInfo, ...]] = Overlay()
        self._nominated: dict[str, tuple[PodInfo, ...]] = {}
        #: The node that a pod is nominated to, by the pod's key.
        self._nominations: dict[str, str] = {}
        self._built, self._owns_built = Built(), True
        self._load()

    def _info(self, node: Node) -> NodeInfo:
        info = NodeInfo(node, self._shapes.number(node))
        info.images = images_on(node)
        info.owner = self._mark
        info.generation = next_generation()
        return info

    def _load(self) -> None:
        pods, pending, resizes = {}, {}, self.cluster.resizes
        assigned: dict[str, list[PodInfo]] = {}
        for pod in self.cluster.all(Pod).values():
            if is_terminal(pod):
                continue
            info = PodInfo(pod, resizes)
            pods[info.key] = info
            node_name = pod.spec.node_name
            if not node_name:
                pending[info.key] = info
                if pod.status.nominated_node_name:
                    self._nominate(info, pod.status.nominated_node_name)
                continue
            others = assigned.get(node_name)
            if others is None:
                assigned[node_name] = [info]
            else:
                others.append(info)
        for name, infos in assigned.items():
            if name in self._places:
                self.nodes[self._places[name]].add_pods(infos)
            else:
                self._strays.put(name, tuple(infos))
        self._pods, self._pending = Overlay(pods), Overlay(pending)

    # --- reading -------------------------------------------------------------------------------------

    @property
    def by_name(self) -> Mapping[str, NodeInfo]:
        """The nodes by name."""
        found = self._by_name
        if found is None:
            found = self._by_name = {node.name: node for node in self.nodes}
        return found

    @property
    def of_shape(self) -> Mapping[int, NodeInfo]:
        """A node of each shape, as good as any other; its pods may be out of date."""
        if self._of_shape is None:
            self._of_shape = {node.shape: node for node in reversed(self.nodes)}
        return self._of_shape

    @property
    def names_and_shapes(self) -> tuple[Sequence[str], Sequence[int]]:
        """Of `nodes`, in their order: to walk these costs less than to look at nodes all over the memory."""
        if self._shape_of is None:
            self._shape_of = [node.name for node in self.nodes], [node.shape for node in self.nodes]
        return self._shape_of

    @property
    def places(self) -> Mapping[str, int]:
        """Where the nodes are in `nodes`, by name."""
        return self._places

    def node(self, name: str) -> NodeInfo | None:
        """The node of that name; for more than a few, `by_name` is faster."""
        place = self._places.get(name)
        return None if place is None else self.nodes[place]

    @property
    def pods(self) -> Mapping[str, PodInfo]:
        """Live pods by key, wherever they are (also on nodes that are not in the cluster)."""
        return self._pods

    @property
    def pending(self) -> Mapping[str, PodInfo]:
        """Pods that wait for a node, by key, in the cluster's order."""
        return self._pending

    @property
    def nominated(self) -> Mapping[str, Sequence[PodInfo]]:
        """Pending pods nominated to a node, by its name, in the order of nomination; no node without any."""
        return self._nominated

    def nomination_of(self, pod: str) -> str | None:
        """The name of the node that the pod of this key is nominated to."""
        return self._nominations.get(pod)

    @property
    def strays(self) -> Mapping[str, Sequence[PodInfo]]:
        """Pods assigned to nodes that do not exist, by the node's name: when it comes, they are on it."""
        return self._strays

    @property
    def shapes(self) -> Shapes:
        """Classes of nodes."""
        return self._shapes

    @property
    def images(self) -> ImageStates:
        """All images that any node has, by name."""
        return self._images

    @property
    def index(self) -> PodIndex:
        """The pods on nodes, by labels and by affinity terms."""
        built = self._built
        if built.index is None:
            built.index = PodIndex(self.nodes, self._strays if self._owns_built else self._strays.fork())
        return built.index

    def users_of(self, claim: str) -> int:
        """How many pods on nodes use the PersistentVolumeClaim, `namespace/name` (`PVCRefCounts`)."""
        return self._built.users_of(claim, self.nodes)

    # --- forks ---------------------------------------------------------------------------------------

    def fork(self) -> State:
        """An independent state with the same content. It costs next to nothing, whatever the size of the cluster."""
        other = State.__new__(State)
        other.cluster = StateObjects(other, self.cluster)
        other.generation, other._history = self.generation, self._history
        self._mark, other._mark = object(), object()
        self._owns_nodes = self._owns_tree = self._owns_nominations = False
        other._owns_nodes = other._owns_tree = other._owns_nominations = False
        if self._owns_built and self._built.index is not None:
            self._built.index.strays = self._strays.fork()
        self._owns_built = other._owns_built = False
        other._built = self._built
        other._tree, other._shapes = self._tree, self._shapes
        other._images = self._images.fork()
        other.nodes, other._places, other._by_name = self.nodes, self._places, None
        other._of_shape, other._shape_of = self._of_shape, self._shape_of
        other._pods, other._pending, other._strays = self._pods.fork(), self._pending.fork(), self._strays.fork()
        other._nominated, other._nominations = self._nominated, self._nominations
        return other

    def prepare(self) -> None:
        """Build what is otherwise built when asked for, and what forks have asked for: later ones have it."""
        self.users_of("")
        self.index.build()
        self.cluster.derive_all()

    def _own_built(self) -> None:
        """Nodes or their pods are about to change: forks that have not changed go on with what was built."""
        if not self._owns_built:
            self._built, self._owns_built = self._built.fork(self.nodes, self._strays), True

    # --- changes -------------------------------------------------------------------------------------

    def apply(self, *changes: Change) -> Touched:
        """Make the changes, one after another; those before one that fails have been made.

        Raises:
            KeyError: a pod that is to be bound, evicted or nominated is not there, or not where it would have to be.
        """
        touched = Touched()
        self._history = record(self.generation, touched, self._history)
        self.generation = next_generation()
        try:
            for change in changes:
                _APPLY[type(change)](self, change, touched)
        finally:
            if touched.reordered:
                self._reorder()
        return touched

    def since(self, generation: int) -> Touched | None:
        """What was done since this state, or one that it was forked from, was of that generation; None: unknown."""
        return Touched() if generation == self.generation else since(generation, self._history)

    def _upsert(self, change: Upsert, touched: Touched) -> None:
        obj = change.obj
        if isinstance(obj, Pod):
            self._upsert_pod(obj, touched)
            return
        before = self.cluster.get(Node, obj.metadata.name) if isinstance(obj, Node) else None
        self._put(obj, touched)
        if isinstance(obj, Node):
            self._upsert_node(before, obj, touched)

    def _delete(self, change: Delete, touched: Touched) -> None:
        gone = self.cluster._pop(change.kind, change.key)
        if gone is None:
            return
        touched.objects.append((change.kind, change.key))
        if isinstance(gone, Pod):
            pod = self._pods.get(change.key)
            if pod is not None:
                self._withdraw(pod, touched)
        if isinstance(gone, Node):
            self._delete_node(gone, touched)

    def _bind(self, change: Bind, touched: Touched) -> None:
        pod = change.pod
        if isinstance(pod, str):
            pending = self._pending.get(pod)
            if pending is None:
                raise KeyError(f"no pending pod {pod}")
            pod = pending.pod
        elif key_of(pod) in self._pods:
            raise KeyError(f"pod {key_of(pod)} is there already")
        for obj in change.reserved:
            self._put(obj, touched)
        self._upsert_pod(replace(pod, spec=replace(pod.spec, node_name=change.node)), touched)

    def _evict(self, change: Evict, touched: Touched) -> None:
        pod = self._pods[change.pod]
        node_name = pod.pod.spec.node_name
        if node_name not in self._places:
            raise KeyError(f"pod {change.pod} is not on a node")
        self._own_built()
        self._own(node_name).remove_pod(pod)
        self._unlist(pod, node_name, touched)
        self.cluster._pop(Pod, change.pod)
        touched.objects.append((Pod, change.pod))

    def _nominate_change(self, change: Nominate, touched: Touched) -> None:
        pod = self._pending.get(change.pod)
        if pod is None:
            raise KeyError(f"no pending pod {change.pod}")
        touched.nodes.update(self._drop_nomination(change.pod))
        if change.node:
            self._nominate(pod, change.node)
            touched.nodes.add(change.node)

    def _put(self, obj: KubernetesObject, touched: Touched, *, last: bool = False) -> None:
        self.cluster._put(obj, last=last)
        touched.objects.append((type(obj), key_of(obj)))

    # --- pods ----------------------------------------------------------------------------------------

    def _upsert_pod(self, pod: Pod, touched: Touched) -> None:
        self._own_built()
        info = PodInfo(pod, self.cluster.resizes)
        key, node_name = info.key, pod.spec.node_name
        before = self._pods.get(key)
        stays = before is not None and before.pod.spec.node_name == node_name and not is_terminal(pod)
        self._put(pod, touched, last=not stays)
        if before is not None and stays:
            self._update(before, info, touched)
            return
        if before is not None:
            self._withdraw(before, touched)
        if is_terminal(pod):
            return
        self._pods.put(key, info)
        if node_name:
            self._place(info, node_name, touched)
            return
        self._pending.put(key, info)
        if pod.status.nominated_node_name:
            self._nominate(info, pod.status.nominated_node_name)
            touched.nodes.add(pod.status.nominated_node_name)

    def _update(self, before: PodInfo, after: PodInfo, touched: Touched) -> None:
        """The pod is where it was, and may be different otherwise."""
        node_name = after.pod.spec.node_name
        self._pods.put(after.key, after)
        if not node_name:
            self._pending.put(after.key, after)
            self._renominate(before, after, touched)
            return
        touched.nodes.add(node_name)
        if node_name not in self._places or not self._own(node_name).exchange(before, after):
            self._replace_on(node_name, lambda pods: [after if pod is before else pod for pod in pods])
        index = self._built.index
        if index is not None:
            index.remove(before, node_name)
            index.add(after, node_name)
        if node_name in self._places:
            self._built.count_claims((before,), -1)
            self._built.count_claims((after,), 1)
            touched.moves += Move(before, node_name, -1), Move(after, node_name, 1)

    def _renominate(self, before: PodInfo, after: PodInfo, touched: Touched) -> None:
        """What the status says or said counts; else what the nominator remembers (`UpdateNominatedPod`)."""
        was, now = before.pod.status.nominated_node_name, after.pod.status.nominated_node_name
        dropped = self._drop_nomination(after.key)
        touched.nodes.update(dropped)
        node_name = now if now or was else next(iter(dropped), "")
        if node_name:
            self._nominate(after, node_name)
            touched.nodes.add(node_name)

    def _withdraw(self, pod: PodInfo, touched: Touched) -> None:
        """The pod is not there, as if it had never been.

        Not by `NodeInfo.remove_pod`: that would free ports which another pod holds as well, and change the order of
        the others.
        """
        self._own_built()
        node_name = pod.pod.spec.node_name
        if not node_name:
            touched.nodes.update(self._drop_nomination(pod.key))
            self._pending.pop(pod.key)
            self._pods.pop(pod.key)
            return
        self._replace_on(node_name, lambda pods: [other for other in pods if other is not pod])
        self._unlist(pod, node_name, touched)

    def _place(self, pod: PodInfo, node_name: str, touched: Touched) -> None:
        """The pod comes to the node, or to what would be one."""
        touched.nodes.add(node_name)
        if node_name in self._places:
            self._own(node_name).add_pod(pod)
            self._built.count_claims((pod,), 1)
            touched.moves.append(Move(pod, node_name, 1))
        else:
            self._strays.put(node_name, (*self._strays.get(node_name, ()), pod))
        if self._built.index is not None:
            self._built.index.add(pod, node_name)

    def _unlist(self, pod: PodInfo, node_name: str, touched: Touched) -> None:
        touched.nodes.add(node_name)
        self._pods.pop(pod.key)
        if self._built.index is not None:
            self._built.index.remove(pod, node_name)
        if node_name in self._places:
            self._built.count_claims((pod,), -1)
            touched.moves.append(Move(pod, node_name, -1))

    def _replace_on(self, node_name: str, change: Callable[[Sequence[PodInfo]], list[PodInfo]]) -> None:
        """Give the node, or what would be one, other pods."""
        if node_name in self._places:
            node = self.nodes[self._places[node_name]]
            self._replace(node.with_pods(change(node.pods)))
            return
        pods = change(self._strays[node_name])
        if pods:
            self._strays.put(node_name, tuple(pods))
        else:
            self._strays.pop(node_name)

    # --- nominations ---------------------------------------------------------------------------------

    def _nominate(self, pod: PodInfo, node_name: str) -> None:
        self._own_nominations()
        self._nominated[node_name] = (*self._nominated.get(node_name, ()), pod)
        self._nominations[pod.key] = node_name

    def _drop_nomination(self, key: str) -> list[str]:
        """The nodes that the pod was nominated to: one at most."""
        name = self._nominations.get(key)
        if name is None:
            return []
        self._own_nominations()
        del self._nominations[key]
        kept = tuple(pod for pod in self._nominated[name] if pod.key != key)
        if kept:
            self._nominated[name] = kept
        else:
            del self._nominated[name]
        return [name]

    def _own_nominations(self) -> None:
        if not self._owns_nominations:
            self._nominated, self._nominations = self._nominated.copy(), self._nominations.copy()
            self._owns_nominations = True

    # --- nodes ---------------------------------------------------------------------------------------

    def _own(self, name: str) -> NodeInfo:
        """The node, ready to be changed: of another generation from now on."""
        node = self.nodes[self._places[name]]
        if node.owner is not self._mark:
            node = node.clone()
            self._replace(node)
            return node
        node.generation = next_generation()
        node.memos = None
        return node

    def _replace(self, node: NodeInfo) -> None:
        """Take this NodeInfo, which nobody else has, for the node of its name."""
        node.owner = self._mark
        node.generation = next_generation()
        if not self._owns_nodes:
            self._take_nodes(self.nodes.copy())
        self.nodes[self._places[node.name]] = node
        if self._by_name is not None:
            self._by_name[node.name] = node

    def _take_nodes(self, nodes: list[NodeInfo]) -> None:
        self.nodes, self._owns_nodes = nodes, True
        if self._built.index is not None:
            self._built.index.nodes = nodes

    def _own_tree(self) -> None:
        self._of_shape = self._shape_of = None
        if not self._owns_tree:
            self._tree, self._owns_tree = self._tree.copy(), True
            self._places = self._places.copy()

    def _upsert_node(self, before: Node | None, node: Node, touched: Touched) -> None:
        self._own_built()
        self._own_tree()
        name = node.metadata.name
        touched.nodes.add(name)
        if before is None:
            self._add_node(node, touched)
            return
        touched.changed_nodes.append((before, node))
        there = self.nodes[self._places[name]]
        self._replace(self._info(node).with_pods(there.pods))
        if before.status.images != node.status.images:
            remove_images(self._images, before)
            add_images(self._images, node)
        touched.reordered |= self._tree.update(before, node)

    def _add_node(self, node: Node, touched: Touched) -> None:
        """The pods that were assigned to it already are on it."""
        info = self._info(node)
        self._tree.add(node)
        add_images(self._images, node)
        for pod in self._strays.pop(info.name) or ():
            info.add_pod(pod)
        self._built.count_claims(info.pods, 1)
        self._places[info.name] = len(self.nodes)
        self._take_nodes([*self.nodes, info])
        touched.reordered = True

    def _delete_node(self, node: Node, touched: Touched) -> None:
        """Its pods stay assigned to it until they are deleted."""
        self._own_built()
        self._own_tree()
        name = node.metadata.name
        touched.nodes.add(name)
        touched.reordered = True
        info = self.nodes[self._places[name]]
        self._tree.remove(node)
        remove_images(self._images, node)
        self._built.count_claims(info.pods, -1)
        if info.pods:
            self._strays.put(name, tuple(info.pods))
        del self._places[name]

    def _reorder(self) -> None:
        """Bring the nodes into the tree's order; those that are gone are not in it."""
        names = self._tree.names()
        node_at, place_of = self.nodes.__getitem__, self._places.__getitem__
        self._take_nodes(list(map(node_at, map(place_of, names))))
        self._places = dict(zip(names, range(len(names)), strict=True))
        self._by_name = None

    # --- elsewhere -----------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, object]:
        """What can be found again is not taken along."""
        return self.__dict__ | {"_by_name": None, "_history": None, "_of_shape": None, "_shape_of": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.cluster = StateObjects(self, self.cluster)
        resume_after(self.generation)

    def validate(self) -> None:
        """Check everything that is kept up against the objects; for tests.

        Raises:
            AssertionError: something is not as it would have to be.
        """
        from kwhatif.state.validate import validate

        validate(self)


_APPLY: Mapping[type, Callable[..., None]] = {
    Upsert: State._upsert,
    Delete: State._delete,
    Bind: State._bind,
    Evict: State._evict,
    Nominate: State._nominate_change,
}
