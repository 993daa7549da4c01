"""Pending pods are tried in order: as they are (`PendingAttempts`), and after edits (`Replay`).

In the replay, pods that were rejected before are unschedulable, and those that were not tried yet are ready. Time
stands still: no pod is flushed, and all backoffs are over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from kwhatif.kube.matching.pods import ALL_PODS, PodChoice
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, ObjectRef, key_of
from kwhatif.kube.model.meta import SECOND
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup, group_of, has_groups
from kwhatif.questions.decisions.decide import decision_of, in_full
from kwhatif.questions.decisions.described import AtOnce, Explained, Explainer, in_the_way, without
from kwhatif.questions.pod_groups import InstantGroupRows, decision_of_member
from kwhatif.questions.queue_report.wakeups import wake_ups
from kwhatif.questions.rows import owner_of
from kwhatif.questions.session.session import Session
from kwhatif.report.decision import Decision, Outcome
from kwhatif.report.pod_groups import PodGroupsRow
from kwhatif.report.queue import WakeUpRow, WakingRow
from kwhatif.scheduler.batch import ScheduleResult, result_of
from kwhatif.scheduler.framework.attempt import Attempt, attempt
from kwhatif.scheduler.framework.hints import QUEUE
from kwhatif.scheduler.framework.profile import Profile, scheduler_of
from kwhatif.scheduler.pod_groups.cycle import plain_cycle, run_algorithm
from kwhatif.scheduler.queue.event_handlers import EventHandlers, FailedAttempt, handle_failure
from kwhatif.scheduler.queue.group_queue import GroupSchedulingQueue
from kwhatif.scheduler.queue.hinting import Answers, Occurrence, Preempting, queue_profile
from kwhatif.scheduler.queue.queued_pod import QueuedPodGroupInfo, QueuedPodInfo, entity_key, pod_lister
from kwhatif.scheduler.queue.scheduling_queue import SchedulingQueue
from kwhatif.simulation.instant import InstantEngine, in_group_order
from kwhatif.state.change import Delete, Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


class QueueQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked about the queue."""

    #: Keys of the pods to explain, and to leave all others out; none: all pods.
    pods: Collection[str] = ()
    #: Leave out all others.
    choice: PodChoice = ALL_PODS
    #: Say of each pod what would wake it.
    explain: bool = False

    def asks_for(self, info: PodInfo) -> bool:
        """Whether the answer is to include the pod."""
        return (not self.pods or info.key in self.pods) and self.choice.matches(info.pod)


class TriedPod(NamedTuple):
    """A pending pod, and the result of its attempt."""

    info: PodInfo
    decision: Decision
    rejectors: tuple[str, ...]
    #: None: not asked for.
    wake_ups: Sequence[WakeUpRow] | None


