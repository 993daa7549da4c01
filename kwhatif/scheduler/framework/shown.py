"""The read-only view of the cluster that third-party plugins get.

Dictionaries are copied as read-only ones; structs and tuples are frozen already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from operator import is_
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, TypeVar, cast, overload
from weakref import WeakKeyDictionary

import msgspec
from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.pod import Pod
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.state.change import Change, Touched
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State, StateObjects

T = TypeVar("T")
_PLAIN = frozenset((str, int, bool, float, bytes, type(None)))


class ReadOnlyDict(dict[Any, Any]):
    """A dictionary that cannot be changed; decoders and encoders treat it as a plain one."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this is read-only: change a copy of it")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles of it are plain dictionaries."""
        return dict, (dict(self),)


def read_only(value: T) -> T:
    """A copy with read-only dictionaries at all levels; values without dictionaries are shared."""
    return _read_only(value)  # type: ignore[no-any-return] # of the same type, or of a subclass


def _read_only(value: Any) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is dict:
        return ReadOnlyDict({key: _read_only(each) for key, each in value.items()})
    if kind is tuple:
        made = [_read_only(each) for each in value]
        return value if all(map(is_, made, value)) else tuple(made)
    if isinstance(value, msgspec.Struct):
        found: dict[str, Any] = {}
        for name in value.__struct_fields__:
            before = getattr(value, name)
            if type(before) not in _PLAIN and (after := _read_only(before)) is not before:
                found[name] = after
        return replace(value, **found) if found else value
    return value


ObjectT = TypeVar("ObjectT", bound=KubernetesObject)
K = TypeVar("K")
V = TypeVar("V")
#: The number of copies to keep: the pods of a large cluster. With more, all are dropped.
_KEPT = 100_000
#: Objects and their copies by id; keeping the object prevents reuse of its id.
_SHOWN_OBJECTS: dict[int, tuple[KubernetesObject, KubernetesObject]] = {}
NOT_CHANGED = "a plugin does not change the cluster: what reserve returns does"


def shown_cluster(cluster: Cluster) -> Cluster:
    """A read-only view of the objects."""
    return cluster if isinstance(cluster, _ShownObjects) else show(cluster.fork(), cluster)


def shown_object(obj: ObjectT) -> ObjectT:
    """A read-only copy of the object."""
    known = _SHOWN_OBJECTS.get(id(obj))
    if known is None:
        if len(_SHOWN_OBJECTS) >= _KEPT:
            _SHOWN_OBJECTS.clear()
        known = _SHOWN_OBJECTS[id(obj)] = obj, read_only(obj)
    return cast("ObjectT", known[1])


def show(view: Cluster, cluster: Cluster) -> Cluster:
    """Make a fork of the objects read-only."""
    view.__class__ = _ShownObjects
    vars(view)["_shown"] = cluster
    facts = cluster.facts
    view._facts = replace(
        facts, unread=MappingProxyType(facts.unread), scheduling_events=MappingProxyType(facts.scheduling_events)
    )
    return view


class _ShownObjects(StateObjects):
    #: The cluster that this is a fork of.
    _shown: Cluster

    def all(self, kind: type[ObjectT]) -> Mapping[str, ObjectT]:
        return Copies(super().all(kind), shown_object)

    def get(self, kind: type[ObjectT], key: str) -> ObjectT | None:
        found = super().get(kind, key)
        return None if found is None else shown_object(found)

    def select(self, kind: type[ObjectT], keys: Iterable[str]) -> list[ObjectT]:
        return list(map(shown_object, super().select(kind, keys)))

    def derived(self, build: Callable[[Cluster], V], *kinds: type) -> V:
        """Values that kwhatif's own rules derive are shared; those of a plugin are built from the read-only view."""
        is_own = getattr(build, "__module__", "").partition(".")[0] == __name__.partition(".")[0]
        made: V = self._shown.derived(build if is_own else cast("Callable[[Cluster], V]", _OfShown(build)), *kinds)
        return made

    _refusal = NOT_CHANGED


class _OfShown(NamedTuple):
    """Builds a value from a read-only view of the objects."""

    build: Callable[[Cluster], Any]

    def __call__(self, cluster: Cluster) -> Any:
        return self.build(shown_cluster(cluster))


class Copies(Mapping[K, V]):
    """A mapping whose values are copied on access."""

    def __init__(self, values: Mapping[K, V], copy: Callable[[V], V]) -> None:
        self._values, self._copy = values, copy

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[K]:
        return iter(self._values)

    def __getitem__(self, key: K) -> V:
        return self._copy(self._values[key])


