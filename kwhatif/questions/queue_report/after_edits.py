"""What edits mean for every pending pod: a `Replay`, and rows of what came of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.kube.matching.groups import group_of, has_groups
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.decisions.decide import ignored
from kwhatif.questions.decisions.short import in_full, in_short
from kwhatif.questions.placing.described import Describe
from kwhatif.questions.placing.pending_pods import may_have_rejected
from kwhatif.questions.queue_report.replay import PendingPod, Replay
from kwhatif.questions.queue_report.trying import QueueQuestion, Tried, kind_of
from kwhatif.questions.session.session import Session
from kwhatif.report.decision import Decision, Outcome
from kwhatif.report.pod_groups import PodGroupsRow
from kwhatif.report.queue import AfterEditsRow, QueuedPodRow, QueueFate, QueueState
from kwhatif.scheduler.batch import ScheduleResult
from kwhatif.scheduler.framework.hints import registrations
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER
from kwhatif.scheduler.queue.queued_pod import QueuedPodInfo
from kwhatif.state.pod_info import PodInfo


class AfterEdits(NamedTuple):
    """What becomes of the pods that were asked for, by key, and of those that the edits make."""

    rows: Mapping[str, AfterEditsRow]
    new: list[QueuedPodRow]
    decisions: Mapping[str, Decision]
    groups: PodGroupsRow | None
    caveats: Mapping[Caveat, None]


def after_edits(
    session: Session, question: QueueQuestion, tried: Sequence[Tried], states: Mapping[str, QueueState]
) -> AfterEdits:
    """Have the session's edits happen to the queue.

    Args:
        session: the cluster after edits, which has the one before them.
        question: which pods are asked for.
        tried: all pods that were pending before, in the order of the queue, and what came of trying them.
        states: their states, as the dump shows them.
    """
    return _Answering(session, question, tried, states).answer()


class _Answering:
    def __init__(
        self, session: Session, question: QueueQuestion, tried: Sequence[Tried], states: Mapping[str, QueueState]
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
        self._replay = Replay(session.profiles, self._before.state, pods, self._explain)

    def _pending_pod(self, tried: Tried) -> PendingPod:
        """Plugins that reject now did so before; a pod that would fit, with unknown rejectors, stays unschedulable."""
        info = tried.info
        if group_of(info.pod) and has_groups(self._before.cluster):
            return PendingPod(info, None)  # a group that was rejected is tried again when its backoff is over
        if tried.decision.outcome == "Unschedulable":
            return PendingPod(info, frozenset(tried.rejectors))
        if self._states[info.key] != "Unschedulable":
            return PendingPod(info, None)
        profile = self._session.profiles[info.pod.spec.scheduler_name or DEFAULT_SCHEDULER]
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
        pods = self._replay.world.pods
        decided = ((pods[key], decision) for key, decision in self._decisions.items() if key in pods)
        return self._replay.groups.rows(decided)

    def _new_pods(self) -> list[Pod]:
        pods = self._session.cluster.all(Pod)
        return [pods[key] for key in self._replay.new if self._question.asks_for(PodInfo(pods[key]))]

    def _explain(self, result: ScheduleResult, explained: Collection[Outcome]) -> Describe | None:
        del explained
        kind = kind_of(result)
        if result.outcome == "Placed" or kind in self._explained or not self._question.asks_for(result.pod):
            return None
        self._explained.add(kind)
        return in_full

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
        if (info.pod.spec.scheduler_name or DEFAULT_SCHEDULER) not in self._session.profiles:
            self._decisions[info.key] = ignored(info.pod)
            return AfterEditsRow(fate="OtherScheduler", outcome="Ignored", message=self._decisions[info.key].message)
        result, decision = self._at_end(info)
        return self._made("Gated" if result.outcome == "Gated" else "Asleep", info, result, decision)

    def _at_end(self, info: PodInfo) -> tuple[ScheduleResult, Decision]:
        """What becomes of it at the end; replicas share the reasons."""
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
