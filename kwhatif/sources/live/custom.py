"""The objects that stand for custom resources of a watched cluster: they are made again at each moment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from kwhatif.admission.defaults import DEFAULT_NAMESPACE, default_object
from kwhatif.admission.load import PodCompletion, with_status
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.kube.model.workload import WORKLOADS
from kwhatif.sources.decoding.kinds import Asked
from kwhatif.sources.decoding.stand_ins import stand_in
from kwhatif.sources.decoding.workload_kinds import KnownKinds
from kwhatif.state.change import Change, ChangedObject, Reference, Sort, Upsert
from kwhatif.state.nodes import moves
from kwhatif.state.state import State
from kwhatif.workloads.adopted import has_any, is_custom_controlled, stand_in_for_missing


class _Noted(Cluster):
    """A fork of a cluster that notes what is written to it."""

    written: dict[Reference, KubernetesObject]

    @classmethod
    def of(cls, cluster: Cluster) -> _Noted:
        noted = cls.__new__(cls)
        cluster._fork_into(noted)
        noted._derived = {}  # keeping the indexes up with each adopted pod would take longer
        noted.written = {}
        return noted

    def add(self, obj: KubernetesObject) -> None:
        super().add(obj)
        self.written[type(obj), key_of(obj)] = obj


class CustomResources:
    """The custom resources of a watched cluster."""

    def __init__(self, kinds: KnownKinds) -> None:
        self._kinds = kinds
        #: By list and key: version and JSON.
        self._found: dict[Asked, dict[str, tuple[str, bytes]]] = {}
        #: What was wrong with them at the last moment.
        self.caveats: list[Caveat] = []

    def see(self, asked: Asked, api_version: str, key: str, json: bytes) -> None:
        """It is there, as it stands here."""
        self._found.setdefault(asked, {})[key] = (api_version, json)

    def forget(self, asked: Asked, key: str) -> None:
        """It is gone."""
        self._found.get(asked, {}).pop(key, None)

    def concerns(self, changes: Iterable[ChangedObject], cluster: Cluster) -> bool:
        """Whether a change may concern custom resources: their pods, or their templates."""
        if not self._has_any(cluster):
            return False
        objects = [each for change in changes for each in change if each is not None]
        return any(
            is_custom_controlled(each) or isinstance(each, (*WORKLOADS, PodDisruptionBudget)) for each in objects
        )

    def _has_any(self, cluster: Cluster) -> bool:
        return any(self._found.values()) or has_any(cluster, self._kinds.of_owner)

    def stand_in(self, cluster: Cluster) -> None:
        """Let objects stand for those that were read, as where a cluster is read once."""
        found = [(version, asked.kind, json) for asked, each in self._found.items() for version, json in each.values()]
        self.caveats = list(stand_in(cluster, found, self._kinds, DEFAULT_NAMESPACE))

    def complete(self, state: State, pods: Iterable[Pod], budgets: Iterable[PodDisruptionBudget]) -> None:
        """Let objects stand for them in a state.

        Args:
            state: of the moment.
            pods: those in which something is filled in, as the API server has them: templates are made of these.
            budgets: those without a status, which are counted again: their pods have other owners now.
        """
        if not self._has_any(state.cluster):
            self.caveats = []
            return
        noted = _Noted.of(state.cluster)
        for pod in pods:
            Cluster.add(noted, pod)
        self.stand_in(noted)
        stand_in_for_missing(noted, self._kinds.of_owner)
        stored = PodCompletion(state.cluster).stored
        changes: list[Change] = [
            Upsert(stored(obj) if isinstance(obj, Pod) else default_object(cast("Any", obj)))
            for obj in noted.written.values()
        ]
        if not changes:
            return
        moved = [name for name, obj in noted.written.items() if moves(state.cluster.get(*name), obj)]
        state.apply(*changes, Sort(tuple(moved)))
        state.apply(*(Upsert(with_status(each, state.cluster)[0]) for each in budgets))
        state.forget_history()
