"""`Cluster`: all objects of one cluster at one moment, by kind and key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar, cast

from kwhatif.model.meta import ObjectMeta
from kwhatif.model.policy import PriorityClass
from kwhatif.model.workload import Namespace

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


def key_of(obj: KubernetesObject) -> str:
    """`namespace/name`, or the bare name of an object without a namespace."""
    meta = obj.metadata
    return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name


class Cluster:
    """Typed objects by kind; within a kind by key, in the API server's list order (by namespace, then name).

    A mutable collection of immutable objects. `fork` gives an independent one that shares the objects.
    """

    def __init__(self, objects: Iterable[KubernetesObject] = ()) -> None:
        self._kinds: dict[type, dict[str, KubernetesObject]] = {}
        #: What `derived` remembers: how it was made -> the kinds it was made of, and itself.
        self._derived: dict[Callable[[Cluster], Any], tuple[frozenset[type], Any]] = {}
        #: Kinds that could not be read; empty for a complete dump. Kind -> why.
        self.unread: dict[str, str] = {}
        #: The moment that this shows, RFC 3339; "" where the input does not say. Nothing here asks a clock.
        self.taken_at = ""
        #: Whether all else was asked for, so that a kind without objects has none. Of a plain dump nobody knows.
        self.is_whole = True
        for name, value in SYSTEM_PRIORITY_CLASSES.items():
            self.add(PriorityClass(metadata=ObjectMeta(name=name), value=value))
        for obj in objects:
            self.add(obj)

    def add(self, obj: KubernetesObject) -> None:
        """Add the object, in place of one of the same kind and key."""
        self._kinds.setdefault(type(obj), {})[key_of(obj)] = obj
        if self._derived:
            self._outdate(type(obj))

    def add_all(self, kind: type, objects: Mapping[str, KubernetesObject]) -> None:
        """Add many objects of one kind, by key, in place of those of the same key."""
        self._kinds.setdefault(kind, {}).update(objects)
        if self._derived:
            self._outdate(kind)

    def assume(self, obj: KubernetesObject) -> None:
        """Replace an object by its updated self, and keep what is derived.

        For updates that no index looks at, as the scheduler's assume caches make them (a volume gets a claim, a claim a
        node): the index still finds the object, and then meets the new one.
        """
        self._kinds[type(obj)][key_of(obj)] = obj

    def remove(self, obj: KubernetesObject) -> None:
        """Remove the object of that kind and key; an absent one is no error."""
        self._kinds.get(type(obj), {}).pop(key_of(obj), None)
        if self._derived:
            self._outdate(type(obj))

    def all(self, kind: type[T]) -> Mapping[str, T]:
        """All objects of one kind, by key."""
        return cast("Mapping[str, T]", self._kinds.get(kind, {}))

    def get(self, kind: type[T], key: str) -> T | None:
        """The object of that kind and key (`namespace/name`, or `name`)."""
        return self.all(kind).get(key)

    def counts(self) -> dict[type, int]:
        """Kind -> number of objects, of every kind that has some."""
        return {kind: len(objects) for kind, objects in self._kinds.items() if objects}

    def derived(self, build: Callable[[Cluster], V], *kinds: type) -> V:
        """What `build` makes of this cluster, remembered until an object of one of `kinds` is added or removed.

        For indexes that every cycle needs, such as the volumes of a storage class.
        """
        remembered = self._derived.get(build)
        if remembered is None:
            remembered = self._derived[build] = (frozenset(kinds), build(self))
        return cast("V", remembered[1])

    def _outdate(self, kind: type) -> None:
        self._derived = {build: entry for build, entry in self._derived.items() if kind not in entry[0]}

    def sort(self) -> None:
        """Put every kind into the API server's list order, so that the order of the input never matters."""
        for kind, objects in self._kinds.items():
            # No key has more than one slash: with the lowest character instead, a namespace comes before longer ones.
            in_order = sorted(objects, key=lambda key: key.replace("/", "\0", 1))
            if in_order != list(objects):
                self._kinds[kind] = {key: objects[key] for key in in_order}

    def fork(self) -> Cluster:
        """An independent collection that shares the objects."""
        other = Cluster.__new__(Cluster)
        other._kinds = {kind: dict(objects) for kind, objects in self._kinds.items()}
        other._derived = dict(self._derived)
        other.unread = dict(self.unread)
        other.taken_at = self.taken_at
        other.is_whole = self.is_whole
        return other

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """Labels of a namespace; one without an object has only its name label, as the API server would set it."""
        namespace = self.get(Namespace, name)
        if namespace is None:
            return {NAMESPACE_LABEL: name}
        labels = namespace.metadata.labels
        return labels if NAMESPACE_LABEL in labels else {**labels, NAMESPACE_LABEL: name}
