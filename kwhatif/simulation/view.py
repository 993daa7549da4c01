"""`SimulatedView`: what controllers see of the simulated cluster (`contract.View`), and what existed at the start.

`Owned` says which object controls which, and is kept up to date with every change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any, Self, TypeVar

from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.meta import controller_of, is_plain_time, parse_time
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.overlay import CopyOnWriteDict, Overlay
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import POD_CONTROLLERS, ReplicaSet
from kwhatif.simulation.clock import Clock
from kwhatif.state.state import State
from kwhatif.workloads.removal import is_active
from kwhatif.workloads.survey import Controlled, LateIndex, survey_of

#: The owner's kind, its namespace, its name, and the kind of the controlled objects.
_Slot = tuple[str, str, str, type]
_NONE: Mapping[str, ReplicaSet] = {}
_NO_KEYS: Mapping[str, str] = {}


class Owned:
    """Controlled objects by their owners, in the order of creation."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        others = [kind for kind in cluster.counts() if kind not in (Node, Pod)]
        #: The controlled pods at the start.
        self._survey = survey_of(cluster)
        self._others = cluster.derived(_Others, *others).settled(cluster).keys
        #: The keys of the objects, each with the UID in its owner reference, if they have changed since the start.
        self._keys: CopyOnWriteDict[_Slot, dict[str, str]] = CopyOnWriteDict(dict.copy)
        #: Slots with objects from the start whose keys are sorted.
        self._sorted: set[_Slot] = set()
        #: By UID of the owner reference: the number of active pods, from the first use or change on.
        self._active: CopyOnWriteDict[_Slot, Counter[str]] = CopyOnWriteDict(Counter.copy)

    def fork(self, cluster: Cluster) -> Owned:
        """An independent copy, for a fork of the cluster."""
        other = copy(self)
        other._cluster, other._keys = cluster, self._keys.fork()
        other._active = self._active.fork()
        other._sorted = self._sorted.copy()
        return other

    def _at_start(self, slot: _Slot) -> Mapping[str, str] | None:
        if slot[3] is not Pod:
            return self._others.get(slot)
        known = self._pods_at_start(slot)
        return None if known is None else known.keys

    def _pods_at_start(self, slot: _Slot) -> Controlled | None:
        kind, namespace, name, _ = slot
        return self._survey.controlled.get((namespace, kind, name))

    def _in(self, slot: _Slot) -> Mapping[str, str]:
        """The keys of this slot, for reading only."""
        known = self._keys.get(slot)
        return (self._at_start(slot) or _NO_KEYS) if known is None else known

    def _at(self, slot: _Slot) -> dict[str, str]:
        keys = self._keys.own(slot)
        return self._keys.put(slot, dict(self._at_start(slot) or _NO_KEYS)) if keys is None else keys

    def changed(self, before: KubernetesObject | None, after: KubernetesObject | None) -> None:
        """An object was created, changed or deleted."""
        old = None if before is None else _slot_of(before)
        new = None if after is None else _slot_of(after)
        self._count_active(before, old, -1)
        self._count_active(after, new, 1)
        if old == new:
            return
        if old is not None and before is not None:
            self._at(old[0]).pop(key_of(before), None)
        if new is not None and after is not None:
            self._at(new[0])[key_of(after)] = new[1]

    def _count_active(self, obj: KubernetesObject | None, at: tuple[_Slot, str] | None, amount: int) -> None:
        if at is None or not isinstance(obj, Pod):
            return
        counts = self._counts(at[0])
        if counts is not None and is_active(obj):
            counts[at[1]] += amount

    def _counts(self, slot: _Slot) -> Counter[str] | None:
        """The number of active pods by UID, which may be changed; None: they must be counted.

        If no pod was restless at the start, all were active then, and every change since is counted here.
        """
        counts = self._active.own(slot)
        if counts is None:
            known = self._pods_at_start(slot)
            if known is not None and not known.restless:
                counts = self._active.put(slot, Counter(known.keys.values()))
        return counts

    def count_active(self, owner: KubernetesObject) -> int:
        """How many of its pods are neither terminating nor finished."""
        meta = owner.metadata
        slot = type(owner).__name__, meta.namespace, meta.name, Pod
        counts = self._counts(slot)
        if counts is None:
            keys = self._in(slot)
            pods = zip(keys.values(), self._cluster.select(Pod, keys), strict=True)
            counts = self._active.put(slot, Counter(uid for uid, pod in pods if is_active(pod)))
        return counts[meta.uid] + counts[""] if meta.uid else counts.total()

    def count(self, owner: KubernetesObject, kind: type) -> int:
        """How many objects of that kind it controls."""
        meta = owner.metadata
        return len(self._in((type(owner).__name__, meta.namespace, meta.name, kind)))

    def pods_by_owner(self) -> Iterator[tuple[tuple[str, str, str], Mapping[str, str]]]:
        """By kind, namespace and name of the controller: the keys of its pods, each with the UID that it names."""
        slots = sorted(slot[:3] for slot in self._pod_slots() if slot[0])
        return ((slot, self._in((*slot, Pod))) for slot in slots)

    def bare_pods(self) -> Iterator[str]:
        """The keys of the pods without a controller."""
        for slot in self._pod_slots():
            if not slot[0]:
                yield from self._in(slot)

    def _pod_slots(self) -> set[_Slot]:
        at_start = {(kind, namespace, name, Pod) for namespace, kind, name in self._survey.controlled}
        return at_start.union(slot for slot in self._keys.keys() if slot[3] is Pod)  # noqa: SIM118 - it is not a dict

    def of(self, owner: KubernetesObject, kind: type) -> list[Any]:
        """The objects of that kind that `owner` controls."""
        meta = owner.metadata
        slot = type(owner).__name__, meta.namespace, meta.name, kind
        keys = self._in(slot)
        if not keys:
            return []
        if slot not in self._sorted and self._at_start(slot) is not None:
            self._sorted.add(slot)
            keys = self._in_order(slot, keys)
        # UIDs decide if both sides have one; hand-written objects have none.
        uid = meta.uid
        if uid and not {uid, ""}.issuperset(keys.values()):
            return self._cluster.select(kind, (key for key, named in keys.items() if not named or named == uid))
        return self._cluster.select(kind, keys)

    def _in_order(self, slot: _Slot, keys: Mapping[str, str]) -> Mapping[str, str]:
        """The keys by creation time, then by name."""
        objects: list[KubernetesObject] = self._cluster.select(slot[3], keys)
        times = [each.metadata.creation_timestamp or "" for each in objects]
        if all(map(is_plain_time, times)):
            order = [key for _, key in sorted(zip(times, keys, strict=True))]
        else:  # as strings, fractions of a second would sort before the whole second
            parsed = [parse_time(time) if time else 0 for time in times]
            order = [key for _, key in sorted(zip(parsed, keys, strict=True))]
        in_order = {key: keys[key] for key in order}
        return keys if list(keys) == list(in_order) else self._keys.put(slot, in_order)


