"""The scheduler's loop (`ScheduleOne` in `pkg/scheduler/schedule_one.go`) around the queue and the cycle.

One attempt at a time, and every call to the API server is answered at once. The queue's times are
nanoseconds since the epoch, each a little later than the one before, so that no order depends on a heap.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Protocol, Self

from msgspec.structs import replace

from kwhatif.controllers.contract import DeletePod
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, ObjectRef
from kwhatif.kube.model.meta import SECOND
from kwhatif.kube.model.pod import Pod, PodCondition, pod_condition
from kwhatif.scheduler.batch.result import ScheduleResult
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.status import NO_NODES
from kwhatif.scheduler.pod_groups.cycle import GroupOutcome
from kwhatif.scheduler.queue.event_handlers import EventHandlers, FailedAttempt, handle_failure
from kwhatif.scheduler.queue.hinting import Preempting, QueueProfile, queue_profile
from kwhatif.scheduler.queue.queued_pod import QueuedEntity, QueuedPodGroupInfo, QueuedPodInfo, pod_lister
from kwhatif.scheduler.queue.scheduling_queue import SchedulingQueue
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.attempts import SimulatedAttempts
from kwhatif.simulation.history import Verb
from kwhatif.simulation.parameters import SchedulerOptions
from kwhatif.simulation.pods import bound, with_condition
from kwhatif.state.change import Nominate
from kwhatif.state.pod_info import PodInfo

_FLUSH_EVERY = 30
#: After this many attempts that ended with the same error while nothing changed, the next one ends the same way. The
#: backoff is at its maximum then.
_IN_VAIN = 5
#: How long ago pods that are pending at the start were tried, in seconds: long enough that no backoff is left.
_LONG_AGO = 3600
ACTOR = "scheduler"


class PodGroupCycle(Protocol):
    """The part of the scheduler that knows groups: see `simulation/groups.py`."""

    #: By the key of the group, what came of it.
    outcomes: dict[str, GroupOutcome]
    #: UIDs of the pods that the scheduler has given their nodes.
    placed: set[str]

    def queue(self, profiles: dict[str, QueueProfile], cluster: Cluster) -> SchedulingQueue:
        """A queue in which the pods of a group are one entity."""

    def schedule(self, info: QueuedPodGroupInfo, scheduler: Scheduler) -> None:
        """One attempt of the group."""

    def fork(self) -> Self:
        """An independent copy."""


class Scheduler:
    """All profiles, one queue."""

    def __init__(
        self,
        api_server: ApiServer,
        profiles: Mapping[str, Profile],
        groups: PodGroupCycle | None = None,
        options: SchedulerOptions = SchedulerOptions(),  # noqa: B008 - frozen
    ) -> None:
        """`groups`: None if the cluster has none."""
        self.api_server = api_server
        self._options = options
        self.groups = groups
        self.profiles = profiles
        cluster = api_server.state.cluster
        self._lister = pod_lister(cluster)
        self._preempting = Preempting(self._lister)
        self.attempts = SimulatedAttempts(
            api_server, profiles, score_single_node=options.score_single_node, ties_by_heap=options.ties_by_heap
        )
        self.queue = (SchedulingQueue if groups is None else groups.queue)(self._queue_profiles(), cluster)
        self._handlers = EventHandlers(self.queue, profiles.keys())
        self._ticks = 0
        self._ago = _LONG_AGO * SECOND
        #: UID of a pending pod -> the message of its condition PodScheduled.
        self.messages: dict[str, str] = {}
        #: UID of a pod that this scheduler has bound -> computes the nodes with equal scores, if there were several;
        #: in the order of the bindings, which is the cheapest.
        self.ties: dict[str, Callable[[], tuple[str, ...]]] = {}
        #: UID of a pod -> the event that causes its next attempt.
        self._causes: dict[str, int | None] = {}
        self._event: int | None = None
        #: UID of a pod whose attempts end with an error -> how many ended with the same one while nothing changed.
        self._in_vain: Counter[str] = Counter()
        self._is_muted = False
        self._preemptions: deque[tuple[int, Callable[[], None]]] = deque()
        self._attempted = 0
        #: Called with the result of every attempt before anything changes; forks have none.
        self.attempt_watchers: list[Callable[[ScheduleResult], None]] = []
        for info in sorted(
            api_server.state.pending.values(), key=lambda info: info.pod.metadata.creation_timestamp or ""
        ):
            if (
                info.pod.spec.scheduler_name in profiles
                and info.pod.metadata.deletion_timestamp is None
                and info.key not in options.unschedulable
            ):
                self.tick()
                self.queue.add(info)
        self.queue.woken = self._woken
        api_server.watchers.append(self._observe)

    def fork(self, api_server: ApiServer) -> Self:
        """An independent scheduler for a fork of the simulation: the same queue; results for signatures are shared."""
        other = copy(self)
        state = api_server.state
        other.api_server, other._lister, other.attempt_watchers = api_server, pod_lister(state.cluster), []
        other._preemptions = deque()
        other._preempting = self._preempting.fork(other._lister)
        other.attempts = self.attempts.fork(api_server)
        other.queue = self.queue.fork(other._queue_profiles(), state.cluster)
        other._handlers = EventHandlers(other.queue, self.profiles.keys())
        other.messages, other._causes = self.messages.copy(), self._causes.copy()
        other.ties, other._in_vain = self.ties.copy(), self._in_vain.copy()
        other.groups = None if self.groups is None else self.groups.fork()
        other.queue.woken = other._woken
        api_server.watchers.append(other._observe)
        return other

    def end(self) -> None:
        """Drop the results kept for signatures, and references to this object."""
        self.attempts.end()
        self.ties.clear()
        self.queue.woken = None
        del self._handlers

    def _queue_profiles(self) -> dict[str, QueueProfile]:
        state = self.api_server.state
        return {name: queue_profile(profile, state, self._preempting) for name, profile in self.profiles.items()}

    def begin(self) -> None:
        """The pods that are pending at the start were tried: from now on the clock counts."""
        self._ago = 0

    def tick(self) -> None:
        """The next moment of the queue."""
        self._ticks += 1
        self.queue.now = self.api_server.clock.nanoseconds - self._ago + self._ticks

    # --- events --------------------------------------------------------------------------------------

    def _observe(self, before: KubernetesObject | None, after: KubernetesObject | None, event: int | None) -> None:
        self.tick()
        self._in_vain.clear()
        if self._is_muted:
            return
        self._event = event
        if before is None and isinstance(after, Pod):
            self._causes[after.metadata.uid] = event
        self._handlers.handle(before, after)

    def _woken(self, info: QueuedEntity) -> None:
        self._causes[info.uid] = self._event

    def waiting(self) -> set[str]:
        """UIDs of the pods, and keys of the groups, that are to be tried now."""
        queue = self.queue
        parts = queue.active.queue, queue.backoff.pod_backoff
        if self._preemptions and not any(map(len, parts)):
            self._preempt_now()
        return {info.uid for part in parts for info in part}

    def next_flush(self) -> float | None:
        """When pods whose attempt ended with an error are retried; None if never, or if it changes nothing."""
        retried = self.queue.backoff.pod_error_backoff.entities()
        if not self.api_server.state.nodes or all(self._in_vain[info.uid] >= self._enough(info) for info in retried):
            return None
        return float(int(self.api_server.now) + 1)

    @staticmethod
    def _enough(info: QueuedEntity) -> int:
        """After this many equal attempts, another attempt has the same result."""
        return _IN_VAIN if isinstance(info, QueuedPodInfo) else 1

    def flush(self, since: float) -> None:
        """Run the queue's periodic flushes that were due after `since`, up to now."""
        self.tick()
        self.queue.flush_backoff()
        if int(self.api_server.now) // _FLUSH_EVERY > int(since) // _FLUSH_EVERY:
            self.queue.flush_unschedulable_leftover()

    # --- an attempt ----------------------------------------------------------------------------------

    def schedule_one(self) -> str | None:
        """Try the next pod or group; returns its UID or key, or None if the queue has none."""
        self.tick()
        self._attempted += 1
        self._preempt_now(self._attempted - 1)
        info = self.queue.pop_entity()
        if info is None:
            return None
        if isinstance(info, QueuedPodGroupInfo):
            assert self.groups is not None, "only its queue has groups"
            self.groups.schedule(info, self)
            return info.uid
        pod = info.pod_info.pod
        if pod.metadata.deletion_timestamp is not None:
            self.queue.done(info.uid)
            return info.uid
        because = self.pop_cause(info.uid)
        result = self.attempts.attempt(info.pod_info, info.template)
        for watcher in self.attempt_watchers:
            watcher(result)
        if result.outcome == "Placed" and result.node is not None:
            self.bind(info, result, result.node, because)
        else:
            self._fail(info, result, because)
        return info.uid

    def pop_cause(self, uid: str) -> int | None:
        """The event that causes the attempt which now begins."""
        return self._causes.pop(uid, None)

    # --- no node -------------------------------------------------------------------------------------

    def _fail(self, info: QueuedPodInfo, result: ScheduleResult, because: int | None) -> None:
        candidate = result.candidate
        victims = self.begin_preemption(info.uid, [] if candidate is None else candidate.pods)
        nominated = result.nominated
        event = self._note_failure(info, result.message, nominated, because)
        rejectors = () if result.failed or result.message == NO_NODES else result.rejectors
        self.back_to_queue(info, rejectors, nominated, event, is_error=result.failed)
        self.preempt(info, victims, result.cleared_nominations, event)

    def back_to_queue(
        self, info: QueuedPodInfo, rejectors: Sequence[str], nominated: str | None, event: int | None, *, is_error: bool
    ) -> None:
        """The pod waits again, its status has the reason (`handleSchedulingFailure`); `nominated` None: unchanged."""
        pod = handle_failure(self.queue, info, FailedAttempt(tuple(rejectors), (), nominated), self._lister)
        if pod is not None:
            self._remember_nomination(info)
            nominated = pod.status.nominated_node_name if nominated is None else nominated
            self._patch(pod, "SchedulerError" if is_error else "Unschedulable", nominated, event)

    def begin_preemption(self, uid: str, pods: Iterable[PodInfo]) -> Sequence[PodInfo]:
        """The pods that must be evicted; the pod or group waits until they are."""
        victims = [pod for pod in pods if not pod.terminating]
        if victims:
            self._preempting.start(uid)
        return victims

    def preempt(
        self, info: QueuedEntity, victims: Sequence[PodInfo], cleared: Sequence[PodInfo], event: int | None
    ) -> None:
        """Evict the victims: now, or after the number of attempts in `SchedulerOptions.preempts_after`."""
        if not victims:
            return
        is_pod = isinstance(info, QueuedPodInfo)
        by = ObjectRef("Pod", info.key) if is_pod else ObjectRef.parse(info.key)
        evict = partial(self._preempt, info.uid, by, cleared, victims, event)
        self._preemptions.append((self._attempted + self._options.preempts_after, evict))
        if not self._options.preempts_after:
            self._preempt_now(self._attempted)

    def _preempt_now(self, until: int | None = None) -> None:
        while self._preemptions and (until is None or self._preemptions[0][0] <= until):
            self._preemptions.popleft()[1]()

    def _note_failure(self, info: QueuedPodInfo, message: str, nominated: str, because: int | None) -> int | None:
        same = self.messages.get(info.uid) == message
        self.messages[info.uid] = message
        now = info.pod_info.pod.status.nominated_node_name
        if self.is_in_vain(info.uid, same=same and nominated == now):
            return because
        verb: Verb = "nominated" if nominated and nominated != now else "unschedulable"
        return self.api_server.note(because, ACTOR, verb, ObjectRef("Pod", info.key), nominated, message)

    def is_in_vain(self, uid: str, *, same: bool) -> bool:
        """Whether an attempt ended as the one before it, which is counted."""
        if same:
            self._in_vain[uid] += 1
        else:
            self._in_vain.clear()
        return same

    def _remember_nomination(self, info: QueuedPodInfo) -> None:
        """Copy the nomination from the queue's nominator to the state."""
        node, there = self.queue.nominator.node_of(info.uid), self.api_server.state.nomination_of(info.key)
        if node != there and info.key in self.api_server.state.pending:
            self.api_server.state.apply(Nominate(info.key, node))

    def _patch(self, pod: Pod, reason: str, nominated: str, event: int | None) -> None:
        known = pod_condition(pod, "PodScheduled")
        is_known = known is not None and (known.status, known.reason) == ("False", reason)
        if is_known and nominated == pod.status.nominated_node_name:
            return  # as mostly
        time = self.api_server.stamp(self.api_server.now)
        condition = PodCondition(type="PodScheduled", status="False", reason=reason, last_transition_time=time)
        after = with_condition(pod, condition)
        if nominated != pod.status.nominated_node_name:
            after = replace(after, status=replace(after.status, nominated_node_name=nominated))
        if after is not pod:
            self._is_muted = self._options.forgets_nominations
            self.api_server.put(after, event)
            self._is_muted = False

    def _preempt(
        self, uid: str, by: ObjectRef, cleared: Sequence[PodInfo], victims: Sequence[PodInfo], event: int | None
    ) -> None:
        """All but the last victim are deleted, then the last one (`prepareCandidateAsync` in `executor.go`)."""
        api_server = self.api_server
        for other in cleared:
            pod = api_server.state.cluster.get(Pod, other.key)
            if pod is not None and pod.status.nominated_node_name:
                api_server.put(replace(pod, status=replace(pod.status, nominated_node_name="")), event)
        condition = PodCondition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
        for victim in victims:
            if victim is victims[-1]:
                self._preempting.reach_last(uid, victim.key)
            deletion = DeletePod(victim.key, "Preempted", self._options.grace, condition=condition, by=by)
            api_server.write(deletion, ACTOR, event)
        self._preempting.end(uid)

    # --- a node --------------------------------------------------------------------------------------

    def bind(self, info: QueuedPodInfo, result: ScheduleResult, node: str, because: int | None) -> None:
        """Bind the pod to the node (`bindingCycle`)."""
        api_server = self.api_server
        reserved = result.reserve(api_server.state.by_name[node])
        self.queue.nominator.delete(info.uid)
        self.queue.done(info.uid)
        self.messages.pop(info.uid, None)
        if self.groups is not None:
            self.groups.placed.add(info.uid)
        if result.tied or result.hinted:
            self.ties[info.uid] = result.find_ties
        event = api_server.note(because, ACTOR, "bound", ObjectRef("Pod", info.key), node)
        for obj in reserved:
            api_server.put(obj, event)
        pod = api_server.state.cluster.get(Pod, info.key)
        assert pod is not None, "nothing has changed since it was popped"
        api_server.put(bound(pod, node, api_server.stamp(api_server.now)), event)
