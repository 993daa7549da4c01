"""`StateObjects`: the objects of a state, which change only as the state does."""

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
    """The objects of a state, for code that works on any cluster: what it changes here is applied to the state."""

    def __init__(self, state: _Changeable, objects: Cluster) -> None:
        objects._fork_into(self)
        if not isinstance(objects, StateObjects):
            self._of_origin, self._origin = {}, next_generation()
        #: The state has the objects, and goes when the last one who has it lets go of it.
        self._state = weakref.ref(state)

    def add(self, obj: KubernetesObject) -> None:
        """Apply to the state that the object is there."""
        self._applied(Upsert(obj))

    def add_all(self, kind: type, objects: Mapping[str, KubernetesObject]) -> None:
        """Apply to the state that the objects are there."""
        del kind
        self._applied(*map(Upsert, objects.values()))

    def remove(self, obj: KubernetesObject) -> None:
        """Apply to the state that the object is not there."""
        self._applied(Delete.of(obj))

    def sort(self) -> None:
        """Refuse: a state's objects are in their order already."""
        raise TypeError("the objects of a state cannot be sorted")

    def _applied(self, *changes: Change) -> None:
        state = self._state()
        assert state is not None, "somebody has the state whose objects these are"
        state.apply(*changes)

    def _has_changed(self, kind: type, before: KubernetesObject | None, after: KubernetesObject | None) -> None:
        super()._has_changed(kind, before, after)
        changed = after or before
        if changed is not None and changed.metadata.namespace:
            self._generations[kind, changed.metadata.namespace] = self._generations[kind]

    def __getstate__(self) -> dict[str, object]:
        """The state links itself again."""
        return {name: value for name, value in super().__getstate__().items() if name != "_state"}
