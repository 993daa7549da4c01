"""What a plugin of your own gets to see of the cluster: whatever it does to that, the cluster stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, TypeVar, cast, overload
from weakref import WeakKeyDictionary

from kwhatif.framework.cycle import Cycle
from kwhatif.model.cluster import Cluster, KubernetesObject
from kwhatif.model.pod import Pod
from kwhatif.model.read_only import read_only
from kwhatif.state.change import Change
from kwhatif.state.history import Touched
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.objects import StateObjects
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

T = TypeVar("T", bound=KubernetesObject)
V = TypeVar("V")
#: Of so many objects the copies are kept.
_KEPT = 100_000


def shown(snapshot: State) -> State:
    """The snapshot with collections that cannot be changed, and with copies of the nodes that are asked for."""
    _ = snapshot.index  # is that of the nodes themselves, not of copies
    view = snapshot.fork()
    view.__class__ = _Shown
    _show(view.cluster, snapshot.cluster)
    vars(view)["nodes"] = _Nodes(snapshot.nodes)
    vars(view)["_by_name"] = _NodesByName(snapshot.by_name)
    vars(view)["_places"] = MappingProxyType(snapshot.places)
    names, shapes = snapshot.names_and_shapes
    vars(view)["_shape_of"], vars(view)["_of_shape"] = (tuple(names), tuple(shapes)), None
    nominated = {name: tuple(map(shown_pod, pods)) for name, pods in snapshot.nominated.items()}
    vars(view)["_nominated"] = MappingProxyType(nominated)
    return view


def shown_cluster(cluster: Cluster) -> Cluster:
    """The objects as they can only be read."""
    return cluster if isinstance(cluster, _ShownObjects) else _show(cluster.fork(), cluster)


def shown_object(obj: T) -> T:
    """The object as it can only be read."""
    known = _SHOWN_OBJECTS.get(id(obj))
    if known is None:
        if len(_SHOWN_OBJECTS) >= _KEPT:
            _SHOWN_OBJECTS.clear()
        known = _SHOWN_OBJECTS[id(obj)] = obj, read_only(obj)
    return cast("T", known[1])


def shown_cycle(cycle: Cycle) -> Cycle:
    """The cycle as PostFilter finds it, with all that it says about pods, nodes and objects as it can only be read."""
    view = copy(cycle)
    view.pod, view.snapshot = shown_pod(cycle.pod), shown(cycle.snapshot)
    view.feasible = tuple(map(shown_node, cycle.feasible))
    vars(view)["compiled"] = MappingProxyType(cycle.compiled)
    vars(view)["verdicts"] = MappingProxyType(cycle.verdicts)
    view.filters, view.skipped_until = cycle.filters.copy(), cycle.skipped_until.copy()
    view.asked, view.unschedulable_plugins = cycle.asked.copy(), cycle.unschedulable_plugins.copy()
    return view


def shown_pod(pod: PodInfo) -> PodInfo:
    """The pod as it can only be read: always the same object, as a plugin may know it again."""
    if isinstance(pod, _ShownPod):
        return pod
    view = _SHOWN_PODS.get(pod)
    if view is None:
        view = _SHOWN_PODS[pod] = _ShownPod(pod)
    return view


def shown_node(node: NodeInfo) -> NodeInfo:
    """A copy of the node, with labels of its own, and with pods that can only be read."""
    if node._cut_from is not None:
        node.used_ports()  # which are found by comparing pods
    view = node.clone()
    view.node, view.labels = shown_object(node.node), dict(node.labels)
    view.pods = list(map(shown_pod, view.pods))
    view.with_affinity = list(map(shown_pod, view.with_affinity))
    view.with_required_anti_affinity = list(map(shown_pod, view.with_required_anti_affinity))
    return view


class _ShownPod(PodInfo):
    """A pod that cannot be changed. What it is made of are copies, made when they are asked for."""

    _raw: Pod

    def __init__(self, pod: PodInfo) -> None:
        vars(self).update(vars(pod), _raw=pod.pod, labels=dict(pod.labels), memos=None, _derived=None)
        del vars(self)["pod"]
        if pod.affinity is not None:
            del vars(self)["affinity"]
            vars(self)["_affinity_terms"] = None

    def __getattr__(self, name: str) -> Any:
        """`pod` and `affinity`, when they are first asked for."""
        if name == "pod":
            found: Any = read_only(self._raw)
        elif name == "affinity":
            found = self.pod.spec.affinity
        else:
            raise AttributeError(name)
        vars(self)[name] = found
        return found

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _FOUND_OUT:
            raise TypeError(f"a plugin does not change pods: {name} of {self.key}")
        super().__setattr__(name, value)

    # These three are asked for so often that they are not worth a copy.

    @property
    def name(self) -> str:
        return self._raw.metadata.name

    @property
    def uid(self) -> str:
        return self._raw.metadata.uid or self.key

    @property
    def terminating(self) -> bool:
        return self._raw.metadata.deletion_timestamp is not None


#: What a pod keeps of what was found out about it.
_FOUND_OUT = frozenset({"_ports", "_affinity_terms", "_derived", "memos", "budgets"})
#: By id, objects and their copies: who has the object keeps its id from being another's.
_SHOWN_OBJECTS: dict[int, tuple[KubernetesObject, KubernetesObject]] = {}
_SHOWN_PODS: WeakKeyDictionary[PodInfo, _ShownPod] = WeakKeyDictionary()


_NOT_CHANGED = "a plugin does not change the cluster: what reserve returns does"


class _Shown(State):
    @property
    def pods(self) -> Mapping[str, PodInfo]:
        return _Pods(super().pods)

    @property
    def pending(self) -> Mapping[str, PodInfo]:
        return _Pods(super().pending)

    @property
    def strays(self) -> Mapping[str, Sequence[PodInfo]]:
        return MappingProxyType({name: tuple(map(shown_pod, pods)) for name, pods in super().strays.items()})

    def apply(self, *changes: Change) -> Touched:
        del changes
        raise TypeError(_NOT_CHANGED)


def _show(view: Cluster, cluster: Cluster) -> Cluster:
    """Make a fork of the objects one that can only be read."""
    view.__class__ = _ShownObjects
    vars(view)["_shown"] = cluster
    view.scheduling_events = MappingProxyType(cluster.scheduling_events)
    return view


class _ShownObjects(StateObjects):
    #: What this is a fork of.
    _shown: Cluster

    def all(self, kind: type[T]) -> Mapping[str, T]:
        return _Objects(super().all(kind))

    def get(self, kind: type[T], key: str) -> T | None:
        found = super().get(kind, key)
        return None if found is None else shown_object(found)

    def select(self, kind: type[T], keys: Iterable[str]) -> list[T]:
        return list(map(shown_object, super().select(kind, keys)))

    def derived(self, build: Callable[[Cluster], V], *kinds: type) -> V:
        """What kwhatif's own rules make of objects they share; what a plugin makes, it makes of what it is shown."""
        is_own = getattr(build, "__module__", "").partition(".")[0] == __name__.partition(".")[0]
        made: V = self._shown.derived(build if is_own else cast("Callable[[Cluster], V]", _OfShown(build)), *kinds)
        return made

    def _applied(self, *changes: Change) -> NoReturn:
        del changes
        raise TypeError(_NOT_CHANGED)


