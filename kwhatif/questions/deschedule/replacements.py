"""Replacements: the pods that controllers create for evicted ones, and where they land in the simulation."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence

from kwhatif.controllers.contract import DeletePod
from kwhatif.controllers.eviction import EVICTED, EvictionApi, EvictionGranted
from kwhatif.kube.model.cluster import KubernetesObject, ObjectRef, key_of
from kwhatif.kube.model.meta import OwnerReference, controller_of
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.workload import POD_CONTROLLERS, ReplicaSet, ReplicationController
from kwhatif.questions.rows import owner_of
from kwhatif.questions.story.settled_cluster import SettledCluster, Simulation
from kwhatif.report.deciders import Landing, ReplacementCause, ReplacementRow
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.history import preemptor_text
from kwhatif.state.state import State

ACTOR = "descheduler"
#: Controllers that replace a pod before it has ended.
_DO_NOT_WAIT = frozenset({"Job", "ReplicaSet", "ReplicationController"})
_COUNTED = (ReplicaSet, ReplicationController)


class Replacements(Simulation):
    """One simulation, in which the descheduler evicts repeatedly."""

    def __init__(self, base: SettledCluster) -> None:
        super().__init__(base)
        #: Pods that were created since the last evictions, and by UID the first node of any pod.
        self._made: list[Pod] = []
        self._bound: dict[str, str] = {}
        #: Pods to evict that had already gone by themselves.
        self._went_before: set[str] = set()
        self._begun = self.engine.clock.now
        self.engine.api_server.watchers.append(self._observe)

    def _observe(self, before: KubernetesObject | None, after: KubernetesObject | None, event: int | None) -> None:
        del event
        if not isinstance(after, Pod):
            return
        if before is None:
            self._made.append(after)
        elif isinstance(before, Pod) and after.spec.node_name and not before.spec.node_name:
            self._bound[after.metadata.uid] = after.spec.node_name

    @property
    def state(self) -> State:
        """A fork of the present state."""
        self.engine.api_server.state.prepare()
        return self.engine.api_server.state.fork()

    def land(self, evicted: Sequence[Pod]) -> list[ReplacementRow]:
        """Evict these pods, simulate until nothing changes any more, and return the replacements.

        The descheduler has checked the budgets already: here the evictions only count against them.
        """
        engine = self.engine
        self._made.clear()
        self._went_before = {key_of(pod) for pod in evicted if not _is_there(pod, engine.api_server)}
        self._begun = engine.clock.now
        began = len(engine.api_server.history.events)
        engine.perform(lambda api_server: self._evict(evicted, api_server))
        engine.settle()
        return list(self._rows(evicted, _Happened(self._made, engine.api_server, began)))

    def wait(self, seconds: float) -> None:
        """Continue until this time after the last evictions began, if it has not passed yet."""
        left = self._begun + seconds - self.engine.clock.now
        if left > 0:
            self.engine.wait(left)

    @staticmethod
    def _evict(evicted: Iterable[Pod], api_server: ApiServer) -> None:
        api = EvictionApi(api_server)
        for pod in evicted:
            if not _is_there(pod, api_server):
                continue  # see `_went_before`
            answer = api.evict(key_of(pod))
            forced = DeletePod(key_of(pod), "Evicted", condition=EVICTED)
            for write in answer.writes if isinstance(answer, EvictionGranted) else (forced,):
                api_server.write(write, ACTOR, None)

    def _rows(self, evicted: Iterable[Pod], happened: _Happened) -> Iterator[ReplacementRow]:
        uids = {made.metadata.uid for made in self._made}
        ties = {uid: find() for uid, find in self.engine.scheduler.ties.items() if uid in uids}
        for pod in evicted:
            made = happened.next_for(pod)
            if made is None:
                yield self._nothing(pod, happened)
            else:
                yield self._row(pod, made, happened, ties.get(made.metadata.uid, ()))

    def _row(self, pod: Pod, made: Pod, happened: _Happened, ties: tuple[str, ...]) -> ReplacementRow:
        api_server, key, uid = self.engine.api_server, key_of(made), made.metadata.uid
        victims = happened.victims(key)
        node = self._bound.get(uid)
        gone = api_server.history.gone.get(uid)
        landing: Landing = "SameNode" if node == pod.spec.node_name else "Elsewhere"
        cause: tuple[ReplacementCause | None, str] = (None, "")
        if node is None:
            landing, cause = "Pending", self._why_pending(made)
        elif gone is not None and gone.how == "Preempted":
            cause = "preempted", preemptor_text(gone.by)
        if node is not None and victims:
            landing = "Preempts"
        return ReplacementRow(
            landing=landing,
            pod=key,
            node=node,
            ties=ties if node is not None and len(ties) > 1 else (),
            victims=victims,
            cause=cause[0],
            about=cause[1],
        )

    def _why_pending(self, made: Pod) -> tuple[ReplacementCause, str]:
        """The cause, and its subject."""
        said = self.engine.scheduler.messages.get(made.metadata.uid, "")
        if said:
            return "unschedulable", said
        if made.spec.scheduling_gates:
            return "gated", ""
        if made.spec.scheduler_name not in self.base.session.profiles:
            return "scheduler-not-modelled", made.spec.scheduler_name
        return "not-tried", ""

    def _nothing(self, pod: Pod, happened: _Happened) -> ReplacementRow:
        """The row of a pod without a replacement, and why."""
        owner = controller_of(pod.metadata)
        if pod.metadata.annotations.mirror is not None:
            return _none("static")
        if owner is None:
            return _none("bare")
        if owner.kind not in POD_CONTROLLERS:
            return _none("controller-not-modelled", owner.kind)
        is_done = is_terminal(pod) or pod.metadata.deletion_timestamp is not None
        if is_done and owner.kind in _DO_NOT_WAIT:
            return _none("counted-out", owner.kind)
        if key_of(pod) in self._went_before:
            return _none("gone-anyway")
        refusal = happened.refusals.get(_place(owner, pod), "")
        return _none("refused", refusal) if refusal else self._unwanted(owner, pod)

    def _unwanted(self, owner: OwnerReference, pod: Pod) -> ReplacementRow:
        """The row of a pod whose owner wants no replacement, and why."""
        cluster, kind = self.engine.api_server.state.cluster, owner.kind
        found = cluster.get(POD_CONTROLLERS[kind], f"{pod.metadata.namespace}/{owner.name}")
        if found is None:
            is_read = bool(self.base.session.cluster.all(POD_CONTROLLERS[kind]))
            return _none("owner-gone" if is_read else "owner-not-read", kind)
        if isinstance(found, _COUNTED):
            wanted = 1 if found.spec.replicas is None else found.spec.replicas
            if len(self.engine.api_server.pods_of(found)) >= wanted:
                return _none("enough", kind, wanted)
        return _none("no-other", kind)


def _none(cause: ReplacementCause, about: str = "", wanted: int = 0) -> ReplacementRow:
    return ReplacementRow(landing="None", cause=cause, about=about, wanted=wanted)


class _Happened:
    """The events after the evictions of one cycle."""

    def __init__(self, made: Iterable[Pod], api_server: ApiServer, began: int) -> None:
        self._by_owner: dict[tuple[str, str, str], deque[Pod]] = {}
        self._named: dict[str, Pod] = {}
        for pod in made:
            owner = controller_of(pod.metadata)
            if owner is not None and owner.kind == "StatefulSet":
                self._named.setdefault(key_of(pod), pod)
            elif owner is not None:
                self._by_owner.setdefault(_place(owner, pod), deque()).append(pod)
        #: The victims of each preemptor.
        self._victims: dict[ObjectRef | None, list[str]] = {}
        events = api_server.history.events[began:]
        for event in events:
            if event.verb == "preempted":
                self._victims.setdefault(event.by, []).append(event.object.key)
        #: The API server's refusals of new pods, by controller.
        self.refusals: dict[tuple[str, str, str], str] = {}
        for event in events:
            if event.verb == "was refused":
                controller = ObjectRef.parse(event.actor)
                self.refusals[controller.kind, controller.namespace, controller.name] = event.detail

    def next_for(self, pod: Pod) -> Pod | None:
        """The pod's replacement: of a StatefulSet by name, of other workloads in the order of the evictions."""
        owner = controller_of(pod.metadata)
        if owner is None:
            return None
        if owner.kind == "StatefulSet":
            return self._named.get(key_of(pod))
        waiting = self._by_owner.get(_place(owner, pod))
        return waiting.popleft() if waiting else None

    def victims(self, key: str) -> tuple[str, ...]:
        """The pods that the scheduler evicted for it."""
        return tuple(self._victims.get(ObjectRef(Pod.__name__, key), ()))


def _is_there(pod: Pod, api_server: ApiServer) -> bool:
    """Whether it is still the same pod: it may have ended by itself, and another one may have its name."""
    there = api_server.state.cluster.get(Pod, key_of(pod))
    return there is not None and there.metadata.uid == pod.metadata.uid


def _place(owner: OwnerReference, pod: Pod) -> tuple[str, str, str]:
    return owner.kind, pod.metadata.namespace, owner.name


def fingerprint(state: State) -> frozenset[tuple[str, str, int]]:
    """The number of pods by workload and node: equal when the descheduler has come back to an earlier placement."""
    return frozenset((owner, node, count) for (owner, node), count in Counter(_places(state)).items())


def _places(state: State) -> Iterator[tuple[str, str]]:
    for key, info in state.pods.items():
        yield owner_of(info.pod) or key, info.pod.spec.node_name