class PendingAttempts:
    """Tries pods in order, each in the cluster as those before it leave it."""

    def __init__(self, session: Session, question: QueueQuestion) -> None:
        self._engine = InstantEngine(session.state.fork(), session.profiles)
        self._described = AtOnce(self._engine.api_server, session.profiles, self)
        self._groups = InstantGroupRows(self._engine, session.profiles)
        self.found: list[TriedPod] = []
        self._question = question
        #: What would wake the pod that is being tried.
        self._wake_ups: list[Sequence[WakeUpRow]] = []
        #: Replicas fail for the same reason: the first one's decision has it, and the events that would requeue them.
        self._explained: dict[object, Sequence[WakeUpRow]] = {}

    def try_all(self, pods: Iterable[PodInfo]) -> PendingAttempts:
        """Try the pods in this order."""
        self._engine.run(pods, self._note, self._note_member)
        return self

    @property
    def groups(self) -> PodGroupsRow | None:
        """The results of the groups of the pods that are asked for; None: no pod is in a group."""
        asked = [each for each in self.found if self._question.asks_for(each.info)]
        return self._groups.rows((each.info, each.decision) for each in asked)

    def _is_explained(self, info: PodInfo) -> bool:
        question = self._question
        return question.asks_for(info) and (info.key in question.pods or question.explain)

    @property
    def caveats(self) -> Mapping[Caveat, None]:
        """What the decisions leave out."""
        return self._described.caveats

    def _note_member(self, result: ScheduleResult) -> None:
        wake_ups = () if self._is_explained(result.pod) else None
        self.found.append(TriedPod(result.pod, decision_of_member(result), result.rejectors, wake_ups))

    def _note(self, result: ScheduleResult) -> None:
        self._wake_ups.clear()
        info, kind = result.pod, kind_of(result)
        decision = self._described.decide(result, Explained())
        if self._question.asks_for(info):
            self._explained[kind] = self._wake_ups[0] if self._wake_ups else self._explained.get(kind, ())
        reasons = self._explained[kind] if self._is_explained(info) else None
        self.found.append(TriedPod(info, decision, result.rejectors, reasons))

    def explains(self, result: ScheduleResult, explained: Collection[Outcome]) -> bool:
        """See `Explainer`: the first of its kind, and each pod that is asked for by name."""
        del explained
        question, info = self._question, result.pod
        return question.asks_for(info) and (info.key in question.pods or kind_of(result) not in self._explained)

    def describe(self, whole: Attempt) -> Decision:
        """See `Explainer`."""
        named = whole.cycle.pod.key in self._question.pods
        if named or self._question.explain:
            self._wake_ups.append(wake_ups(whole))
        return decision_of(whole) if named else in_full(whole)


def kind_of(result: ScheduleResult) -> object:
    """Pods of one owner with the same outcome are of one kind: the first one has the reason for all of them."""
    return owner_of(result.pod.pod) or result.pod.key, result.outcome, result.message


#: Late enough that all backoffs are over.
_LATER = 3600 * SECOND


class PendingPod(msgspec.Struct, frozen=True):
    """A pending pod; `rejectors` None: it is ready."""

    info: PodInfo
    rejectors: frozenset[str] | None


class Turn(msgspec.Struct):
    """The result of one pod."""

    result: ScheduleResult
    #: Why, for the first of its kind.
    decision: Decision
    #: Its number in the order of attempts, from 1.
    number: int
    #: Keys of the pods that it has evicted, or its group.
    victims: tuple[str, ...]


