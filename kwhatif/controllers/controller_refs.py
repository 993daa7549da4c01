"""Adoption and release by selectors (`pkg/controller/controller_ref_manager.go`, `ClaimObject`).

A controller releases objects that it owns but no longer selects, and adopts objects without controller that it selects.
Here this is a separate sync, before the controller's other work. At the start of a simulation all ownership counts as
settled, except for objects that edits have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, Self, TypeVar, cast

from msgspec.structs import replace

from kwhatif.controllers.contract import NOTHING, Controller, SyncResult, Update, View
from kwhatif.kube.matching.labels import Selector, SelectorError, compile_selector, selector_of_map
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.kinds import in_namespace
from kwhatif.kube.model.meta import OwnerReference, controller_of
from kwhatif.kube.model.overlay import KeySets
from kwhatif.kube.model.pod import JOB_TRACKING, Pod
from kwhatif.kube.model.workload import DaemonSet, Deployment, Job, ReplicaSet, ReplicationController, StatefulSet
from kwhatif.workloads.job import is_finished
from kwhatif.workloads.names import ordinal_of
from kwhatif.workloads.owners import reference
from kwhatif.workloads.removal import is_active
from kwhatif.workloads.survey import survey_of

T = TypeVar("T", bound=KubernetesObject)
#: A namespace, and a label of objects in it; None: all objects in it.
_Entry = tuple[str, tuple[str, str] | None]


class Orphans(Generic[T]):
    """Objects without a controller, by namespace and label.

    Built once for a cluster, and updated when objects are added, changed or deleted (`Index`).
    """

    def __init__(self, kind: type[T], objects: Iterable[T]) -> None:
        self._kind = kind
        sets: dict[_Entry, dict[str, bool]] = {}
        for obj in objects:
            for entry in _entries_of(obj):
                sets.setdefault(entry, {})[key_of(obj)] = True
        self._keys = KeySets(sets)

    def there_are_any(self, namespace: str) -> bool:
        """Whether the namespace has an orphan."""
        return bool(self._keys.get((namespace, None)))

    def matching(self, namespace: str, selector: Selector, cluster: Cluster) -> list[T]:
        """The orphans in the namespace that the selector matches, by name."""
        found = cluster.select(self._kind, sorted(self._keys.get((namespace, selector.pair))))
        return [obj for obj in found if selector.matches(obj.metadata.labels)]

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> Self | None:
        """See `Index`."""
        was, now, obj = _entries_of(before), _entries_of(after), before or after
        if obj is None or was == now:
            return self
        other = cast("Self", Orphans(self._kind, ()))
        other._keys = self._keys.moved(key_of(obj), was, now)
        return other


def _entries_of(obj: KubernetesObject | None) -> list[_Entry]:
    if obj is None or controller_of(obj.metadata) is not None:
        return []
    return [(obj.metadata.namespace, pair) for pair in (None, *obj.metadata.labels.items())]


def orphan_pods(cluster: Cluster) -> Orphans[Pod]:
    """The bare pods of the cluster."""
    return cluster.derived(_pods, Pod)


def orphan_sets(cluster: Cluster) -> Orphans[ReplicaSet]:
    """The ReplicaSets that no Deployment owns."""
    return cluster.derived(_sets, ReplicaSet)


def _pods(cluster: Cluster) -> Orphans[Pod]:
    keys: Any = (key for entry, each in survey_of(cluster).controlled.items() if not entry[1] for key in each.keys)
    return Orphans(Pod, cluster.select(Pod, keys))


def _sets(cluster: Cluster) -> Orphans[ReplicaSet]:
    return Orphans(ReplicaSet, cluster.all(ReplicaSet).values())


Claiming = DaemonSet | Deployment | Job | ReplicaSet | ReplicationController | StatefulSet
#: Kinds whose controllers see only active pods (`FilterActivePods`).
_OF_ACTIVE = (ReplicaSet, ReplicationController)


class ControllerRefs:
    """Adoptions and releases by controllers of one kind."""

    def __init__(self, kind: type[Claiming]) -> None:
        self._kind = kind
        self._owned: type[Any] = ReplicaSet if kind is Deployment else Pod
        self._orphans: Callable[[Cluster], Orphans[Any]] = orphan_sets if kind is Deployment else orphan_pods
        self.name = kind.__name__
        self.watches = (kind, self._owned)

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """See `Controller`: new owners, changed selectors, changed labels, and objects that lost their owner."""
        if isinstance(after, self._kind):
            is_same = before is not None and _selector_field(before) == _selector_field(after)
            return () if is_same else self._with_work(after, view, selects_otherwise=before is not None)
        if not isinstance(after, self._owned):
            return ()
        if before is not None and _claim(before) == _claim(after):
            return ()
        owner = controller_of(after.metadata)
        if owner is None:
            return self._adopters(after, view)
        is_ours = owner.kind == self.name and before is not None
        return (f"{after.metadata.namespace}/{owner.name}",) if is_ours else ()

    def _with_work(self, owner: Any, view: View, *, selects_otherwise: bool) -> Iterable[str]:
        orphans = self._orphans(view.state.cluster)
        if selects_otherwise:
            return (key_of(owner),)
        if not orphans.there_are_any(owner.metadata.namespace) or (selector := selector_of(owner)) is None:
            return ()
        found = orphans.matching(owner.metadata.namespace, selector, view.state.cluster)
        return (key_of(owner),) if found else ()

    def _adopters(self, obj: Any, view: View) -> Iterator[str]:
        for owner in in_namespace(self._kind, obj.metadata.namespace, view.state.cluster):
            if _may_select(owner, obj) and (selector := selector_of(owner)) and selector.matches(obj.metadata.labels):
                yield key_of(owner)

    def sync(self, key: str, view: View) -> SyncResult:
        """See `Controller`."""
        owner: Any = view.state.cluster.get(self._kind, key)
        if owner is None or owner.metadata.deletion_timestamp is not None:
            return NOTHING
        selector = selector_of(owner)
        if selector is None or (isinstance(owner, Job) and is_finished(owner)):
            return NOTHING
        cluster = view.state.cluster
        adopted = self._orphans(cluster).matching(owner.metadata.namespace, selector, cluster)
        released = [each for each in view.owned(owner, self._owned) if not selector.matches(each.metadata.labels)]
        writes = (
            *(Update(with_controller(each, None)) for each in released if _is_seen(each, owner)),
            *(Update(with_controller(each, owner)) for each in adopted if _is_claimed(each, owner)),
        )
        return SyncResult(writes)


def with_controller(obj: Any, owner: Claiming | None) -> Any:
    """The object with this controller, or with none."""
    meta = obj.metadata
    others = tuple(each for each in meta.owner_references if not each.controller)
    references: tuple[OwnerReference, ...] = others if owner is None else (*others, reference(owner))
    changed: dict[str, Any] = {"owner_references": references}
    before = controller_of(meta)
    if isinstance(obj, Pod) and (isinstance(owner, Job) or (before is not None and before.kind == Job.__name__)):
        finalizers = tuple(name for name in meta.finalizers if name != JOB_TRACKING)
        changed["finalizers"] = (*finalizers, JOB_TRACKING) if isinstance(owner, Job) else finalizers
    return replace(obj, metadata=replace(meta, **changed))


def selector_of(owner: Any) -> Selector | None:
    """The owner's selector; None if it claims nothing because its selector is invalid or missing."""
    selector = owner.spec.selector
    if isinstance(owner, ReplicationController):
        return selector_of_map(selector) if selector else None
    try:
        found = compile_selector(selector)
    except SelectorError:
        return None
    return None if found.nothing or found.empty else found