class _Others(LateIndex):
    """By slot: the keys of the objects that are not pods, each with the UID in its owner reference."""

    def __init__(self, cluster: Cluster) -> None:
        self._build(cluster)

    def _build(self, cluster: Cluster) -> None:
        found: dict[_Slot, dict[str, str]] = {}
        for kind in cluster.counts():
            for key, obj in cluster.all(kind).items() if kind not in (Node, Pod) else ():
                slot = _slot_of(obj)
                if slot is not None:
                    found.setdefault(slot[0], {})[key] = slot[1]
        self.keys: Overlay[_Slot, dict[str, str]] = Overlay(found)

    def _concerns(self, before: KubernetesObject | None, after: KubernetesObject | None) -> bool:
        was, now = (None if obj is None else _slot_of(obj) for obj in (before, after))
        return was != now or (before is None) is not (after is None)

    def _take(self, earlier: _Others, changes: Sequence[tuple[Any, Any]], cluster: Cluster) -> bool:
        del cluster
        self.keys = earlier.keys.fork()
        for before, after in changes:
            for obj, slot in ((obj, _slot_of(obj)) for obj in (before, after) if obj is not None):
                if slot is None:
                    continue
                keys = dict(self.keys.get(slot[0]) or _NO_KEYS)
                if obj is after:
                    keys[key_of(obj)] = slot[1]
                else:
                    del keys[key_of(obj)]
                if keys:
                    self.keys.put(slot[0], keys)
                else:
                    self.keys.pop(slot[0])
        return True


def _slot_of(obj: KubernetesObject) -> tuple[_Slot, str] | None:
    """The object's slot, and the UID in its owner reference; bare pods have a slot for each namespace."""
    owner = controller_of(obj.metadata)
    if owner is not None:
        return (owner.kind, obj.metadata.namespace, owner.name, type(obj)), owner.uid
    return (("", obj.metadata.namespace, "", Pod), "") if isinstance(obj, Pod) else None


def root_of(pod: Pod, cluster: Cluster, gone: Mapping[str, ReplicaSet] = _NONE) -> str | None:
    """The workload of the pod, as "Deployment shop/web"; None for a bare pod.

    A ReplicaSet's Deployment is looked up, also for one in `gone`; a missing owner is named by the owner
    reference.
    """
    namespace = pod.metadata.namespace
    owner = controller_of(pod.metadata)
    if owner is None:
        return None
    key = f"{namespace}/{owner.name}"
    replica_set = (cluster.get(ReplicaSet, key) or gone.get(key)) if owner.kind == "ReplicaSet" else None
    above = None if replica_set is None else controller_of(replica_set.metadata)
    top = owner if above is None else above
    return f"{top.kind} {namespace}/{top.name}"


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
        slot = controller, key
        found = self._memory.own(slot)
        return self._memory.put(slot, {}) if found is None else found

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
