"""`ask_queue`: the pending pods in the scheduler's order, what keeps each of them, and what edits change."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.reading import ScheduledMeanwhile
from kwhatif.kube.model.caveat.scheduling import QueueNotSeen
from kwhatif.kube.model.meta import FIRST_SECOND, LAST_SECOND, SECOND, format_time, parse_time
from kwhatif.kube.model.pod import Pod, SchedulingEvents, pod_condition
from kwhatif.kube.model.pod_group import group_of, has_groups
from kwhatif.questions.decisions.decide import ignored, in_full, in_short
from kwhatif.questions.judging.pending_pods import in_queue_order, may_have_rejected
from kwhatif.questions.queue_report.play import (
    PendingAttempts,
    PendingPod,
    QueueQuestion,
    Replay,
    TriedPod,
    kind_of,
)
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.report.causes import Flush
from kwhatif.report.decision import Decision, Outcome
from kwhatif.report.pod_groups import PodGroupsRow
from kwhatif.report.queue import AfterEditsRow, QueuedPodRow, QueueFate, QueueRow, QueueState, WakeUpRow
from kwhatif.scheduler.batch import ScheduleResult
from kwhatif.scheduler.framework.attempt import Attempt
from kwhatif.scheduler.framework.hints import registrations
from kwhatif.scheduler.framework.profile import profile_of, scheduler_of
from kwhatif.scheduler.framework.status import NO_NODES
from kwhatif.scheduler.queue.active_queue import align_to_window, backoff_end
from kwhatif.scheduler.queue.queued_pod import QueuedPodInfo
from kwhatif.state.pod_info import PodInfo


class AfterEdits(NamedTuple):
    """The results of the pods that were asked for, by key, and of those that the edits create."""

    rows: Mapping[str, AfterEditsRow]
    new: list[QueuedPodRow]
    decisions: Mapping[str, Decision]
    groups: PodGroupsRow | None
    caveats: Mapping[Caveat, None]


def after_edits(
    session: Session, question: QueueQuestion, tried: Sequence[TriedPod], states: Mapping[str, QueueState]
) -> AfterEdits:
    """Have the session's edits happen to the queue.

    Args:
        session: the cluster after edits, which has the one before them.
        question: which pods are asked for.
        tried: all pods that were pending before, in the order of the queue, with their attempts.
        states: their states, as the dump shows them.
    """
    return _Answering(session, question, tried, states).answer()


class _Answering:
    def __init__(
        self, session: Session, question: QueueQuestion, tried: Sequence[TriedPod], states: Mapping[str, QueueState]
    ) -> None:
        assert session.unedited is not None
        self._before = session.unedited
        self._session = session
        self._question = question
        self._tried = tried
        self._states = states
        self._explained: set[object] = set()
        #: What would become of unschedulable pods, by what replicas have in common.
        self._at_last: dict[bytes, tuple[ScheduleResult, Decision]] = {}
        self._decisions: dict[str, Decision] = {}
        pods = [self._pending_pod(each) for each in tried if states[each.info.key] != "OtherScheduler"]
        self._replay = Replay(session.profiles, self._before.state, pods, self)

    def _pending_pod(self, tried: TriedPod) -> PendingPod:
        """Plugins that reject now did so before; a pod that would fit, with unknown rejectors, stays unschedulable."""
        info = tried.info
        if group_of(info.pod) and has_groups(self._before.cluster):
            return PendingPod(info, None)  # a group that was rejected is tried again when its backoff is over
        if tried.decision.outcome == "Unschedulable":
            return PendingPod(info, frozenset(tried.rejectors))
        if self._states[info.key] != "Unschedulable":
            return PendingPod(info, None)
        profile = self._session.profiles[scheduler_of(info.pod)]
        names = {entry.plugin for entry in registrations(profile)}
        may = may_have_rejected(profile, info, self._before.state, names)
        return PendingPod(info, frozenset(tried.rejectors or may))

    def answer(self) -> AfterEdits:
        """Apply the edits, try the pods that they requeue, and write a row for each pod that is asked for."""
        replay, question = self._replay, self._question
        replay.edit(self._session.cluster)
        replay.run()
        rows = {each.info.key: self._row(each.info) for each in self._tried if question.asks_for(each.info)}
        new = [self._new_row(PodInfo(pod)) for pod in self._new_pods()]
        return AfterEdits(rows, new, self._decisions, self._groups(), replay.caveats)

    def _groups(self) -> PodGroupsRow | None:
        pods = self._replay.state.pods
        decided = ((pods[key], decision) for key, decision in self._decisions.items() if key in pods)
        return self._replay.groups.rows(decided)

    def _new_pods(self) -> list[Pod]:
        pods = self._session.cluster.all(Pod)
        return [pods[key] for key in self._replay.new if self._question.asks_for(PodInfo(pods[key]))]

    def explains(self, result: ScheduleResult, explained: Collection[Outcome]) -> bool:
        """See `Explainer`: the first of its kind."""
        del explained
        kind = kind_of(result)
        if result.outcome == "Placed" or kind in self._explained or not self._question.asks_for(result.pod):
            return False
        self._explained.add(kind)
        return True

    def describe(self, whole: Attempt) -> Decision:
        """See `Explainer`."""
        return in_full(whole)

    # --- rows ----------------------------------------------------------------------------------------

    def _row(self, info: PodInfo) -> AfterEditsRow:
        replay = self._replay
        turn = replay.turns.get(info.key)
        if turn is not None:
            fate: QueueFate = "Woken" if info.key in replay.woken else "Active"
            return self._made(fate, info, turn.result, turn.decision)
        if info.key not in self._session.cluster.all(Pod):
            self._decisions[info.key] = next(each.decision for each in self._tried if each.info.key == info.key)
            return AfterEditsRow(fate="Gone", outcome="Ignored", message="the edits delete it")
        if scheduler_of(info.pod) not in self._session.profiles:
            self._decisions[info.key] = ignored(info.pod)
            return AfterEditsRow(fate="OtherScheduler", outcome="Ignored", message=self._decisions[info.key].message)
        result, decision = self._at_end(info)
        return self._made("Gated" if result.outcome == "Gated" else "Asleep", info, result, decision)

    def _at_end(self, info: PodInfo) -> tuple[ScheduleResult, Decision]:
        """Its result at the end; replicas share the reasons."""
        template = QueuedPodInfo(info, 0).template
        known = self._at_last.get(template)
        if known is None:
            known = self._at_last[template] = self._replay.at_last(info)
        if known[0].pod is info:
            return known
        result = replace(known[0], pod=info)
        return result, replace(known[1], pod=info.key) if group_of(info.pod) else in_short(result)

    def _made(self, fate: QueueFate, info: PodInfo, result: ScheduleResult, decision: Decision) -> AfterEditsRow:
        self._decisions[info.key] = decision
        turn = self._replay.turns.get(info.key)
        stuck = result.outcome == "Unschedulable"
        return AfterEditsRow(
            fate=fate,
            woken_by=self._replay.woken_by(info.key),
            turn=turn.number if turn else None,
            outcome=decision.outcome,
            node=decision.node,
            message=decision.said,
            rejected_by=result.rejectors,
            victims=turn.victims if turn else tuple(victim.pod.key for victim in result.victims),
            behind=self._replay.behind(info) if stuck else (),
        )

    def _new_row(self, info: PodInfo) -> QueuedPodRow:
        after = self._row(info)
        pod = info.pod
        return QueuedPodRow(
            position=None,
            pod=info.key,
            owner=self._decisions[info.key].owner,
            priority=info.priority,
            created=pod.metadata.creation_timestamp,
            state="New",
            rejected_by=after.rejected_by,
            outcome=after.outcome,
            node=after.node,
            message=after.message,
            after=after,
        )


class Backoff(NamedTuple):
    """When the backoff of a pending pod ends, as far as Events say (RFC 3339), and whether that is over.

    Over means that it ended before the cluster was read. None, and False: not known.
    """

    end: str | None = None
    is_over: bool = False


def backoff_end_of(info: PodInfo, session: Session) -> Backoff:
    """The backoff of a pod whose last attempt, and the moment of the reading, are known.

    It is counted from the attempts that Events show. There may have been more, and then it ends later; from the fifth
    attempt on, with the defaults, it is 10 s.
    """
    seen = session.cluster.facts.scheduling_events.get(info.key)
    profile = profile_of(info.pod, session.profiles)
    now = session.taken_at or session.cluster.facts.taken_at
    if seen is None or profile is None or not now or not (seen.last_attempt and seen.is_last):
        return Backoff()
    initial, maximum = (seconds * SECOND for seconds in profile.backoff_seconds)
    end = backoff_end(parse_time(seen.last_attempt), max(1, seen.attempts), initial, maximum)
    if not FIRST_SECOND <= end // SECOND <= LAST_SECOND:
        return Backoff()
    return Backoff(format_time(end // SECOND), end < align_to_window(parse_time(now)))


#: What the condition PodScheduled says -> where the scheduler then keeps the pod.
_STATES: dict[str, QueueState] = {"Unschedulable": "Unschedulable", "SchedulerError": "BackingOff"}


def ask_queue(session: Session, question: QueueQuestion) -> Report:
    """Try every pending pod, in order; the session is not changed.

    After edits, the pods are tried as the cluster was without them, and then the edits happen to the queue.
    """
    before = session.unedited or session
    events = before.cluster.facts.scheduling_events
    pending = in_queue_order(before.state.pending.values(), events)
    tried = PendingAttempts(before, question).try_all(pending)
    backoffs = {each.info.key: backoff_end_of(each.info, before) for each in tried.found}
    states = {each.info.key: _state(each, before, backoffs[each.info.key]) for each in tried.found}
    shown = [each for each in tried.found if question.asks_for(each.info)]
    rows = [_with_events(row, events.get(row.pod), backoffs[row.pod]) for row in _rows(shown, tried.found, states)]
    decisions = {each.info.key: each.decision for each in shown}
    caveats, groups = {**dict.fromkeys(session.caveats), **tried.caveats}, tried.groups
    if session.unedited is not None:
        after = after_edits(session, question, tried.found, states)
        rows = [replace(row, after=after.rows[row.pod]) for row in rows] + after.new
        rows.sort(key=_turn)
        decisions |= after.decisions
        caveats |= after.caveats
        groups = after.groups
    shown_decisions = [decisions[row.pod] for row in rows]
    caveats |= dict.fromkeys((*session.left_out(session.cluster, shown_decisions), *session.remarks()))
    if rows:
        caveats |= dict.fromkeys(_assumed(rows, events))
    report = session.report("queue", shown_decisions, caveats)
    return replace(report, queue=QueueRow(pending=len(pending), pods=tuple(rows)), pod_groups=groups)


def _turn(row: QueuedPodRow) -> tuple[bool, int, bool, int]:
    """The pods that are tried first, in their order; then the others in the order of the queue."""
    turn = row.after.turn if row.after else None
    return turn is None, turn or 0, row.position is None, row.position or 0


def _rows(
    shown: Sequence[TriedPod], all_tried: Sequence[TriedPod], states: Mapping[str, QueueState]
) -> list[QueuedPodRow]:
    """Pods that the scheduler does not try come last."""
    taken = [each.info.key for each in all_tried if states[each.info.key] not in ("Gated", "OtherScheduler")]
    positions = {key: position for position, key in enumerate(taken, 1)}
    rows = [_row(each, states[each.info.key], positions.get(each.info.key)) for each in shown]
    return sorted(rows, key=lambda row: (row.position is None, row.position or 0))


def _state(tried: TriedPod, session: Session, backoff: Backoff) -> QueueState:
    pod = tried.info.pod
    if scheduler_of(pod) not in session.profiles:
        return "OtherScheduler"
    if tried.decision.outcome == "Gated":
        return "Gated"
    condition = pod_condition(pod, "PodScheduled")
    seen = session.cluster.facts.scheduling_events.get(tried.info.key)
    state: QueueState = "Active"
    if condition is not None and condition.status == "False":
        state = _STATES.get(condition.reason, "Active")
    elif seen is not None and seen.attempts:  # the event comes before the condition
        state = "Unschedulable"
    if state == "Unschedulable" and ((seen and seen.errored) or tried.decision.message == NO_NODES):
        state = "BackingOff"
    return "Active" if state == "BackingOff" and backoff.is_over else state


def _row(tried: TriedPod, state: QueueState, position: int | None) -> QueuedPodRow:
    pod, decision = tried.info.pod, tried.decision
    return QueuedPodRow(
        position=position,
        pod=decision.pod,
        owner=decision.owner,
        priority=decision.priority,
        created=pod.metadata.creation_timestamp,
        state=state,
        since=_rejected_since(pod),
        rejected_by=tried.rejectors,
        outcome=decision.outcome,
        node=decision.node,
        message=decision.said,
        wake_ups=None if tried.wake_ups is None else tuple(_with_flush(tried, state)),
    )


def _with_events(row: QueuedPodRow, seen: SchedulingEvents | None, backoff: Backoff) -> QueuedPodRow:
    if seen is None:
        return row
    return replace(
        row,
        attempts=seen.attempts or None,
        last_attempt=seen.last_attempt or None,
        backoff_ends=backoff.end if row.state in ("Unschedulable", "BackingOff") and not backoff.is_over else None,
        evicted=seen.evicted,
    )


def _assumed(rows: Sequence[QueuedPodRow], events: Mapping[str, SchedulingEvents]) -> Iterator[Caveat]:
    """What is assumed about the queue."""
    yield QueueNotSeen(events=any(row.attempts for row in rows))
    scheduled = tuple(row.pod for row in rows if row.pod in events and events[row.pod].scheduled)
    if scheduled:
        yield ScheduledMeanwhile(pods=scheduled)


def _rejected_since(pod: Pod) -> str | None:
    condition = pod_condition(pod, "PodScheduled")
    return condition.last_transition_time if condition and condition.status == "False" else None


def _with_flush(tried: TriedPod, state: QueueState) -> Sequence[WakeUpRow]:
    """A pod that the scheduler has rejected, and that would fit now, stays unschedulable until an event."""
    if tried.decision.outcome == "Placed" and state == "Unschedulable":
        return [WakeUpRow(cause=Flush(fits=True))]
    return tried.wake_ups or ()