def shown(state: State) -> State:
    """The state with read-only collections, and with copies of nodes on access."""
    view = state.fork()
    view.__class__ = _Shown
    show(view.cluster, state.cluster)
    return view


def shown_cycle(cycle: Cycle) -> Cycle:
    """The cycle as PostFilter gets it, with read-only pods, nodes and objects."""
    view = copy(cycle)
    view.pod, view.state = shown_pod(cycle.pod), shown(cycle.state)
    view.feasible = tuple(map(shown_node, cycle.feasible))
    vars(view)["compiled"] = MappingProxyType(cycle.compiled)
    vars(view)["verdicts"] = MappingProxyType(cycle.verdicts)
    view.filters, view.skipped_until = cycle.filters.copy(), cycle.skipped_until.copy()
    view.asked, view.unschedulable_plugins = cycle.asked.copy(), cycle.unschedulable_plugins.copy()
    return view


def shown_pod(pod: PodInfo) -> PodInfo:
    """A read-only view of the pod: always the same object, as a plugin may compare identities."""
    if isinstance(pod, _ShownPod):
        return pod
    view = _SHOWN_PODS.get(pod)
    if view is None:
        view = _SHOWN_PODS[pod] = _ShownPod(pod)
    return view


def shown_node(node: NodeInfo) -> NodeInfo:
    """A copy of the node, with its own labels, and with read-only pods."""
    if node._cut_from is not None:
        node.used_ports()  # computed by comparing pods
    view = node.clone()
    view.node, view.labels = shown_object(node.node), dict(node.labels)
    view.pods = list(map(shown_pod, view.pods))
    return view


class _ShownPod(PodInfo):
    """A read-only pod. Its parts are copied on access."""

    _raw: Pod

    def __init__(self, pod: PodInfo) -> None:
        vars(self).update(vars(pod), _raw=pod.pod, labels=dict(pod.labels), memos=None, _derived=None)
        del vars(self)["pod"]
        if pod.affinity is not None:
            del vars(self)["affinity"]
            vars(self)["_affinity_terms"] = None

    def __getattr__(self, name: str) -> Any:
        """`pod` and `affinity`, on first access."""
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

    # These two are read too often for a copy.

    @property
    def name(self) -> str:
        return self._raw.metadata.name

    @property
    def terminating(self) -> bool:
        return self._raw.metadata.deletion_timestamp is not None


#: Attributes with cached results about the pod.
_FOUND_OUT = frozenset({"_ports", "_affinity_terms", "_derived", "memos", "budgets"})
_SHOWN_PODS: WeakKeyDictionary[PodInfo, _ShownPod] = WeakKeyDictionary()


class _Shown(State):
    """The properties are those of `State`."""

    @property
    def nodes(self) -> Sequence[NodeInfo]:
        return _Nodes(super().nodes)

    @property
    def by_name(self) -> Mapping[str, NodeInfo]:
        return Copies(super().by_name, shown_node)

    @property
    def of_shape(self) -> Mapping[int, NodeInfo]:
        return Copies(super().of_shape, shown_node)

    @property
    def names_and_shapes(self) -> tuple[Sequence[str], Sequence[int]]:
        names, shapes = super().names_and_shapes
        return tuple(names), tuple(shapes)

    @property
    def places(self) -> Mapping[str, int]:
        return MappingProxyType(super().places)

    def node(self, name: str) -> NodeInfo | None:
        found = super().node(name)
        return None if found is None else shown_node(found)

    @property
    def pods(self) -> Mapping[str, PodInfo]:
        return Copies(super().pods, shown_pod)

    @property
    def pending(self) -> Mapping[str, PodInfo]:
        return Copies(super().pending, shown_pod)

    @property
    def nominated(self) -> Mapping[str, Sequence[PodInfo]]:
        return Copies(super().nominated, _shown_pods)

    @property
    def strays(self) -> Mapping[str, Sequence[PodInfo]]:
        return Copies(super().strays, _shown_pods)

    def fork(self) -> State:
        return shown(super().fork())

    def apply(self, *changes: Change) -> Touched:
        raise TypeError(NOT_CHANGED)


def _shown_pods(pods: Sequence[PodInfo]) -> Sequence[PodInfo]:
    return tuple(map(shown_pod, pods))


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
