"""`ask_queue`: the pending pods in the order in which the scheduler takes them, and what keeps each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.reading import ScheduledMeanwhile
from kwhatif.kube.model.caveat.scheduling import QueueNotSeen
from kwhatif.kube.model.meta import FIRST_SECOND, LAST_SECOND, SECOND, format_time, parse_time
from kwhatif.kube.model.pod import Pod, SchedulingEvents, pod_condition
from kwhatif.questions.placing.pending_pods import in_queue_order
from kwhatif.questions.queue_report.after_edits import after_edits
from kwhatif.questions.queue_report.trying import QueueQuestion, Tried, Trying
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.report.queue import Flush, QueuedPodRow, QueueRow, QueueState, WakeUpRow
from kwhatif.scheduler.framework.diagnosis import NO_NODES
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER
from kwhatif.scheduler.queue.backoff_queue import align_to_window, backoff_end
from kwhatif.state.pod_info import PodInfo

# Until when a pending pod has to wait before it is tried again, as far as Events say.


class Backoff(NamedTuple):
    """When it ends (RFC 3339), and whether that was before the cluster was read; None, and False: not known."""

    end: str | None = None
    is_over: bool = False


def backoff_end_of(info: PodInfo, session: Session) -> Backoff:
    """The backoff of a pod whose last attempt, and the moment of the reading, are known.

    It is counted from the attempts that Events show. There may have been more, and then it ends later; from the fifth
    attempt on, with the defaults, it is 10 s.
    """
    seen = session.cluster.scheduling_events.get(info.key)
    profile = session.profiles.get(info.pod.spec.scheduler_name or DEFAULT_SCHEDULER)
    now = session.taken_at or session.cluster.taken_at
    if seen is None or profile is None or not now or not (seen.last_attempt and seen.is_last):
        return Backoff()
    initial, most = (seconds * SECOND for seconds in profile.backoff_seconds)
    end = backoff_end(parse_time(seen.last_attempt), max(1, seen.attempts), initial, most)
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
    events = before.cluster.scheduling_events
    pending = in_queue_order(before.state.pending.values(), events)
    tried = Trying(before, question).try_all(pending)
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
    """Those that are tried first, in their order; then the others as they stand in the queue."""
    turn = row.after.turn if row.after else None
    return turn is None, turn or 0, row.position is None, row.position or 0


def _rows(shown: Sequence[Tried], everybody: Sequence[Tried], states: Mapping[str, QueueState]) -> list[QueuedPodRow]:
    """Those that the scheduler does not take come last."""
    taken = [each.info.key for each in everybody if states[each.info.key] not in ("Gated", "OtherScheduler")]
    positions = {key: place for place, key in enumerate(taken, 1)}
    rows = [_row(each, states[each.info.key], positions.get(each.info.key)) for each in shown]
    return sorted(rows, key=lambda row: (row.position is None, row.position or 0))


def _state(tried: Tried, session: Session, backoff: Backoff) -> QueueState:
    pod = tried.info.pod
    if (pod.spec.scheduler_name or DEFAULT_SCHEDULER) not in session.profiles:
        return "OtherScheduler"
    if tried.decision.outcome == "Gated":
        return "Gated"
    condition = pod_condition(pod, "PodScheduled")
    seen = session.cluster.scheduling_events.get(tried.info.key)
    state: QueueState = "Active"
    if condition is not None and condition.status == "False":
        state = _STATES.get(condition.reason, "Active")
    elif seen is not None and seen.attempts:  # the event comes before the condition
        state = "Unschedulable"
    if state == "Unschedulable" and ((seen and seen.errored) or tried.decision.message == NO_NODES):
        state = "BackingOff"
    return "Active" if state == "BackingOff" and backoff.is_over else state


def _row(tried: Tried, state: QueueState, position: int | None) -> QueuedPodRow:
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
    """What is taken for granted about the queue."""
    yield QueueNotSeen(events=any(row.attempts for row in rows))
    scheduled = tuple(row.pod for row in rows if row.pod in events and events[row.pod].scheduled)
    if scheduled:
        yield ScheduledMeanwhile(pods=scheduled)


def _rejected_since(pod: Pod) -> str | None:
    condition = pod_condition(pod, "PodScheduled")
    return condition.last_transition_time if condition and condition.status == "False" else None


def _with_flush(tried: Tried, state: QueueState) -> Sequence[WakeUpRow]:
    """A pod that the scheduler has rejected, and that would fit now, stays unschedulable until an event."""
    if tried.decision.outcome == "Placed" and state == "Unschedulable":
        return [WakeUpRow(cause=Flush(fits=True))]
    return tried.wake_ups or ()
