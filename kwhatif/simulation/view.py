"""`SimulatedView`: what controllers see of the simulated cluster (`contract.View`), and what existed at the start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, Self, TypeVar

from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.overlay import CopyOnWriteDict
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import POD_CONTROLLERS, ReplicaSet
from kwhatif.simulation.clock import Clock
from kwhatif.simulation.owned import Owned
from kwhatif.state.state import State

T = TypeVar("T", bound=KubernetesObject)


class SimulatedView:
    """Read access to the simulated cluster."""

    def __init__(self, state: State, clock: Clock) -> None:
        self.state = state
        self.clock = clock
        #: Nodes with a silent kubelet, and since when.
        self.silent: dict[str, float] = {}
        #: Built when first asked for, and then kept up.
        self._known_owned: Owned | None = None
        #: Deleted ReplicaSets by key: their remaining pods still belong to their Deployments.
        self.gone_sets: dict[str, ReplicaSet] = {}
        self._memory: CopyOnWriteDict[tuple[str, str], dict[str, Any]] = CopyOnWriteDict(dict.copy)
        #: The objects at the start.
        self._before = state.cluster.fork()

    def fork(self) -> Self:
        """An independent copy, on a fork of the state."""
        other = copy(self)
        other.state, other.clock, other.silent = self.state.fork(), self.clock.fork(), self.silent.copy()
        other._known_owned = None if self._known_owned is None else self._known_owned.fork(other.state.cluster)
        other.gone_sets, other._memory = self.gone_sets.copy(), self._memory.fork()
        return other

    @property
    def _owned(self) -> Owned:
        if self._known_owned is None:
            self._known_owned = Owned(self.state.cluster)
        return self._known_owned

    def _has_changed(self, before: KubernetesObject | None, after: KubernetesObject | None) -> None:
        """An object was created, changed or deleted."""
        if isinstance(before, ReplicaSet) and after is None:
            self.gone_sets[key_of(before)] = before
        if self._known_owned is not None:
            self._known_owned.changed(before, after)

    @property
    def now(self) -> float:
        """See `View`."""
        return self.clock.now

    def at(self, time: str) -> float:
        """See `View`."""
        return self.clock.at(time)

    def stamp(self, seconds: float) -> str:
        """See `View`."""
        return self.clock.stamp(seconds)

    def pods_of(self, owner: KubernetesObject) -> Sequence[Pod]:
        """See `View`."""
        return self._owned.of(owner, Pod)

    def count_pods(self, owner: KubernetesObject) -> int:
        """The number of pods that it controls."""
        return self._owned.count(owner, Pod)

    def count_active(self, owner: KubernetesObject) -> int:
        """See `View`."""
        return self._owned.count_active(owner)

    def owned(self, owner: KubernetesObject, kind: type[T]) -> Sequence[T]:
        """See `View`."""
        return self._owned.of(owner, kind)

    def memory(self, controller: str, key: str) -> dict[str, Any]:
        """See `View`."""
        place = controller, key
        found = self._memory.own(place)
        return self._memory.put(place, {}) if found is None else found

    def was_there(self, pod: Pod) -> bool:
        """Whether the pod existed at the start."""
        known = self._before.get(Pod, key_of(pod))
        return known is not None and known.metadata.uid == pod.metadata.uid

    def bare_pods(self) -> Iterator[Pod]:
        """The pods that name no controller."""
        pods = self.state.cluster.all(Pod)
        return (pods[key] for key in self._owned.bare_pods())

    def pods_without_controller(self) -> Iterator[Pod]:
        """The pods whose controller does not exist."""
        pods = self.state.cluster.all(Pod)
        for (kind_name, namespace, name), keys in self._owned.pods_by_owner():
            kind = POD_CONTROLLERS.get(kind_name)
            if kind is None:
                continue
            found = self.state.cluster.get(kind, f"{namespace}/{name}")
            for key, uid in keys.items():
                if found is None or (uid and found.metadata.uid and uid != found.metadata.uid):
                    yield pods[key]
