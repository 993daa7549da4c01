"""`State`: a cluster at one moment, as the scheduler sees it, with one way to change it, and cheap forks.

Nodes with their pods follow `pkg/scheduler/backend/cache/{cache,snapshot}.go`; nominations the queue's nominator.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from operator import attrgetter
from typing import Any, NoReturn, Self

from msgspec.structs import replace

from kwhatif.kube.matching.requests import CPU, EPHEMERAL_STORAGE, MEMORY, Resources, pod_resources
from kwhatif.kube.model.cluster import Cluster, ClusterFacts, KubernetesObject, key_of, next_generation, resume_after
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_orphaned
from kwhatif.state.change import Bind, Change, Delete, Evict, History, Nominate, SetFacts, Sort, Touched, Upsert
from kwhatif.state.node_info import NodeInfo, Shapes
from kwhatif.state.nodes import ImageStates, Nodes
from kwhatif.state.pod_index import PodIndex
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.pods import Pods


class StateObjects(Cluster):
    """The objects of a state, to be read: `State.apply` changes them."""

    #: Why nothing is changed here.
    _refusal = "the objects of a state change only with the state: apply the change to it"

    def __init__(self, objects: Cluster) -> None:
        objects._fork_into(self)
        if not isinstance(objects, StateObjects):
            self._of_origin, self._origin = {}, next_generation()

    def _refuse(self, *_: Any, **_named: Any) -> NoReturn:
        raise TypeError(self._refusal)

    add = add_all = discard = sort = update_facts = _refuse

    def _has_changed(self, kind: type, before: KubernetesObject | None, after: KubernetesObject | None) -> None:
        super()._has_changed(kind, before, after)
        changed = after or before
        if changed is not None and changed.metadata.namespace:
            self._generations[kind, changed.metadata.namespace] = self._generations[kind]


class State:
    """Nodes in the scheduler's order, the pods on them, the pods nominated to them, and all other objects.

    A scheduling cycle only reads it. `apply` is the only way to change it; apply to a `fork` if you need the old state
    again. A fork shares everything that it does not change with its origin: nodes, indexes, and cached results about
    them.
    """

    def __init__(self, cluster: Cluster) -> None:
        """Set up.

        Args:
            cluster: all objects; nodes and pods in the order in which the scheduler sees them. It is not changed.
        """
        #: All objects, including pods and nodes.
        self.cluster: Cluster = StateObjects(cluster)
        #: Changes with every `apply`.
        self.generation = next_generation()
        self._history = History()
        #: The results of `since`, and the generation that they are valid for: many caches ask the same.
        self._answers: tuple[int, dict[int, Touched | None]] = 0, {}
        self._nodes = Nodes(cluster.all(Node))
        self._pods = Pods(cluster, self._nodes)
        self.cluster.gone_nodes = self.cluster.gone_nodes.union(self._nodes_marked_gone())

    # --- reading -------------------------------------------------------------------------------------

    @property
    def nodes(self) -> Sequence[NodeInfo]:
        """The nodes in the scheduler's order: round robin over zones."""
        return self._nodes.infos

    @property
    def by_name(self) -> Mapping[str, NodeInfo]:
        """The nodes by name."""
        return self._nodes.by_name

    @property
    def of_shape(self) -> Mapping[int, NodeInfo]:
        """Any node of each shape; its pods may be out of date."""
        return self._nodes.of_shape

    @property
    def names_and_shapes(self) -> tuple[Sequence[str], Sequence[int]]:
        """The names and shapes of `nodes`, in order: faster to read than the `NodeInfo`s, scattered in memory."""
        return self._nodes.names_and_shapes

    @property
    def node_generations(self) -> Sequence[int]:
        """The generations of `nodes`, in order; the same object as long as none has changed."""
        return self._nodes.generations

    @property
    def index_by_name(self) -> Mapping[str, int]:
        """The index of each node in `nodes`, by name."""
        return self._nodes.index_by_name

    def node(self, name: str) -> NodeInfo | None:
        """The node with that name; for more than a few names, `by_name` is faster."""
        return self._nodes.get(name)

    @property
    def pods(self) -> Mapping[str, PodInfo]:
        """All live pods by key, including those on nodes that are not in the cluster."""
        return self._pods.live

    @property
    def pending(self) -> Mapping[str, PodInfo]:
        """Pods that wait for a node, by key, in the cluster's order."""
        return self._pods.pending

    @property
    def nominated(self) -> Mapping[str, Sequence[PodInfo]]:
        """Pending pods by the node that they are nominated to, in the order of nomination."""
        return self._pods.nominations.by_node

    def nomination_of(self, pod: str) -> str | None:
        """The name of the node that the pod with this key is nominated to."""
        return self._pods.nominations.node_of.get(pod)

    @property
    def strays(self) -> Mapping[str, Sequence[PodInfo]]:
        """Pods assigned to nodes that do not exist, by node name: if the node is added, they are on it."""
        return self._pods.strays

    @property
    def shapes(self) -> Shapes:
        """Classes of nodes."""
        return self._nodes.shapes

    @property
    def images(self) -> ImageStates:
        """All images that any node has, by name."""
        return self._nodes.images

    @property
    def index(self) -> PodIndex:
        """The pods on nodes, by labels and by affinity terms."""
        return self._pods.index

    def members_of(self, group: str) -> Mapping[str, PodInfo]:
        """The live pods of the PodGroup, `namespace/name`, by key: those on nodes, and those that wait."""
        return self._pods.members.of(group, self._pods.live.values())

    def users_of(self, claim: str) -> int:
        """How many pods on nodes use the PersistentVolumeClaim, `namespace/name` (`PVCRefCounts`)."""
        return self._pods.users_of(claim)

    # --- forks ---------------------------------------------------------------------------------------

    def fork(self) -> State:
        """An independent state with the same content. It is cheap, whatever the size of the cluster."""
        other = State.__new__(State)
        other.generation, other._history, other._answers = self.generation, self._history, (0, {})
        other.cluster = StateObjects(self.cluster)
        other._nodes = self._nodes.fork()
        other._pods = self._pods.fork(other._nodes)
        return other

    def prepare(self) -> None:
        """Build now what is otherwise built on demand, and what forks have needed, so that later forks share it."""
        self.users_of("")
        self.index.build()
        self.cluster.derive_all()

    def forget_history(self) -> None:
        """Drop the history, to free its objects: caches of this state start again."""
        self._history, self._answers = History(), (0, {})

    # --- changes -------------------------------------------------------------------------------------

    def apply(self, *changes: Change) -> Touched:
        """Make the changes in order; if one fails, those before it have been made.

        Raises:
            KeyError: a pod to be bound, evicted or nominated does not exist, or is not in the required place.
        """
        touched = Touched()
        self._history = self._history.with_step(self.generation, touched)
        self.generation = next_generation()
        try:
            for change in changes:
                _APPLY[type(change)](self, change, touched)
        finally:
            self._answers = 0, {}
            if touched.reordered:
                self._nodes.reorder()
        return touched

    def since(self, generation: int) -> Touched | None:
        """What changed since this state, or its origin, had that generation; None: not known any more."""
        if generation == self.generation:
            return Touched()
        if self._answers[0] != self.generation:
            self._answers = self.generation, {}
        known = self._answers[1]
        if generation not in known:
            known[generation] = self._history.since(generation)
        return known[generation]

    def _upsert(self, change: Upsert, touched: Touched) -> None:
        obj = change.obj
        if isinstance(obj, Pod):
            self._upsert_pod(obj, touched)
            return
        before = self.cluster.get(Node, obj.metadata.name) if isinstance(obj, Node) else None
        self._put(obj, touched)
        if isinstance(obj, Node):
            self._pods.upsert_node(before, obj, touched)

    def _delete(self, change: Delete, touched: Touched) -> None:
        gone = self.cluster._pop(change.kind, change.key)
        if change.kind is Node:
            self.cluster.gone_nodes |= {change.key}  # including a node that is not in the input, but has pods
        if gone is None:
            return
        touched.objects.append((change.kind, change.key))
        if isinstance(gone, Pod):
            self._pods.delete(change.key, touched)
        if isinstance(gone, Node):
            self._pods.delete_node(gone, touched)

    def _bind(self, change: Bind, touched: Touched) -> None:
        pod = change.pod
        if isinstance(pod, str):
            pending = self.pending.get(pod)
            if pending is None:
                raise KeyError(f"no pending pod {pod}")
            pod = pending.pod
        elif key_of(pod) in self.pods:
            raise KeyError(f"pod {key_of(pod)} is there already")
        for obj in change.reserved:
            self._put(obj, touched)
        self._upsert_pod(replace(pod, spec=replace(pod.spec, node_name=change.node)), touched)

    def _evict(self, change: Evict, touched: Touched) -> None:
        self._pods.evict(change.pod, touched)
        self.cluster._pop(Pod, change.pod)
        touched.objects.append((Pod, change.pod))

    def _nominate(self, change: Nominate, touched: Touched) -> None:
        self._pods.nominate(change.pod, change.node, touched)

    def _sort(self, change: Sort, touched: Touched) -> None:
        misplaced: dict[type, set[str]] = {}
        for kind, key in change.objects:
            misplaced.setdefault(kind, set()).add(key)
        for kind, keys in misplaced.items():
            self.cluster._sort(kind, keys)
        nodes = self.cluster.all(Node)
        if Node in misplaced:
            self._nodes.sort(nodes.values(), touched)
        self._nodes.sort_images(nodes.values())
        self._pods.sort(misplaced.get(Pod, set()), touched)
        if self.cluster.facts.is_whole:  # a node that is absent is gone: only what its pods say about it is kept
            self.cluster.gone_nodes = frozenset(self._nodes_marked_gone())

    def _set_facts(self, change: SetFacts, touched: Touched) -> None:
        was, resizes = self.cluster.facts.resizes, change.facts.resizes
        self.cluster._set_facts(change.facts)
        touched.objects.append((ClusterFacts, ""))
        if resizes != was:
            for info in list(self.pods.values()):
                if pod_resources(info.pod, resizes) != info.resources:
                    self._upsert_pod(info.pod, touched)

    def _nodes_marked_gone(self) -> Iterator[str]:
        """Nodes that are not there, and whose pods say that they are gone."""
        strays = self._pods.strays.items()
        return (name for name, pods in strays if any(is_orphaned(pod.pod) for pod in pods))

    def _upsert_pod(self, pod: Pod, touched: Touched) -> None:
        stays = self._pods.upsert(PodInfo(pod, self.cluster.facts.resizes), touched)
        self._put(pod, touched, last=not stays)

    def _put(self, obj: KubernetesObject, touched: Touched, *, last: bool = False) -> None:
        self.cluster._put(obj, last=last)
        touched.objects.append((type(obj), key_of(obj)))

    # --- elsewhere -----------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, object]:
        """Cached results are left out."""
        return self.__dict__ | {"_history": History(), "_answers": (0, {})}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        resume_after(self.generation)