class Replay:
    """A queue, and the cluster that it is about."""

    def __init__(
        self, profiles: Mapping[str, Profile], before: State, pods: Sequence[PendingPod], explain: Explainer
    ) -> None:
        """Set up.

        Args:
            profiles: scheduler name -> profile.
            before: the cluster without the edits; it stays as it is.
            pods: in the order of the queue.
            explain: which decisions say why, and how.
        """
        self.state = before.fork()
        self._profiles = profiles
        self._lister = pod_lister(self.state.cluster)
        preempting = Preempting(self._lister)
        made = {name: queue_profile(profile, self.state, preempting) for name, profile in profiles.items()}
        queue = GroupSchedulingQueue if has_groups(before.cluster) else SchedulingQueue
        self._queue: SchedulingQueue = queue(made, self.state.cluster, witness=self._note)
        self._handlers = EventHandlers(self._queue, profiles.keys())
        self._engine = InstantEngine(self.state, profiles)
        self.groups = InstantGroupRows(self._engine, profiles)
        self._engine.api_server.watchers.append(self._observe)
        self._described = AtOnce(self._engine.api_server, profiles, explain)
        #: What the pod that is being placed reserves besides room, such as its claims: before and after.
        self._reserved: list[tuple[KubernetesObject | None, KubernetesObject | None]] = []
        #: By key: the hints that said QUEUE.
        self._hinted: dict[str, dict[WakingRow, None]] = {}
        self._just_hinted: set[str] = set()
        #: The pods that edits made.
        self.new: dict[str, None] = {}
        self.woken: set[str] = set()
        #: The last attempt of each pod.
        self.turns: dict[str, Turn] = {}
        self._placed: list[ScheduleResult] = []
        #: The pods that groups have evicted.
        self._gone: list[PodInfo] = []
        #: The state without any of these, and where pods would fit there, by what they share with their replicas.
        self._before_all: State | None = None
        self._alone: dict[bytes, frozenset[str]] = {}
        self._fill(pods)

    def _fill(self, pods: Sequence[PendingPod]) -> None:
        """First the unschedulable pods: they are popped, and rejected."""
        queue = self._queue
        for is_ready in (False, True):
            for number, each in enumerate(pods):
                if (each.rejectors is None) is not is_ready:
                    continue
                queue.now = number
                queue.add(each.info)
                info = None if is_ready else queue.pop()
                if info is not None:
                    handle_failure(queue, info, FailedAttempt(each.rejectors or ()), self._lister)
        queue.now = _LATER
        queue.flush_backoff()

    def _note(self, occurrence: Occurrence, answers: Mapping[str, Answers], *, replay: bool) -> None:
        del replay
        obj = occurrence.old if occurrence.new is None else occurrence.new
        name = "" if obj is None else str(ObjectRef.of(obj))
        for key, hints in answers.items():
            for plugin, hint in hints.items():
                if hint is QUEUE:
                    row = WakingRow(event=occurrence.event.label, object=name, plugin=plugin)
                    self._hinted.setdefault(key, {})[row] = None
                    self._just_hinted.add(key)

    # --- what happens --------------------------------------------------------------------------------

    def edit(self, after: Cluster) -> None:
        """Make the cluster like that one, object by object."""
        for old, new in _differences(self.state.cluster, after):
            if isinstance(new, Pod) and old is None and not new.spec.node_name:
                self.new[key_of(new)] = None
            change = Delete.of(old) if new is None else Upsert(new)
            if new is None and isinstance(old, Node):
                self._handlers.handle(old, None)
                self.state.apply(change)
            else:
                self.state.apply(change)
                self._handlers.handle(old, new)
        self._count_woken()

    def _count_woken(self) -> None:
        """The pods that a hint has requeued since the last count; a hint moves a pod at once, or not at all."""
        ready, backing_off = self._queue.active.queue, self._queue.backoff
        pods = self.state.pods
        for key in self._just_hinted:
            group = group_of(pods[key].pod) if key in pods and has_groups(self.state.cluster) else ""
            entity = entity_key(group) if group else key
            if entity in ready or entity in backing_off:
                self.woken.add(key)
        self._just_hinted.clear()

    @property
    def caveats(self) -> Mapping[Caveat, None]:
        """What the decisions leave out."""
        return self._described.caveats

    def run(self) -> None:
        """Try the ready pods until there are none. It ends, as placed pods stay and evicted ones are not replaced."""
        while (info := self._queue.pop_entity()) is not None:
            self._reserved.clear()
            if isinstance(info, QueuedPodGroupInfo):
                self._try_group(info)
            else:
                self._try(info)
            self._count_woken()

    def _try(self, info: QueuedPodInfo) -> None:
        result = self._engine.attempt(info.pod_info)
        decision = self._described.decide(result, Explained())
        self._engine.carry_out(info.pod_info, result)
        victims = [victim.pod for victim in result.victims]
        self._note_turn(result.settled, decision, victims)
        if result.node is None:
            self._fail(info, result)
        else:
            self._see(victims)
            self._place(info, result)

    def _try_group(self, info: QueuedPodGroupInfo) -> None:
        """All pending pods of a group: those without a node go back to the queue."""
        queue, members = self._queue, info.in_order
        assert isinstance(queue, GroupSchedulingQueue), "it made it"
        group = self.state.cluster.all(PodGroup)[info.group_key]
        turn = self._engine.try_group(group, [each.pod_info for each in members])
        self._gone += turn.victims
        self._see(turn.victims)
        for each, result in zip(members, turn.of(each.pod_info for each in members), strict=True):
            self._note_turn(result, decision_of_member(result), turn.victims)
            if result.node is None:
                self._fail(each, result)
            else:
                self._place(each, result)
        queue.add_attempted_group(info, turn.result.status.code)

    def _note_turn(self, result: ScheduleResult, decision: Decision, victims: Sequence[PodInfo]) -> None:
        gone = tuple(victim.key for victim in victims)
        self.turns[result.pod.key] = Turn(result, decision, len(self.turns) + 1, gone)

    def _fail(self, info: QueuedPodInfo, result: ScheduleResult) -> None:
        nominated = self.state.pods[info.key].pod.status.nominated_node_name
        failed = FailedAttempt(result.rejectors, nominated_node_name=nominated)
        handle_failure(self._queue, info, failed, self._lister)

    def _observe(self, before: KubernetesObject | None, after: KubernetesObject | None, event: int | None) -> None:
        del event
        self._reserved.append((before, after))

    def _see(self, victims: Sequence[PodInfo]) -> None:
        """The victims are gone, and claims are bound (`PreBind`)."""
        for victim in victims:
            self._handlers.handle(victim.pod, None)
        for old, new in self._reserved:
            self._handlers.handle(old, new)

    def _place(self, info: QueuedPodInfo, result: ScheduleResult) -> None:
        """The pod is on its node."""
        self._placed.append(result.settled)
        self._queue.done(info.uid)
        self._handlers.handle(info.pod_info.pod, self.state.pods[info.key].pod)

    # --- what is left --------------------------------------------------------------------------------

    def woken_by(self, key: str) -> tuple[WakingRow, ...]:
        """The hints that have woken the pod, if it was woken."""
        return tuple(self._hinted.get(key, ())) if key in self.woken else ()

    def at_last(self, info: PodInfo) -> tuple[ScheduleResult, Decision]:
        """The attempt of a pod that stays unschedulable, if it were made at the end; pods of a group are then gated."""
        gated = self._engine.gated(info) if self._is_member(info) else None
        if gated is not None:
            return gated, decision_of_member(gated)
        whole = attempt(self._profile_of(info), info, self.state)
        return result_of(whole).settled, in_full(whole)

    def _is_member(self, info: PodInfo) -> bool:
        return bool(group_of(info.pod)) and has_groups(self.state.cluster)

    def behind(self, info: PodInfo) -> tuple[str, ...]:
        """The pods before it in the queue that take the room that it would have after the edits; to be asked last."""
        turn = self.turns.get(info.key)
        before = [each for each in self._placed if turn is None or self.turns[each.pod.key].number < turn.number]
        nodes = self._nodes_without_others(info) if before else frozenset()
        return in_the_way(before, nodes)

    def _nodes_without_others(self, info: PodInfo) -> frozenset[str]:
        """Where the pod would fit if it were the first of all; replicas share the answer."""
        template = QueuedPodInfo(info, 0).template
        known = self._alone.get(template)
        if known is None:
            if self._before_all is None:
                self._before_all = without(self._placed, self.state, self._gone)
            known = self._alone[template] = frozenset(self._nodes_for(info, self._before_all))
        return known

    def _nodes_for(self, info: PodInfo, state: State) -> Iterator[str]:
        """Where the pod fits, or its group is placed."""
        profile, group = self._profile_of(info), state.cluster.get(PodGroup, group_of(info.pod))
        if group is None or not self._is_member(info):
            result = attempt(profile, info, state)
            yield from (node.name for node in result.cycle.feasible) if result.scores is not None else ()
            return
        pods = state.members_of(key_of(group)).values()
        members = in_group_order(each for each in pods if not each.pod.spec.node_name)
        found = run_algorithm(plain_cycle(profile), group, members, state)
        yield from (each.node for each in found.placed if each.node is not None) if found.is_placed else ()

    def _profile_of(self, info: PodInfo) -> Profile:
        return self._profiles[scheduler_of(info.pod)]


def _differences(before: Cluster, after: Cluster) -> Iterator[tuple[KubernetesObject | None, KubernetesObject | None]]:
    """The objects that differ: nodes first, pods last, otherwise by kind and key."""
    kinds = before.counts().keys() | after.counts().keys()
    for kind in sorted(kinds, key=lambda kind: (kind is not Node, kind is Pod, kind.__name__)):
        was: Mapping[str, Any] = before.all(kind)
        now: Mapping[str, Any] = after.all(kind)
        pairs = [(was.get(key), now.get(key)) for key in sorted(was.keys() | now.keys())]
        yield from [(old, new) for old, new in pairs if old is not new and old != new]