class _OfShown(NamedTuple):
    """Makes something of objects as they can only be read."""

    build: Callable[[Cluster], Any]

    def __call__(self, cluster: Cluster) -> Any:
        return self.build(shown_cluster(cluster))


class _Objects(Mapping[str, T]):
    def __init__(self, objects: Mapping[str, T]) -> None:
        self._objects = objects

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[str]:
        return iter(self._objects)

    def __getitem__(self, key: str) -> T:
        return shown_object(self._objects[key])


class _Nodes(Sequence[NodeInfo]):
    def __init__(self, nodes: Sequence[NodeInfo]) -> None:
        self._nodes = nodes

    def __len__(self) -> int:
        return len(self._nodes)

    @overload
    def __getitem__(self, index: int) -> NodeInfo: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[NodeInfo]: ...
    def __getitem__(self, index: int | slice) -> NodeInfo | Sequence[NodeInfo]:
        return _Nodes(self._nodes[index]) if isinstance(index, slice) else shown_node(self._nodes[index])


class _Pods(Mapping[str, PodInfo]):
    def __init__(self, pods: Mapping[str, PodInfo]) -> None:
        self._pods = pods

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[str]:
        return iter(self._pods)

    def __getitem__(self, key: str) -> PodInfo:
        return shown_pod(self._pods[key])


class _NodesByName(Mapping[str, NodeInfo]):
    def __init__(self, nodes: Mapping[str, NodeInfo]) -> None:
        self._nodes = nodes

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __getitem__(self, name: str) -> NodeInfo:
        return shown_node(self._nodes[name])
