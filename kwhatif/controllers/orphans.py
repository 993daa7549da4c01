"""`Orphans`: objects without a controller, by namespace and label, which controllers may adopt."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, Self, TypeVar, cast

from kwhatif.kube.matching.labels import Selector
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.overlay import Overlay
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import ReplicaSet
from kwhatif.workloads.survey import survey_of

T = TypeVar("T", bound=KubernetesObject)
#: A namespace, and a label of objects in it; None: all objects in it.
_Place = tuple[str, tuple[str, str] | None]
#: Keys of objects: a set that is cheap to fork.
_Keys = Overlay[str, bool]


class Orphans(Generic[T]):
    """Built once for a cluster, and updated when objects are added, changed or deleted (`Index`)."""

    def __init__(self, kind: type[T], objects: Iterable[T]) -> None:
        self._kind = kind
        self._places: Overlay[_Place, _Keys] = Overlay()
        for obj in objects:
            if controller_of(obj.metadata) is None:
                self._file(obj)

    def there_are_any(self, namespace: str) -> bool:
        """Whether there is an orphan in the namespace."""
        return bool(self._places.get((namespace, None)))

    def matching(self, namespace: str, selector: Selector, cluster: Cluster) -> list[T]:
        """The orphans in the namespace that the selector matches, by name."""
        keys = self._places.get((namespace, selector.pair)) or ()
        found = cluster.select(self._kind, sorted(keys))
        return [obj for obj in found if selector.matches(obj.metadata.labels)]

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> Self | None:
        """See `Index`."""
        was, now = _labels_of_orphan(before), _labels_of_orphan(after)
        if was == now and (before is None) is (after is None):
            return self
        other = cast("Self", Orphans(self._kind, ()))
        other._places = self._places.fork()
        if before is not None and was is not None:
            for place in _places(before):
                other._own(place).pop(key_of(before))
        if after is not None and now is not None:
            other._file(after)
        return other

    def _file(self, obj: KubernetesObject) -> None:
        for place in _places(obj):
            self._own(place).put(key_of(obj), True)

    def _own(self, place: _Place) -> _Keys:
        """The keys at this place, copied before the change because an earlier index still has them."""
        known = self._places.get(place)
        own = Overlay() if known is None else known.fork()
        self._places.put(place, own)
        return own


def _places(obj: KubernetesObject) -> Iterable[_Place]:
    namespace = obj.metadata.namespace
    return ((namespace, pair) for pair in (None, *obj.metadata.labels.items()))


def _labels_of_orphan(obj: KubernetesObject | None) -> dict[str, str] | None:
    return None if obj is None or controller_of(obj.metadata) is not None else obj.metadata.labels


def orphan_pods(cluster: Cluster) -> Orphans[Pod]:
    """The bare pods of the cluster."""
    return cluster.derived(_pods, Pod)


def orphan_sets(cluster: Cluster) -> Orphans[ReplicaSet]:
    """The ReplicaSets that no Deployment owns."""
    return cluster.derived(_sets, ReplicaSet)


def _pods(cluster: Cluster) -> Orphans[Pod]:
    keys: Any = (key for place, each in survey_of(cluster).controlled.items() if not place[1] for key in each.keys)
    return Orphans(Pod, cluster.select(Pod, keys))


def _sets(cluster: Cluster) -> Orphans[ReplicaSet]:
    return Orphans(ReplicaSet, cluster.all(ReplicaSet).values())
