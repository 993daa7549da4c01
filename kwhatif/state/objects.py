"""`StateObjects`: the objects of a state, which change only with the state."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Protocol

from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.generation import next_generation
from kwhatif.state.change import Change, Delete, Upsert


class _Changeable(Protocol):
    """A `State`."""

    def apply(self, *changes: Change) -> object:
        """Make the changes."""


class StateObjects(Cluster):
    """The objects of a state, for code that works on any cluster: every change is applied to the state."""

    def __init__(self, state: _Changeable, objects: Cluster) -> None:
        objects._fork_into(self)
        if not isinstance(objects, StateObjects):
            self._of_origin, self._origin = {}, next_generation()
        #: Weak, because the state holds these objects: it can be freed with its last user.
        self._state = weakref.ref(state)

    def add(self, obj: KubernetesObject) -> None:
        """Upsert the object in the state."""
        self._applied(Upsert(obj))

    def add_all(self, kind: type, objects: Mapping[str, KubernetesObject]) -> None:
        """Upsert the objects in the state."""
        del kind
        self._applied(*map(Upsert, objects.values()))

    def remove(self, obj: KubernetesObject) -> None:
        """Delete the object from the state."""
        self._applied(Delete.of(obj))

    def discard(self, kind: type, key: str) -> None:
        """Apply to the state that the object is not there."""
        self._applied(Delete(kind, key))

    def sort(self) -> None:
        """Refuse: the objects of a state are in order already."""
        raise TypeError("the objects of a state cannot be sorted")

    def _applied(self, *changes: Change) -> None:
        state = self._state()
        assert state is not None, "the state of these objects must still exist"
        state.apply(*changes)

    def _has_changed(self, kind: type, before: KubernetesObject | None, after: KubernetesObject | None) -> None:
        super()._has_changed(kind, before, after)
        changed = after or before
        if changed is not None and changed.metadata.namespace:
            self._generations[kind, changed.metadata.namespace] = self._generations[kind]

    def __getstate__(self) -> dict[str, object]:
        """Leave out the link to the state, which sets it again."""
        return {name: value for name, value in super().__getstate__().items() if name != "_state"}
