"""`StateObjects`: the objects of a state, which change only with the state."""

from __future__ import annotations

from typing import Any, NoReturn

from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.generation import next_generation


class StateObjects(Cluster):
    """The objects of a state, to be read: `State.apply` changes them."""

    #: Why nothing is changed here.
    _refusal = "the objects of a state change only with the state: apply the change to it"

    def __init__(self, objects: Cluster) -> None:
        objects._fork_into(self)
        if not isinstance(objects, StateObjects):
            self._of_origin, self._origin = {}, next_generation()

    def _refuse(self, *_: Any, **_named: Any) -> NoReturn:
        raise TypeError(self._refusal)

    add = add_all = remove = discard = sort = _refuse

    def _has_changed(self, kind: type, before: KubernetesObject | None, after: KubernetesObject | None) -> None:
        super()._has_changed(kind, before, after)
        changed = after or before
        if changed is not None and changed.metadata.namespace:
            self._generations[kind, changed.metadata.namespace] = self._generations[kind]
