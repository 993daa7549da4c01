"""The objects of a cluster as third-party plugins get them: read-only copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, cast

from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.read_only import read_only
from kwhatif.state.state import StateObjects

T = TypeVar("T", bound=KubernetesObject)
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


def shown_object(obj: T) -> T:
    """A read-only copy of the object."""
    known = _SHOWN_OBJECTS.get(id(obj))
    if known is None:
        if len(_SHOWN_OBJECTS) >= _KEPT:
            _SHOWN_OBJECTS.clear()
        known = _SHOWN_OBJECTS[id(obj)] = obj, read_only(obj)
    return cast("T", known[1])


def show(view: Cluster, cluster: Cluster) -> Cluster:
    """Make a fork of the objects read-only."""
    view.__class__ = _ShownObjects
    vars(view)["_shown"] = cluster
    view.scheduling_events = MappingProxyType(cluster.scheduling_events)
    return view


class _ShownObjects(StateObjects):
    #: The cluster that this is a fork of.
    _shown: Cluster

    def all(self, kind: type[T]) -> Mapping[str, T]:
        return Copies(super().all(kind), shown_object)

    def get(self, kind: type[T], key: str) -> T | None:
        found = super().get(kind, key)
        return None if found is None else shown_object(found)

    def select(self, kind: type[T], keys: Iterable[str]) -> list[T]:
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