_APPLY: Mapping[type, Callable[..., None]] = {
    Upsert: State._upsert,
    Delete: State._delete,
    Bind: State._bind,
    Evict: State._evict,
    Nominate: State._nominate,
    Sort: State._sort,
    SetFacts: State._set_facts,
}


# --- rows of nodes and of pods: columns and running sums that many plugins need for all of them --------

_AMOUNTS: dict[str, Callable[[Resources], int]] = {
    CPU: attrgetter("cpu"),
    MEMORY: attrgetter("memory"),
    EPHEMERAL_STORAGE: attrgetter("ephemeral"),
}


class PodRow:
    """Pods in a certain order, with running sums of their requests, which are computed on demand and kept."""

    __slots__ = ("_sums", "pods")

    def __init__(self, pods: Sequence[PodInfo]) -> None:
        self.pods = pods
        self._sums: dict[str, list[int]] = {}

    def sums(self, resource: str) -> list[int]:
        """The total requests of the first 0, 1, 2… pods for the resource: milli-CPU, bytes, or units."""
        found = self._sums.get(resource)
        if found is None:
            amount_of = _AMOUNTS.get(resource) or (lambda requested: requested.scalar(resource))
            amounts = (amount_of(pod.resources.requested) for pod in self.pods)
            found = self._sums[resource] = list(accumulate(amounts, initial=0))
        return found