def _may_select(owner: Any, obj: Any) -> bool:
    """Whether the first label of the selector matches: most selectors fail here, and need not be compiled."""
    selector = owner.spec.selector
    equals: Mapping[str, str] = (getattr(selector, "match_labels", selector) or {}) if selector else {}
    return all(obj.metadata.labels.get(key) == value for key, value in equals.items())


def _is_seen(obj: Any, owner: Any) -> bool:
    """Whether the owner's controller sees the object."""
    return not isinstance(owner, _OF_ACTIVE) or is_active(obj)


def _is_claimed(obj: Any, owner: Any) -> bool:
    """Whether the owner adopts the object, if it selects it."""
    if obj.metadata.deletion_timestamp is not None or not _is_seen(obj, owner):
        return False
    return not isinstance(owner, StatefulSet) or ordinal_of(obj.metadata, owner.metadata.name) is not None


def _claim(obj: KubernetesObject) -> tuple[dict[str, str], OwnerReference | None]:
    """The fields that ownership depends on: the labels and the controller."""
    return obj.metadata.labels, controller_of(obj.metadata)


def _selector_field(owner: KubernetesObject) -> object:
    return owner.spec.selector  # type: ignore[attr-defined]


CLAIMING: tuple[type[Claiming], ...] = (Deployment, ReplicaSet, ReplicationController, StatefulSet, DaemonSet, Job)
CONTROLLERS: tuple[Controller, ...] = tuple(map(ControllerRefs, CLAIMING))
