"""`Cluster`: all objects of one cluster at one point in time, by kind and key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import count
from typing import Any, NamedTuple, Protocol, Self, TypeVar, cast

import msgspec
from msgspec.structs import replace

from kwhatif.kube.gates import BASE, BASE_GATES, BASE_RESIZES, Gates, ResizeRules
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.overlay import Overlay
from kwhatif.kube.model.pod import SchedulingEvents
from kwhatif.kube.model.policy import PriorityClass, Webhooks
from kwhatif.kube.model.workload import Namespace

_numbers = count(1)


def next_generation() -> int:
    """A new number, larger than all before (`nextGeneration` in `pkg/scheduler/framework/types.go`).

    There is a single counter. So equal generations mean equal content, on any fork: a cache stores the generation of
    its source, and is valid as long as the generation is the same.
    """
    return next(_numbers)


def resume_after(generation: int) -> None:
    """Return only larger numbers from now on, because objects pickled by another process keep their generations."""
    global _numbers  # noqa: PLW0603 - the counter is one for the whole process, as upstream's
    _numbers = count(max(next(_numbers), generation + 1))


NAMESPACE_LABEL = "kubernetes.io/metadata.name"

#: Built into every API server (`pkg/apis/scheduling/types.go`).
SYSTEM_PRIORITY_CLASSES = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}


class KubernetesObject(Protocol):
    """Anything with metadata."""

    @property
    def metadata(self) -> ObjectMeta:
        """The object's metadata."""


T = TypeVar("T", bound=KubernetesObject)
V = TypeVar("V")

_NOTHING: Mapping[str, Any] = {}


def key_of(obj: KubernetesObject) -> str:
    """`namespace/name`, or the bare name of an object without a namespace."""
    meta = obj.metadata
    return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name


def identity(obj: KubernetesObject) -> str:
    """The UID; for a hand-written object without one, its key."""
    return obj.metadata.uid or key_of(obj)


class ObjectRef(NamedTuple):
    """The kind and the key of an object; the text form, which reports use, is `Kind namespace/name`."""

    kind: str
    #: As `key_of` returns it.
    key: str

    @classmethod
    def of(cls, obj: KubernetesObject | CustomResource) -> ObjectRef:
        """The reference to this object."""
        return cls(obj.kind if isinstance(obj, CustomResource) else type(obj).__name__, key_of(obj))

    @classmethod
    def parse(cls, text: str) -> ObjectRef:
        """Parse the text that `str` returns; for any other text, such as a user's name, the key has no meaning."""
        kind, _, key = text.partition(" ")
        return cls(kind, key)

    @property
    def namespace(self) -> str:
        """The namespace; "" for an object without a namespace."""
        return self.key.rpartition("/")[0]

    @property
    def name(self) -> str:
        """The name, without the namespace."""
        return self.key.rpartition("/")[2]

    @property
    def argument(self) -> str:
        """The form for commands and edits, such as `deployment/shop/web`."""
        return f"{self.kind.lower()}/{self.key}"

    def __str__(self) -> str:
        return f"{self.kind} {self.key}" if self.key else self.kind


def list_order(key: str) -> str:
    """The sort key of the API server's lists: by namespace, then name.

    The slash is replaced by the lowest character, so that a namespace comes before longer namespaces with this prefix.
    """
    return key.replace("/", "\0", 1)


class Index(Protocol):
    """A value kept by `Cluster.derived` that can update itself when one object changes."""

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> Self | None:
        """The index after the change of an object: this object if the change does not matter; None: it must be rebuilt.

        Forks share the index, so this must not modify it. `before` is None for a new object, `after` for a deleted one.
        """


class _Derived(NamedTuple):
    """A value that was computed from some kinds, and the generations of these kinds at that time."""

    kinds: tuple[type, ...]
    generations: tuple[int, ...]
    value: Any


class ClusterFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a cluster besides its objects. `Cluster.generation(ClusterFacts)` changes with it."""

    #: The time of this state of the cluster, RFC 3339; "" if unknown. The current time is never used instead.
    taken_at: str = ""
    #: Kind that could not be read -> the reason; empty for a complete dump.
    unread: Mapping[str, str] = {}
    #: Whether all kinds not in `unread` were read, so that a missing object does not exist. False for a plain dump.
    is_whole: bool = True
    #: For `lacks`: kinds that were listed, even if the list was empty; and kinds whose objects were inferred because
    #: the input lacks them.
    listed: frozenset[str] = frozenset()
    made_up: frozenset[str] = frozenset()
    #: The minor version of Kubernetes, and the feature gates that are on.
    minor: int = BASE
    gates: Gates = BASE_GATES
    #: Which requests count while a pod is resized in place.
    resizes: ResizeRules = BASE_RESIZES
    #: Whether the scheduler keeps nominations of pods that PreEnqueue rejects.
    nominates_gated: bool = False
    #: The additions of webhooks to new pods; None: not known.
    webhooks: Webhooks | None = None
    #: Scheduling attempts of pending pods that Events show, by key of the pod.
    scheduling_events: Mapping[str, SchedulingEvents] = {}


class Cluster:
    """Typed objects by kind and, within a kind, by key, in the API server's list order (by namespace, then name).

    A mutable collection of immutable objects. `fork` returns an independent collection that shares the objects.
    """

    def __init__(self, objects: Iterable[KubernetesObject] = ()) -> None:
        self._kinds: dict[type, Overlay[str, KubernetesObject]] = {}
        #: Generations by kind; and by (kind, namespace), for objects that have changed since they were read.
        self._generations: dict[type | tuple[type, str], int] = {}
        #: The values of `derived`, by the function that builds them.
        self._derived: dict[Callable[[Cluster], Any], _Derived] = {}
        #: By kind: the functions whose values in `_derived` are updated when an object of the kind changes.
        self._following: dict[type, Sequence[Callable[[Cluster], Any]]] = {}
        #: Values derived from the objects that all forks started with, up to generation `_origin`; forks share them.
        self._of_origin: dict[Callable[[Cluster], Any], _Derived] = {}
        self._origin = 0
        #: All functions that `derived` was called with, here or in a fork, and the kinds that they read.
        self._asked: dict[Callable[[Cluster], Any], tuple[type, ...]] = {}
        self._facts = ClusterFacts()
        #: Nodes that are known not to exist any more (`lacks_node`).
        self.gone_nodes: frozenset[str] = frozenset()
        for name, value in SYSTEM_PRIORITY_CLASSES.items():
            self.add(PriorityClass(metadata=ObjectMeta(name=name), value=value))
        for obj in objects:
            self.add(obj)

    @property
    def facts(self) -> ClusterFacts:
        """What is known of the cluster besides its objects."""
        return self._facts

    def update_facts(self, **changes: Any) -> None:
        """Change some fields of the facts."""
        self._set_facts(replace(self._facts, **changes))

    def _set_facts(self, facts: ClusterFacts) -> None:
        self._facts = facts
        self._generations[ClusterFacts] = next_generation()

    def add(self, obj: KubernetesObject) -> None:
        """Add the object, replacing one of the same kind and key."""
        self._put(obj)

    def _put(self, obj: KubernetesObject, *, last: bool = False) -> None:
        """Add the object; with `last`, it moves to the end, even if it replaces an object."""
        kind, key = type(obj), key_of(obj)
        objects = self._kinds.get(kind)
        if objects is None:
            objects = self._kinds[kind] = Overlay()
        before = (objects.pop(key) if last else objects.get(key)) if self._derived or last else None
        objects.put(key, obj)
        self._has_changed(kind, before, obj)

    def add_all(self, kind: type, objects: Mapping[str, KubernetesObject]) -> None:
        """Add many objects of one kind by key, replacing objects with the same key."""
        self._kinds.setdefault(kind, Overlay()).update(objects)
        self._generations[kind] = next_generation()

    def discard(self, kind: type, key: str) -> None:
        """Remove the object of that kind and key; an absent object is not an error."""
        self._pop(kind, key)

    def _pop(self, kind: type, key: str) -> KubernetesObject | None:
        found = self._kinds[kind].pop(key) if kind in self._kinds else None
        if found is not None:
            self._has_changed(kind, found, None)
        return found

    def all(self, kind: type[T]) -> Mapping[str, T]:
        """All objects of one kind, by key."""
        return self._kinds.get(kind, _NOTHING)  # type: ignore[return-value] # `cast` is a call, and this is hot

    def select(self, kind: type[T], keys: Iterable[str]) -> list[T]:
        """The objects of that kind with these keys; all must exist."""
        objects = self._kinds.get(kind)
        return [] if objects is None else cast("list[T]", objects.select(keys))

    def get(self, kind: type[T], key: str) -> T | None:
        """The object of that kind and key (`namespace/name`, or `name`)."""
        objects = self._kinds.get(kind)
        return None if objects is None else objects.get(key)  # type: ignore[return-value]

    def in_order(self, kind: type, keys: AbstractSet[str]) -> list[str]:
        """These keys of that kind, in the collection's order; all must exist."""
        objects = self._kinds.get(kind)
        return [] if objects is None else objects.in_order(keys)

    def counts(self) -> dict[type[KubernetesObject], int]:
        """Kind -> number of objects, for every kind that has objects."""
        return {kind: len(objects) for kind, objects in self._kinds.items() if objects}

    # --- generations ---------------------------------------------------------------------------------

    def generation(self, kind: type, namespace: str | None = None) -> int:
        """A number that changes with every change of the kind's objects (in one namespace, if given); 0: never any."""
        known = self._generations
        return known.get(kind, 0) if namespace is None else known.get((kind, namespace), 0)

    def _has_changed(self, kind: type, before: KubernetesObject | None, after: KubernetesObject | None) -> None:
        was = self._generations.get(kind, 0)
        self._generations[kind] = now = next_generation()
        for build in self._followers(kind) if self._derived else ():
            kinds, generations, value = self._derived[build]
            index = kinds.index(kind)
            if generations[index] == was and (after_all := value.updated(before, after)) is not None:
                since = (*generations[:index], now, *generations[index + 1 :])
                self._derived[build] = _Derived(kinds, since, after_all)

    def _followers(self, kind: type) -> Sequence[Callable[[Cluster], Any]]:
        """The functions whose values are derived from the kind, and are updated instead of rebuilt."""
        known = self._following.get(kind)
        if known is None:
            derived = self._derived.items()
            known = [build for build, found in derived if kind in found.kinds and hasattr(found.value, "updated")]
            self._following[kind] = known
        return known

    def derived(self, build: Callable[[Cluster], V], *kinds: type) -> V:
        """The result of `build` for this cluster, cached as long as the generations of `kinds` do not change.

        For indexes that every cycle needs, such as the volumes of a storage class. An `Index` is updated, not rebuilt.
        """
        remembered = self._derived.get(build)
        generations = tuple([self._generations.get(kind, 0) for kind in kinds])
        if remembered is None or remembered.generations != generations:
            remembered = self._of_origin.get(build)
            if remembered is None or remembered.generations != generations:
                remembered = _Derived(kinds, generations, build(self))
                if max(generations, default=0) <= self._origin:
                    self._of_origin[build] = remembered
            if build not in self._derived:
                self._following = {}
            self._derived[build] = remembered
            self._asked[build] = kinds
        return cast("V", remembered.value)

    def forget_derived(self, kind: type) -> None:
        """Drop the values derived from that kind, to save updates in a fork where many objects of the kind change."""
        self._derived = {build: found for build, found in self._derived.items() if kind not in found.kinds}
        self._following = {}

    def derive_all(self) -> None:
        """Compute the values that any fork of this collection has used, so that later forks share them."""
        for build, kinds in list(self._asked.items()):
            self.derived(build, *kinds)

    def take_over(self) -> None:
        """Copy the values that forks have computed from these objects, and update them from now on.

        So if this collection changes, later forks share the values that an earlier fork computed.
        """
        for build, found in self._of_origin.items():
            if found.generations == tuple([self._generations.get(kind, 0) for kind in found.kinds]):
                self._derived[build] = found
        self._of_origin, self._origin, self._following = {}, next_generation(), {}

    # --- the whole collection ------------------------------------------------------------------------

    def sort(self) -> None:
        """Sort every kind into the API server's list order, so that the order of the input does not matter."""
        for kind, objects in self._kinds.items():
            in_order = sorted(objects, key=list_order)
            if in_order != list(objects):
                objects.reorder(in_order)
                self._generations[kind] = next_generation()

    def _sort(self, kind: type, misplaced: AbstractSet[str]) -> None:
        """Sort the objects of one kind into list order; only the keys in `misplaced` may be out of order."""
        if kind in self._kinds:
            self._kinds[kind].sort(misplaced, list_order)

    def fork(self) -> Cluster:
        """An independent collection that shares the objects and the derived values."""
        other = Cluster.__new__(Cluster)
        self._fork_into(other)
        return other

    def _fork_into(self, other: Cluster) -> None:
        other._kinds = {kind: objects.fork() for kind, objects in self._kinds.items()}
        other._generations = self._generations.copy()
        other._derived, other._following = self._derived.copy(), {}
        other._of_origin, other._origin, other._asked = self._of_origin, self._origin, self._asked
        other._facts, other.gone_nodes = self._facts, self.gone_nodes

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """Labels of a namespace; without a Namespace object only the name label, which the API server always sets."""
        namespace = self.get(Namespace, name)
        if namespace is None:
            return {NAMESPACE_LABEL: name}
        labels = namespace.metadata.labels
        return labels if NAMESPACE_LABEL in labels else {**labels, NAMESPACE_LABEL: name}

    def __getstate__(self) -> dict[str, object]:
        """The state without derived values: another process computes them again."""
        return self.__dict__ | {"_derived": {}, "_following": {}, "_of_origin": {}, "_asked": {}}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        resume_after(max(self._generations.values(), default=0))


def lacks(kind: type, cluster: Cluster) -> bool:
    """Whether the input has no object of that kind, although the cluster may have some.

    This happens if the dump was made without the kind, or if the kind could not be read.
    """
    facts, name = cluster.facts, kind.__name__
    if name in facts.made_up:
        return True
    if any(read_classes(cluster)) if kind is PriorityClass else any(map(_is_itself, cluster.all(kind).values())):
        return False
    return name in facts.unread or not (facts.is_whole or name in facts.listed)


def _is_itself(obj: KubernetesObject) -> bool:
    """Whether the object does not stand for a custom resource."""
    return obj.metadata.stands_for is None


def read_classes(cluster: Cluster) -> Iterator[PriorityClass]:
    """The priority classes that were read; the two built-in classes are included only if they have a UID."""
    found = cluster.all(PriorityClass).items()
    return (each for name, each in found if each.metadata.uid or name not in SYSTEM_PRIORITY_CLASSES)


def lacks_node(name: str, cluster: Cluster) -> bool:
    """Whether the input lacks a node of that name, but the node may exist.

    If all nodes were read, a node that is not in the input does not exist.
    """
    return (
        bool(name) and not cluster.facts.is_whole and name not in cluster.gone_nodes and cluster.get(Node, name) is None
    )