class NodeRow(tuple[NodeInfo, ...]):  # noqa: SLOT001 - a tuple cannot have them
    """Some or all nodes of a state. `NodeInfo`s are scattered in memory: reading the lists here is faster."""

    #: The indexes of the nodes in the state's `nodes`, ascending.
    indexes: Sequence[int]
    _state_names: Sequence[str]
    _state_shapes: Sequence[int]
    _index_by_name: Mapping[str, int]

    @classmethod
    def at(cls, state: State, indexes: Sequence[int]) -> Self:
        """The nodes of the state at these indexes."""
        nodes = state.nodes
        row = cls(nodes if len(indexes) == len(nodes) else map(nodes.__getitem__, indexes))
        row.indexes, row._index_by_name = indexes, state.index_by_name
        row._state_names, row._state_shapes = state.names_and_shapes
        return row

    def index_of(self, name: str) -> int | None:
        """The index of the node with that name in this row; None if it is not in it."""
        index = self._index_by_name.get(name)
        if index is None:
            return None
        found = bisect_left(self.indexes, index)
        return found if found < len(self) and self.indexes[found] == index else None

    @cached_property
    def names(self) -> Sequence[str]:
        """The names of the nodes."""
        names = self._state_names
        return names if len(self) == len(names) else list(map(names.__getitem__, self.indexes))

    @cached_property
    def shapes(self) -> Sequence[int]:
        """The shapes of the nodes, one per node."""
        shapes = self._state_shapes
        return shapes if len(self) == len(shapes) else list(map(shapes.__getitem__, self.indexes))

    @cached_property
    def sizes(self) -> Mapping[int, int]:
        """How many of the nodes have each shape."""
        return Counter(self.shapes)

    @cached_property
    def samples(self) -> Mapping[int, NodeInfo]:
        """The last node of each shape."""
        return dict(zip(self.shapes, self, strict=True))
