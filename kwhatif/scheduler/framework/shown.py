"""The read-only view of the cluster that third-party plugins get.

Dictionaries are copied as read-only ones; structs and tuples are frozen already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from operator import is_
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, TypeVar, cast
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
_NOT_CHANGED = "a plugin does not change the cluster: what reserve returns does"


def view(value: Any) -> Any:
    """What a plugin gets instead of this value. Plain values, and objects of other classes, are given as they are."""
    if type(value) in _PLAIN:
        return value
    for kind, show in _VIEWS.items():
        if isinstance(value, kind):
            return show(value)
    return value


def _shown_object(obj: ObjectT) -> ObjectT:
    known = _SHOWN_OBJECTS.get(id(obj))
    if known is None:
        if len(_SHOWN_OBJECTS) >= _KEPT:
            _SHOWN_OBJECTS.clear()
        known = _SHOWN_OBJECTS[id(obj)] = obj, read_only(obj)
    return cast("ObjectT", known[1])


class _Values(Mapping[K, V]):
    """A mapping with views of the values."""

    def __init__(self, values: Mapping[K, V]) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[K]:
        return iter(self._values)

    def __getitem__(self, key: K) -> V:
        return cast("V", view(self._values[key]))


class _Items(Sequence[V]):
    """A sequence with views of the items."""

    def __init__(self, items: Sequence[V]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        found = self._items[index]
        return _Items(found) if isinstance(index, slice) else view(found)


def _shown_list(values: list[Any]) -> Sequence[Any]:
    return values.copy() if not values or type(values[0]) in _PLAIN else _Items(values)


# --- objects -------------------------------------------------------------------------------------------


def _shown_cluster(cluster: Cluster) -> Cluster:
    return cluster if isinstance(cluster, _ShownObjects) else _show(cluster.fork(), cluster)


def _show(fork: Cluster, cluster: Cluster) -> Cluster:
    """Make a fork of the objects read-only."""
    fork.__class__ = _ShownObjects
    vars(fork)["_shown"] = cluster
    facts = cluster.facts
    fork._facts = replace(facts, unread=_Values(facts.unread), scheduling_events=_Values(facts.scheduling_events))
    return fork


class _ShownObjects(StateObjects):
    _refusal = _NOT_CHANGED
    #: The cluster that this is a fork of.
    _shown: Cluster

    def all(self, kind: type[ObjectT]) -> Mapping[str, ObjectT]:
        return _Values(super().all(kind))

    def get(self, kind: type[ObjectT], key: str) -> ObjectT | None:
        found = super().get(kind, key)
        return None if found is None else _shown_object(found)

    def select(self, kind: type[ObjectT], keys: Iterable[str]) -> list[ObjectT]:
        return list(map(_shown_object, super().select(kind, keys)))

    def derived(self, build: Callable[[Cluster], V], *kinds: type) -> V:
        """Values that kwhatif's own rules derive are shared; those of a plugin are built from the read-only view."""
        is_own = getattr(build, "__module__", "").partition(".")[0] == __name__.partition(".")[0]
        made: V = self._shown.derived(build if is_own else cast("Callable[[Cluster], V]", _OfShown(build)), *kinds)
        return made


class _OfShown(NamedTuple):
    """Builds a value from a read-only view of the objects."""

    build: Callable[[Cluster], Any]

    def __call__(self, cluster: Cluster) -> Any:
        return self.build(_shown_cluster(cluster))


# --- nodes and pods ------------------------------------------------------------------------------------


def _shown_pod(pod: PodInfo) -> PodInfo:
    """A read-only view of the pod: always the same object, as a plugin may compare identities."""
    if isinstance(pod, _ShownPod):
        return pod
    shown = _SHOWN_PODS.get(pod)
    if shown is None:
        shown = _SHOWN_PODS[pod] = _ShownPod(pod)
    return shown


def _shown_node(node: NodeInfo) -> NodeInfo:
    """A copy of the node, with its own labels, and with read-only pods."""
    if node._cut_from is not None:
        node.used_ports()  # computed by comparing pods
    copied = node.clone()
    copied.node, copied.labels = _shown_object(node.node), dict(node.labels)
    copied.pods = list(map(_shown_pod, copied.pods))
    return copied


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


# --- state and cycle -----------------------------------------------------------------------------------


def _shown_state(state: State) -> State:
    shown = state.fork()
    shown.__class__ = _ShownState
    _show(shown.cluster, state.cluster)
    return shown


class _ShownState(State):
    """Its properties are views of those of `State`."""

    def node(self, name: str) -> NodeInfo | None:
        return cast("NodeInfo | None", view(super().node(name)))

    def fork(self) -> State:
        return _shown_state(super().fork())

    def apply(self, *_: Change) -> Touched:
        raise TypeError(_NOT_CHANGED)


def _shown_property(inner: property) -> property:
    return property(lambda state: view(inner.__get__(state)))


for _name, _inner in vars(State).items():
    if isinstance(_inner, property):
        setattr(_ShownState, _name, _shown_property(_inner))


def _shown_cycle(cycle: Cycle) -> Cycle:
    """The cycle as PostFilter gets it, with read-only pods, nodes and objects."""
    shown = copy(cycle)
    shown.pod, shown.state = _shown_pod(cycle.pod), _shown_state(cycle.state)
    shown.feasible = tuple(map(_shown_node, cycle.feasible))
    vars(shown).update(compiled=MappingProxyType(cycle.compiled), verdicts=MappingProxyType(cycle.verdicts))
    for name in ("filters", "skipped_until", "asked", "unschedulable_plugins"):
        setattr(shown, name, copy(getattr(cycle, name)))
    return shown


_VIEWS: dict[type, Callable[[Any], object]] = {
    PodInfo: _shown_pod,
    NodeInfo: _shown_node,
    msgspec.Struct: _shown_object,
    State: _shown_state,
    Cluster: _shown_cluster,
    Cycle: _shown_cycle,
    list: _shown_list,
    tuple: lambda values: tuple(map(view, values)),
    Mapping: _Values,
}
