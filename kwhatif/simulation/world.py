"""`World`: the API server's side of the simulation. Whatever anybody writes goes through it, one write at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.admission.denied import Denied, resource_of
from kwhatif.admission.new_claim import admit_claim
from kwhatif.admission.new_pod import ReplicaAdmission
from kwhatif.admission.outcome import Admitted
from kwhatif.admission.quota.state import QuotaUsage
from kwhatif.controllers.contract import Create, DeletePod, How, Remove, Update, Write
from kwhatif.controllers.finished_pods import finished_pods
from kwhatif.model.cluster import KubernetesObject, key_of
from kwhatif.model.drawers import Drawers
from kwhatif.model.meta import controller_of
from kwhatif.model.pod import JOB_TRACKING, Pod, is_terminal
from kwhatif.model.policy import ResourceQuota
from kwhatif.model.storage import PersistentVolumeClaim
from kwhatif.model.workload import POD_CONTROLLERS, DaemonSet
from kwhatif.simulation.chance import Chance
from kwhatif.simulation.clock import Clock
from kwhatif.simulation.history import Event, Gone, History
from kwhatif.simulation.owned import Owned, root_of
from kwhatif.simulation.pods import marked, with_condition
from kwhatif.simulation.sayings import said_of_update
from kwhatif.state.change import Change, Delete, Evict, Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.workloads.generated import generated_names, uid_of
from kwhatif.workloads.many import FEW, most_pods, room_for, wanted

T = TypeVar("T", bound=KubernetesObject)
#: Is shown every change, once it is made: the object before and after it, and the event that it is part of.
Watcher = Callable[[KubernetesObject | None, KubernetesObject | None, int | None], None]
#: Is shown a pod that is to be created, and what admission makes of it.
AdmissionWatcher = Callable[[Pod, Admitted[Pod] | Denied], None]


class World:
    """The objects, what has happened to them, and who is to be shown what happens.

    It is a `controllers.contract.View`. Nobody changes the state but by `write` and `put`.
    """

    def __init__(self, state: State, clock: Clock, chance: Chance) -> None:
        self.state = state
        self.clock = clock
        self.chance = chance
        self.history = History()
        self.watchers: list[Watcher] = []
        self.admission_watcher: AdmissionWatcher | None = None
        #: How many pods were created or deleted so far.
        self.churn = 0
        #: Nodes whose kubelet is silent, and since when.
        self.silent: dict[str, float] = {}
        self._owned = Owned(state.cluster)
        finished_pods(state.cluster)  # made of the survey, which holds for the start only; from here on it is kept up
        self._usage = QuotaUsage(state.cluster)
        self._replicas = ReplicaAdmission()
        self._memory: Drawers[tuple[str, str], dict[str, Any]] = Drawers(dict.copy)
        #: The objects at the start.
        self._before = state.cluster.fork()
        self._made = 0
        #: How many pods of a workload are made, and by kind and key the workloads that ask for more.
        self.most = most_pods(state.cluster)
        self.short: dict[str, KubernetesObject] = {}
        #: How many pods of a workload may evict others; None: any number.
        self.evicting: int | None = None
        #: By workload, how many others its pods have evicted.
        self._evicted: Counter[str] = Counter()
        #: By workload, how many pods it can have at most, and when that was so.
        self._limits: dict[str, tuple[float, int]] = {}

    def fork(self) -> World:
        """An independent world with the same past, which nobody watches yet."""
        other = copy(self)
        other.state, other.clock, other.chance = self.state.fork(), self.clock.fork(), self.chance.fork()
        other.history, other.watchers, other.admission_watcher = self.history.fork(), [], None
        other.silent, other.short = self.silent.copy(), self.short.copy()
        other._evicted, other._limits = self._evicted.copy(), self._limits.copy()
        other._owned = self._owned.fork(other.state.cluster)
        other._usage, other._memory = self._usage.fork(), self._memory.fork()
        return other

    # --- View ----------------------------------------------------------------------------------------

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
        """Whether the pod was there at the start."""
        known = self._before.get(Pod, key_of(pod))
        return known is not None and known.metadata.uid == pod.metadata.uid

    def bare_pods(self) -> Iterator[Pod]:
        """The pods that name no controller."""
        pods = self.state.cluster.all(Pod)
        return (pods[key] for key in self._owned.bare_pods())

    def pods_without_controller(self) -> Iterator[Pod]:
        """The pods whose controller is not there."""
        pods = self.state.cluster.all(Pod)
        for (kind_name, namespace, name), keys in self._owned.pods_by_owner():
            kind = POD_CONTROLLERS.get(kind_name)
            found = None if kind is None else self.state.cluster.get(kind, f"{namespace}/{name}")
            uid = "" if found is None else found.metadata.uid
            yield from (
                pods[key]
                for key, theirs in keys.items()
                if kind is not None and (found is None or (uid and theirs and uid != theirs))
            )

    # --- writing -------------------------------------------------------------------------------------

    def note(
        self, because: int | None, actor: str, verb: str, obj: object, node: str | None = None, detail: str = ""
    ) -> int:
        """Something happens that the story is to have; returns the event's id."""
        name = obj if isinstance(obj, str) else f"{type(obj).__name__} {key_of(cast('KubernetesObject', obj))}"
        number = len(self.history.events)
        return self.history.note(Event(number, self.now, because, actor, verb, name, node or None, detail))

    def write(self, write: Write, actor: str, because: int | None) -> Denied | None:
        """What the API server makes of a request; a refusal only of a `Create`."""
        match write:
            case Create():
                return self._create(write.obj, actor, because)
            case Update():
                self._update(write.obj, actor, because)
            case DeletePod():
                self._delete_pod(write, actor, because)
            case Remove():
                self._remove(write, actor, because)
        return None

    def put(self, obj: KubernetesObject, event: int | None) -> None:
        """The object is as it is given from now on; no questions asked."""
        before = self.state.cluster.get(type(obj), key_of(obj))
        changes: list[Change] = [Upsert(obj)]
        if isinstance(obj, Pod) and is_terminal(obj) and before is not None and not is_terminal(cast("Pod", before)):
            self._usage.release(cast("Pod", before))
            self._usage.charge(obj)
            changes = self._off_its_node(cast("Pod", before), Upsert(obj))
        self.state.apply(*changes)
        self._announce(before, obj, event)

    def _announce(self, before: KubernetesObject | None, after: KubernetesObject | None, event: int | None) -> None:
        changed = after or before
        if isinstance(changed, ResourceQuota):
            self._usage.count_again(changed.metadata.namespace, self.state.cluster)
        self._owned.changed(before, after)
        for watcher in self.watchers:
            watcher(before, after, event)

    def _off_its_node(self, pod: Pod, change: Change) -> list[Change]:
        """The pod leaves its node as the scheduler's cache sees it, before the change."""
        if pod.spec.node_name and self.state.node(pod.spec.node_name) is not None and not is_terminal(pod):
            return [Evict(key_of(pod)), change]
        return [change]

    # --- requests ------------------------------------------------------------------------------------

    def _create(self, obj: Any, actor: str, because: int | None) -> Denied | None:
        cluster = self.state.cluster
        meta = obj.metadata
        if not meta.name:
            obj = replace(obj, metadata=replace(meta, name=self._generated(obj)))
        if cluster.get(type(obj), key_of(obj)) is not None:
            return Denied(f'{resource_of(obj)} "{obj.metadata.name}" already exists')
        admitted = self._one_too_many(obj) or self._admitted(obj)
        if isinstance(admitted, Denied):
            self.note(because, actor, "was refused", obj, detail=admitted.message)
            return admitted
        self._made += 1
        meta = admitted.metadata
        uid = meta.uid or uid_of(type(obj).__name__, meta.namespace, f"{meta.name}#{self._made}")
        obj = replace(admitted, metadata=replace(meta, uid=uid, creation_timestamp=self.stamp(self.now)))
        if isinstance(obj, Pod):
            obj = replace(obj, status=replace(obj.status, phase="Pending"))
            self.churn += 1
        self.put(obj, self.note(because, actor, "created", obj))
        return None

    def _one_too_many(self, obj: Any) -> Denied | None:
        """Pods beyond the most that one workload gets are not made (`workloads/many.py`)."""
        owner = controller_of(obj.metadata) if isinstance(obj, Pod) else None
        kind = POD_CONTROLLERS.get(owner.kind) if owner is not None else None
        if owner is None or kind is None:
            return None
        workload = self.state.cluster.get(kind, f"{obj.metadata.namespace}/{owner.name}")
        if workload is None:
            return None
        count = self._owned.count(workload, Pod)
        if count < self.most and not self._evicts_too_many(obj, workload, count):
            return None
        self.short[f"{owner.kind} {key_of(workload)}"] = workload
        return Denied(f"it has {count:,} pods, and more of one workload are not simulated")

    def _evicts_too_many(self, pod: Pod, workload: KubernetesObject, count: int) -> bool:
        """Whether one more pod of the workload would have to evict others, and so many have done so already.

        Of more pods than could ever find a node, those are enough that could evict somebody.
        """
        if self.evicting is None or isinstance(workload, DaemonSet):
            return False
        is_absurd = wanted(workload) > self.most
        least = FEW if is_absurd else self.evicting
        if count < least:
            return False
        name = f"{type(workload).__name__} {key_of(workload)}"
        known = self._limits.get(name)
        if known is None or known[0] != self.now:
            placed = sum(bool(each.spec.node_name) for each in self.pods_of(workload))
            evicting = max(0, self.evicting - self._evicted[name])
            if is_absurd:
                evicting = min(evicting, sum(len(node.pods) for node in self.state.nodes) - placed)
            room = room_for(PodInfo(pod, self.state.cluster.resizes), self.state.nodes)
            known = self._limits[name] = self.now, max(least, placed + room + evicting)
        return count >= known[1]

    def _generated(self, obj: Any) -> str:
        present = self.state.cluster.all(type(obj))
        namespace, prefix = obj.metadata.namespace, obj.metadata.generate_name
        return generated_names(prefix, "", 1, lambda name: f"{namespace}/{name}" in present)[0]

    def _admitted(self, obj: Any) -> Any:
        """The object as the API server stores it, or `Denied`."""
        cluster = self.state.cluster
        if isinstance(obj, Pod):
            admitted = self._replicas.admit(obj, cluster, self._usage)
            if self.admission_watcher is not None:
                self.admission_watcher(obj, admitted)
            return admitted if isinstance(admitted, Denied) else admitted.object
        if isinstance(obj, PersistentVolumeClaim):
            taken = admit_claim(obj, cluster, self._usage)
            return taken if isinstance(taken, Denied) else taken.object
        return default_object(obj)

    def _update(self, obj: Any, actor: str, because: int | None) -> None:
        before = self.state.cluster.get(type(obj), key_of(obj))
        if before is None or before == obj:
            return
        said = said_of_update(before, obj)
        event = because if said is None else self.note(because, actor, said.verb, obj, detail=said.detail)
        self.put(obj, event)
        if isinstance(obj, Pod) and obj.metadata.deletion_timestamp and is_terminal(obj) and not held(obj):
            self.drop_pod(obj, "Deleted", actor, event)

    def _delete_pod(self, write: DeletePod, actor: str, because: int | None) -> None:
        pod = self.state.cluster.get(Pod, write.key)
        if pod is None:
            return
        marked_pod = pod if write.condition is None else with_condition(pod, self._stamped(write))
        is_over = not pod.spec.node_name or is_terminal(pod)
        grace = pod.spec.termination_grace_period_seconds if write.grace is None else write.grace
        end = pod.metadata.deletion_timestamp
        if end is not None and not is_over and grace > 0 and self.at(end) <= self.now + grace:
            return  # a second request can only shorten it
        detail = f"for {write.by}" if write.by else ""
        verb = "deleted" if write.how in ("Deleted", "ScaledDown", "RolledOut") else _VERBS.get(write.how, "deleted")
        event = self.note(because, actor, verb, pod, pod.spec.node_name, detail)
        if end is None:
            self.churn += 1
        self._lose(pod, write.how, write.by, event)
        if (is_over or grace == 0) and not held(marked_pod):
            if marked_pod is not pod:
                self.put(marked_pod, event)
            self.drop_pod(marked_pod, write.how, actor, event)
            return
        self.put(marked(marked_pod, self.stamp(self.now + grace)), event)

    def _stamped(self, write: DeletePod) -> Any:
        assert write.condition is not None
        return replace(write.condition, last_transition_time=self.stamp(self.now))

    def _remove(self, write: Remove, actor: str, because: int | None) -> None:
        obj: KubernetesObject | None = self.state.cluster.get(write.kind, write.key)
        if obj is None:
            return
        if isinstance(obj, Pod):
            self.drop_pod(obj, write.how or "Deleted", actor, because)
            return
        event = self.note(because, actor, "deleted", obj)
        if isinstance(obj, PersistentVolumeClaim):
            self._usage.release(obj)
        self.state.apply(Delete.of(obj))
        self._announce(obj, None, event)

    def drop_pod(self, pod: Pod, how: How, actor: str, because: int | None) -> None:
        """The pod's object is gone."""
        event = self.note(because, actor, "removed", pod, pod.spec.node_name)
        if pod.metadata.deletion_timestamp is None and (pod.metadata.uid or key_of(pod)) not in self.history.gone:
            self.churn += 1
        self._lose(pod, how, "", event)
        self._usage.release(pod)
        self.state.apply(*self._gone(pod))
        self._announce(pod, None, event)

    def _gone(self, pod: Pod) -> list[Change]:
        """An evicted pod's object is gone with it."""
        return self._off_its_node(pod, Delete.of(pod))

    def _lose(self, pod: Pod, how: How, by: str, event: int) -> None:
        uid = pod.metadata.uid or key_of(pod)
        if uid in self.history.gone:
            return
        del event
        preemptor = self.state.cluster.get(Pod, by) if how == "Preempted" else None
        if preemptor is not None and (controller := controller_of(preemptor.metadata)) is not None:
            self._evicted[f"{controller.kind} {preemptor.metadata.namespace}/{controller.name}"] += 1
        owner = root_of(pod, self.state.cluster, self._owned.gone)
        node = pod.spec.node_name or None
        self.history.lose(Gone(key_of(pod), uid, owner, self.was_there(pod), node, how, by, self.now))


_VERBS = {
    "Preempted": "preempted",
    "Evicted": "evicted",
    "TaintEviction": "evicted by taint",
    "PodGC": "collected",
    "Completed": "deleted",
    "Garbage": "collected",
}


def held(pod: Pod) -> bool:
    """Whether a finalizer keeps the object; the Job controller lifts its own as soon as the pod has ended."""
    return any(name != JOB_TRACKING for name in pod.metadata.finalizers)
