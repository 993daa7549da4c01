"""`ApiServer`: the API server of a simulation: it carries out requests one at a time, and informs watchers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.admission.new_objects import admit_claim, complete_claim, with_times
from kwhatif.admission.new_pod import ReplicaAdmission, injection_of, stored_pod
from kwhatif.admission.outcome import Admitted, Denied, already_exists
from kwhatif.admission.pod_group import GROUP_KINDS, admit_grouping
from kwhatif.admission.quota import Counted, QuotaAdmission, counted, is_counted
from kwhatif.admission.vertical_autoscaler import is_ignored
from kwhatif.controllers.contract import Create, DeletePod, How, Remove, Update, Write
from kwhatif.controllers.pods import finished_pods
from kwhatif.kube.matching.owners import root_of
from kwhatif.kube.model.cluster import KubernetesObject, ObjectRef, identity, key_of, lacks_node
from kwhatif.kube.model.meta import AnnotatedMeta
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import JOB_TRACKING, Pod, is_terminal, pod_condition
from kwhatif.kube.model.policy import KnownInjection, ResourceQuota
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.simulation.clock import Clock
from kwhatif.simulation.history import DISRUPTIONS, GONE_VERBS, Event, Gone, History, Verb, update_event
from kwhatif.simulation.limits import PodLimits
from kwhatif.simulation.parameters import Chance
from kwhatif.simulation.pods import marked, with_condition
from kwhatif.simulation.view import SimulatedView
from kwhatif.state.change import Change, Delete, Evict, Upsert
from kwhatif.state.state import State
from kwhatif.workloads.names import generated_name, uid_of

#: Called after every change: with the object before and after it, and the event that it is part of.
Watcher = Callable[[KubernetesObject | None, KubernetesObject | None, int | None], None]
#: Called with a pod that is to be created, and the result of admission.
AdmissionWatcher = Callable[[Pod, Admitted[Pod] | Denied], None]


class ApiServer(SimulatedView):
    """The objects, their history, and the watchers.

    Three methods change objects: `write` carries out a request, `put` stores an object, `assume` changes the state for
    an assumption of a question; watchers only see changes by the first two. Nominations are not objects: schedulers
    apply them to the state.
    """

    def __init__(self, state: State, clock: Clock, chance: Chance, evicting: int | None = None) -> None:
        """`evicting`: how many pods of a workload may evict others; None: any number."""
        super().__init__(state, clock)
        self.chance = chance
        self.history = History()
        self.watchers: list[Watcher] = []
        self.admission_watchers: list[AdmissionWatcher] = []
        #: The number of pods created or deleted so far.
        self.churn = 0
        self._quotas = QuotaAdmission()
        self._replicas = ReplicaAdmission()
        #: Workload -> the additions of webhooks to its new pods.
        self.injections: dict[str, KnownInjection] = {}
        #: Workloads whose new pods do not get what a VerticalPodAutoscaler recommends: its webhook is not registered.
        self.unrecommended: dict[str, None] = {}
        self._made = 0
        self.limits = PodLimits(self._before, evicting)
        # The quota controller has counted before anything happens.
        uncounted = [quota for quota in state.cluster.all(ResourceQuota).values() if not is_counted(quota)]
        if uncounted:
            state.apply(*(Upsert(counted(quota, state.cluster)) for quota in uncounted))

    @classmethod
    def standing(cls, state: State) -> ApiServer:
        """An API server for which no time passes, at a moment whose date does not matter."""
        return cls(state, Clock.standing(), Chance())

    def prepare(self) -> ApiServer:
        """Build now what controllers ask for: it comes from the survey, which is valid only at the start."""
        finished_pods(self.state.cluster)
        _ = self._owned, self.limits.maximum
        return self

    def fork(self) -> Self:
        """An independent API server with the same past and no watchers."""
        other = super().fork()
        other.chance = self.chance.fork()
        other.history, other.watchers, other.admission_watchers = self.history.fork(), [], []
        other._quotas, other.limits = QuotaAdmission(), self.limits.fork()
        other.injections, other.unrecommended = self.injections.copy(), self.unrecommended.copy()
        return other

    # --- writing -------------------------------------------------------------------------------------

    def note(
        self,
        because: int | None,
        actor: str,
        verb: Verb,
        obj: KubernetesObject | ObjectRef,
        node: str | None = None,
        detail: str = "",
        by: ObjectRef | None = None,
    ) -> int:
        """Record an event of the story; returns its id."""
        ref = obj if isinstance(obj, ObjectRef) else ObjectRef.of(obj)
        number = len(self.history.events)
        return self.history.note(Event(number, self.now, because, actor, verb, ref, node or None, detail, by))

    def write(self, write: Write, actor: str, because: int | None) -> Denied | None:
        """Carry out a request to the API server; only a `Create` may be refused."""
        match write:
            case Create():
                return self._create(write.obj, actor, because, stored=write.stored)
            case Update():
                self._update(write.obj, actor, because)
            case DeletePod():
                self._delete_pod(write, actor, because)
            case Remove():
                self._remove(write, actor, because)
        return None

    def put(self, obj: KubernetesObject, event: int | None) -> None:
        """Store the object without admission."""
        before = self.state.cluster.get(type(obj), key_of(obj))
        changes: list[Change] = [Upsert(obj)]
        if isinstance(obj, Pod) and isinstance(before, Pod) and is_terminal(obj) and not is_terminal(before):
            self._release(before)
            self._charge(obj)
            changes = self._off_its_node(before, Upsert(obj))
        self.state.apply(*changes)
        self._announce(before, obj, event)

    def assume(self, *changes: Upsert | Delete | Evict) -> None:
        """Change the state without a request: watchers do not see it, but the index of owners is updated."""
        cluster = self.state.cluster
        refs = [_kind_and_key(change) for change in changes]
        before = [cluster.get(*ref) for ref in refs]
        self.state.apply(*changes)
        for ref, was in zip(refs, before, strict=True):
            self._has_changed(was, cluster.get(*ref))

    def decide(self, pod: Pod, outcome: Admitted[Pod] | Denied) -> None:
        """Admission has decided about a pod that is to be created."""
        for watcher in self.admission_watchers:
            watcher(pod, outcome)

    def _announce(self, before: KubernetesObject | None, after: KubernetesObject | None, event: int | None) -> None:
        if isinstance(after, ResourceQuota):
            self.state.apply(Upsert(counted(after, self.state.cluster)))
        self._has_changed(before, after)
        for watcher in self.watchers:
            watcher(before, after, event)

    def _off_its_node(self, pod: Pod, change: Change) -> list[Change]:
        """In the scheduler's cache the pod leaves its node before the change."""
        if pod.spec.node_name and self.state.node(pod.spec.node_name) is not None and not is_terminal(pod):
            return [Evict(key_of(pod)), change]
        return [change]

    # --- requests ------------------------------------------------------------------------------------

    def _create(self, obj: Any, actor: str, because: int | None, *, stored: bool = False) -> Denied | None:
        cluster = self.state.cluster
        meta = obj.metadata
        if not meta.name:
            obj = replace(obj, metadata=replace(meta, name=generated_name(meta, "", cluster.all(type(obj)))))
        if cluster.get(type(obj), key_of(obj)) is not None:
            return already_exists(obj)
        refused = self.limits.refuse(obj, self) if isinstance(obj, Pod) else None
        made = refused or self.admit(obj, stored=stored)
        if isinstance(made, Denied):
            self.note(because, actor, "was refused", obj, detail=made.message)
            return made
        self.churn += isinstance(made, Pod)
        self.put(made, self.note(because, actor, "created", made))
        return None

    def admit(self, obj: Any, *, stored: bool = False) -> Any:
        """The new object as the API server would store it, or `Denied`; quotas count it from now on."""
        admitted = self.stored(obj) if stored else self._admitted(obj)
        if isinstance(admitted, Denied):
            return admitted
        self._made += 1
        meta = admitted.metadata
        uid = meta.uid or uid_of(type(obj).__name__, meta.namespace, f"{meta.name}#{self._made}")
        created = (meta.creation_timestamp if stored else None) or self.stamp(self.now)
        made = replace(admitted, metadata=replace(meta, uid=uid, creation_timestamp=created))
        return replace(made, status=replace(made.status, phase="Pending")) if isinstance(made, Pod) else made

    def stored(self, obj: Any) -> Any:
        """An object that the API server has admitted before, completed; or `Denied`, which watchers see."""
        if not isinstance(obj, Pod):
            return complete_claim(obj, self.state.cluster)
        stored = stored_pod(obj, self.state.cluster)
        if isinstance(stored, Denied):
            self.decide(obj, stored)
        return stored

    def _admitted(self, obj: Any) -> Any:
        """The object as the API server stores it, or `Denied`."""
        cluster = self.state.cluster
        if isinstance(obj, Pod):
            admitted = self._charged(self._replicas.admit(obj, cluster))
            if not self._replicas.is_repeated:
                self._note_webhooks(obj)
            self.decide(obj, admitted)
            return admitted if isinstance(admitted, Denied) else admitted.object
        if isinstance(obj, PersistentVolumeClaim):
            taken = self._charged(admit_claim(obj, cluster))
            return taken if isinstance(taken, Denied) else taken.object
        if isinstance(obj, GROUP_KINDS):
            return admit_grouping(obj, cluster)
        return with_times(default_object(obj), None, self.stamp(self.now))

    def _note_webhooks(self, pod: Pod) -> None:
        known, owner = injection_of(pod, self.state.cluster), root_of(pod, self.state.cluster, through_jobs=True)
        if known is not None:
            self.injections[known.workload] = known
        if is_ignored(owner, self.state.cluster):
            self.unrecommended[owner] = None

    def _charged(self, admitted: Any) -> Any:
        """The admitted object, charged to the quotas; or `Denied`."""
        return admitted if isinstance(admitted, Denied) else self._charge(admitted.object) or admitted

    def _charge(self, obj: Counted) -> Denied | None:
        charged = self._quotas.charge(obj, self.state.cluster)
        if isinstance(charged, Denied):
            return charged
        if charged:
            self.state.apply(*map(Upsert, charged))
        return None

    def _release(self, obj: Counted) -> None:
        if released := self._quotas.release(obj, self.state.cluster):
            self.state.apply(*map(Upsert, released))

    def _update(self, obj: Any, actor: str, because: int | None) -> None:
        before = self.state.cluster.get(type(obj), key_of(obj))
        obj = with_times(obj, before, self.stamp(self.now))
        if before is None or before == obj:
            return
        found = update_event(before, obj)
        event = because if found is None else self.note(because, actor, found.verb, obj, detail=found.detail)
        self.put(obj, event)
        if isinstance(obj, Pod) and obj.metadata.deletion_timestamp and is_terminal(obj) and not held(obj):
            self._drop_pod(obj, "Deleted", actor, event)

    def _delete_pod(self, write: DeletePod, actor: str, because: int | None) -> None:
        pod = self.state.cluster.get(Pod, write.key)
        if pod is None:
            return
        marked_pod = pod
        if write.condition is not None:
            marked_pod = with_condition(pod, replace(write.condition, last_transition_time=self.stamp(self.now)))
        is_over = not pod.spec.node_name or is_terminal(pod)
        grace = pod.spec.termination_grace_period_seconds if write.grace is None else write.grace
        end = pod.metadata.deletion_timestamp
        if end is not None and not is_over and grace > 0 and self.at(end) <= self.now + grace:
            return  # a second request can only shorten it
        verb = GONE_VERBS.get(write.how, "deleted")
        event = self.note(because, actor, verb, pod, pod.spec.node_name, by=write.by)
        if end is None:
            self.churn += 1
        self._lose(pod, write.how, write.by)
        if (is_over or grace == 0) and not held(marked_pod):
            if marked_pod is not pod:
                self.put(marked_pod, event)
            self._drop_pod(marked_pod, write.how, actor, event)
            return
        self.put(marked(marked_pod, self.stamp(self.now + grace), grace), event)

    def _remove(self, write: Remove, actor: str, because: int | None) -> None:
        cluster = self.state.cluster
        obj: KubernetesObject | None = cluster.get(write.kind, write.key)
        if obj is None and write.kind is Node and lacks_node(write.key, cluster):
            obj = Node(metadata=AnnotatedMeta(name=write.key))
        if obj is None:
            return
        if isinstance(obj, Pod):
            self._drop_pod(obj, write.how or "Deleted", actor, because)
            return
        event = self.note(because, actor, "deleted", obj)
        if isinstance(obj, PersistentVolumeClaim):
            self._release(obj)
        self.state.apply(Delete.of(obj))
        self._announce(obj, None, event)

    def _drop_pod(self, pod: Pod, how: How, actor: str, because: int | None) -> None:
        """Remove the pod's object."""
        event = self.note(because, actor, "removed", pod, pod.spec.node_name)
        if pod.metadata.deletion_timestamp is None and identity(pod) not in self.history.gone:
            self.churn += 1
        self._lose(pod, how)
        self._release(pod)
        self.state.apply(*self._off_its_node(pod, Delete.of(pod)))
        self._announce(pod, None, event)

    def _lose(self, pod: Pod, how: How, by: ObjectRef | None = None) -> None:
        uid = identity(pod)
        if uid in self.history.gone:
            return
        preemptor = self.state.cluster.get(Pod, by.key) if by is not None and by.kind == Pod.__name__ else None
        if preemptor is not None:
            self.limits.has_evicted(preemptor)
        owner = root_of(pod, self.state.cluster, self.gone_sets)
        node = pod.spec.node_name or None
        disrupted = pod_condition(pod, "DisruptionTarget") if pod.metadata.deletion_timestamp is not None else None
        earlier = None if disrupted is None else DISRUPTIONS.get(disrupted.reason)
        self.history.lose(Gone(key_of(pod), uid, owner, self.was_there(pod), node, how, by, self.now, earlier))


def _kind_and_key(change: Upsert | Delete | Evict) -> tuple[type[Any], str]:
    """The kind and the key of the object that it changes."""
    match change:
        case Upsert():
            return type(change.obj), key_of(change.obj)
        case Delete():
            return change.kind, change.key
        case Evict():
            return Pod, change.pod


def held(pod: Pod) -> bool:
    """Whether a finalizer keeps the object; the Job controller removes its own once the pod has ended."""
    return any(name != JOB_TRACKING for name in pod.metadata.finalizers)
