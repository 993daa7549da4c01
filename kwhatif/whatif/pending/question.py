"""`ask_queue`: the pending pods in the order in which the scheduler takes them, and what keeps each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.framework.attempt import Attempt
from kwhatif.framework.profile import DEFAULT_SCHEDULER
from kwhatif.model.caveat import Caveat, QueueNotSeen
from kwhatif.model.pod import Pod, pod_condition
from kwhatif.queue.wakeup import Flush
from kwhatif.report import Decision, QueuedPodRow, QueueRow, QueueState, Report, WakeUpRow
from kwhatif.state.pod_info import PodInfo
from kwhatif.whatif.decide import decision_of
from kwhatif.whatif.pending.wakeups import WakeUp, wake_ups
from kwhatif.whatif.placing import Placement, Placer, in_full, in_short
from kwhatif.whatif.placing.placer import Describe
from kwhatif.whatif.queue import in_queue_order
from kwhatif.whatif.rows import owner_of
from kwhatif.whatif.session import Session

#: What the condition PodScheduled says -> where the scheduler then keeps the pod.
_STATES: dict[str, QueueState] = {"Unschedulable": "Unschedulable", "SchedulerError": "BackingOff"}


class QueueQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked about the queue."""

    #: Keys of the pods to explain, and to leave all others out; none: all pods.
    pods: Collection[str] = ()
    #: Leave out the pods of all other namespaces; "": of none.
    namespace: str = ""
    #: Say of each pod what would wake it.
    explain: bool = False


class Tried(NamedTuple):
    """A pending pod, and what came of trying it."""

    info: PodInfo
    decision: Decision
    rejectors: tuple[str, ...]
    #: None: not asked for.
    wake_ups: Sequence[WakeUp] | None


def ask_queue(session: Session, question: QueueQuestion) -> Report:
    """Try every pending pod, one after another; the session stays as it is."""
    caveats: dict[Caveat, None] = dict.fromkeys(session.caveats)
    pending = in_queue_order(session.snapshot.pending.values())
    tried = _Trying(session, question).try_all(pending)
    shown = [each for each in tried.found if _is_asked(each.info, question)]
    rows = _rows(shown, tried.found, session)
    decisions = [each.decision for each in shown]
    caveats |= tried.placer.caveats
    caveats |= dict.fromkeys((*session.left_out(session.cluster, decisions), *session.stale()))
    if rows:
        caveats[QueueNotSeen()] = None
    report = session.report("queue", decisions, caveats)
    return replace(report, queue=QueueRow(pending=len(pending), pods=tuple(rows)))


def _is_asked(info: PodInfo, question: QueueQuestion) -> bool:
    return (not question.pods or info.key in question.pods) and question.namespace in ("", info.namespace)


class _Trying:
    """Tries pods one after another, each on what those before it have left."""

    def __init__(self, session: Session, question: QueueQuestion) -> None:
        self.placer = Placer(session.profiles, session.snapshot.fork())
        self.found: list[Tried] = []
        self._question = question
        #: Replicas fail alike: the first one's decision says why, and what would wake them.
        self._explained: dict[object, Sequence[WakeUp]] = {}

    def try_all(self, pods: Iterable[PodInfo]) -> _Trying:
        """Try the pods in this order."""
        for info in pods:
            self.found.append(self._try(info))
        return self

    def _try(self, info: PodInfo) -> Tried:
        question = self._question
        named, asked = info.key in question.pods, _is_asked(info, question)
        explain = asked and (named or question.explain)
        found: list[Sequence[WakeUp]] = []

        def describe(result: Attempt) -> Decision:
            if explain:
                found.append(wake_ups(result))
            return decision_of(result) if named else in_full(result)

        def wanted(placement: Placement) -> Describe | None:
            return describe if asked and (named or self._kind(placement) not in self._explained) else None

        placement = self.placer.place(info, wanted)
        kind = self._kind(placement)
        if asked:
            self._explained[kind] = found[0] if found else self._explained.get(kind, ())
        return Tried(info, in_short(placement), placement.rejectors, self._explained[kind] if explain else None)

    @staticmethod
    def _kind(placement: Placement) -> object:
        return owner_of(placement.pod.pod) or placement.pod.key, placement.outcome, placement.message


# --- rows --------------------------------------------------------------------------------------------


def _rows(shown: Sequence[Tried], everybody: Sequence[Tried], session: Session) -> list[QueuedPodRow]:
    """Those that the scheduler does not take come last."""
    states = {each.info.key: _state(each, session) for each in everybody}
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
