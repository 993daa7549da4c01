"""`ask_queue`: the pending pods in the order in which the scheduler takes them, and what keeps each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from kwhatif.framework.profile import DEFAULT_SCHEDULER
from kwhatif.model.caveat import QueueNotSeen
from kwhatif.model.pod import Pod, pod_condition
from kwhatif.queue.wakeup import Flush
from kwhatif.report import QueuedPodRow, QueueRow, QueueState, Report, WakeUpRow
from kwhatif.whatif.pending.after_edits import after_edits
from kwhatif.whatif.pending.trying import QueueQuestion, Tried, Trying
from kwhatif.whatif.pending.wakeups import WakeUp
from kwhatif.whatif.queue import in_queue_order
from kwhatif.whatif.session import Session

#: What the condition PodScheduled says -> where the scheduler then keeps the pod.
_STATES: dict[str, QueueState] = {"Unschedulable": "Unschedulable", "SchedulerError": "BackingOff"}


def ask_queue(session: Session, question: QueueQuestion) -> Report:
    """Try every pending pod, one after another; the session stays as it is.

    After edits, the pods are tried as the cluster was without them, and then the edits happen to the queue.
    """
    before = session.unedited or session
    pending = in_queue_order(before.snapshot.pending.values())
    tried = Trying(before, question).try_all(pending)
    states = {each.info.key: _state(each, before) for each in tried.found}
    shown = [each for each in tried.found if question.asks_for(each.info)]
    rows = _rows(shown, tried.found, states)
    decisions = {each.info.key: each.decision for each in shown}
    caveats = {**dict.fromkeys(session.caveats), **tried.placer.caveats}
    if session.unedited is not None:
        after = after_edits(session, question, tried.found, states)
        rows = [replace(row, after=after.rows[row.pod]) for row in rows] + after.new
        rows.sort(key=_turn)
        decisions |= after.decisions
        caveats |= after.caveats
    shown_decisions = [decisions[row.pod] for row in rows]
    caveats |= dict.fromkeys((*session.left_out(session.cluster, shown_decisions), *session.stale()))
    if rows:
        caveats[QueueNotSeen()] = None
    report = session.report("queue", shown_decisions, caveats)
    return replace(report, queue=QueueRow(pending=len(pending), pods=tuple(rows)))


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


def _state(tried: Tried, session: Session) -> QueueState:
    pod = tried.info.pod
    if (pod.spec.scheduler_name or DEFAULT_SCHEDULER) not in session.profiles:
        return "OtherScheduler"
    if tried.decision.outcome == "Gated":
        return "Gated"
    condition = pod_condition(pod, "PodScheduled")
    return _STATES.get(condition.reason, "Active") if condition and condition.status == "False" else "Active"


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
        message=decision.message or (decision.pre_enqueue.message if decision.pre_enqueue else ""),
        wake_ups=None if tried.wake_ups is None else tuple(map(_wake_up_row, _with_flush(tried, state))),
    )


def _rejected_since(pod: Pod) -> str | None:
    condition = pod_condition(pod, "PodScheduled")
    return condition.last_transition_time if condition and condition.status == "False" else None


def _with_flush(tried: Tried, state: QueueState) -> Sequence[WakeUp]:
    """A pod that the scheduler has rejected, and that would fit now, sleeps on until something happens."""
    if tried.decision.outcome == "Placed" and state == "Unschedulable":
        return [WakeUp(Flush(fits=True))]
    return tried.wake_ups or ()


def _wake_up_row(wake_up: WakeUp) -> WakeUpRow:
    return WakeUpRow(cause=wake_up.cause, plugin=wake_up.plugin, enough=wake_up.enough, wakes=wake_up.wakes)
