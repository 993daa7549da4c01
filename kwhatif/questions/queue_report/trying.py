"""`Trying`: pending pods tried in order, each on what those before it have left."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from kwhatif.kube.matching.pods import ALL_PODS, PodChoice
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.pod_group import group_of
from kwhatif.questions.decisions.decide import decision_of, in_full
from kwhatif.questions.decisions.described import AtOnce, Describe, Explained
from kwhatif.questions.decisions.rows import owner_of
from kwhatif.questions.pod_groups import GroupTurns, is_about_groups
from kwhatif.questions.queue_report.wakeups import wake_ups
from kwhatif.questions.session.session import Session
from kwhatif.report.decision import Decision, Outcome
from kwhatif.report.pod_groups import PodGroupsRow
from kwhatif.report.queue import WakeUpRow
from kwhatif.scheduler.batch import ScheduleResult
from kwhatif.scheduler.framework.attempt import Attempt
from kwhatif.simulation.instant import InstantEngine
from kwhatif.state.pod_info import PodInfo


class QueueQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked about the queue."""

    #: Keys of the pods to explain, and to leave all others out; none: all pods.
    pods: Collection[str] = ()
    #: Leave out all others.
    choice: PodChoice = ALL_PODS
    #: Say of each pod what would wake it.
    explain: bool = False

    def asks_for(self, info: PodInfo) -> bool:
        """Whether the answer is to have the pod."""
        return (not self.pods or info.key in self.pods) and self.choice.matches(info.pod)


class Tried(NamedTuple):
    """A pending pod, and what came of trying it."""

    info: PodInfo
    decision: Decision
    rejectors: tuple[str, ...]
    #: None: not asked for.
    wake_ups: Sequence[WakeUpRow] | None


class Trying:
    """Tries pods in order, each on what those before it have left."""

    def __init__(self, session: Session, question: QueueQuestion) -> None:
        self._engine = InstantEngine(session.state.fork(), session.profiles)
        self._described = AtOnce(self._engine.api_server, session.profiles, self._explain)
        cluster = self._engine.api_server.state.cluster
        self._groups = GroupTurns(session.profiles, self._engine) if is_about_groups(cluster) else None
        self.found: list[Tried] = []
        self._question = question
        #: What would wake the pod that is being tried.
        self._wake_ups: list[Sequence[WakeUpRow]] = []
        #: Replicas fail for the same reason: the first one's decision has it, and the events that would requeue them.
        self._explained: dict[object, Sequence[WakeUpRow]] = {}

    def try_all(self, pods: Iterable[PodInfo]) -> Trying:
        """Try the pods in this order."""
        for info in pods:
            together = None if self._groups is None else self._groups.decide(info)
            wake_ups = () if self._is_explained(info) else None
            self.found.append(self._try(info) if together is None else self._of_group(info, together, wake_ups))
        return self

    @property
    def groups(self) -> PodGroupsRow | None:
        """What becomes of the groups of the pods that are asked for; None: of none."""
        if self._groups is None:
            return None
        return self._groups.rows(
            (each.info, each.decision) for each in self.found if self._question.asks_for(each.info)
        )

    def _is_explained(self, info: PodInfo) -> bool:
        question = self._question
        return question.asks_for(info) and (info.key in question.pods or question.explain)

    @property
    def caveats(self) -> Mapping[Caveat, None]:
        """What the decisions leave out."""
        return self._described.caveats

    def _of_group(self, info: PodInfo, decision: Decision, wake_ups: Sequence[WakeUpRow] | None) -> Tried:
        turn = None if self._groups is None else self._groups.turns.get(group_of(info.pod))
        return Tried(info, decision, () if turn is None else turn.rejectors_of(info.key), wake_ups)

    def _try(self, info: PodInfo) -> Tried:
        question = self._question
        asked = question.asks_for(info)
        explain = self._is_explained(info)
        self._wake_ups.clear()
        result = self._engine.attempt(info)
        decision, kind = self._described.decide(result, Explained()), kind_of(result)
        self._engine.carry_out(info, result)
        if asked:
            self._explained[kind] = self._wake_ups[0] if self._wake_ups else self._explained.get(kind, ())
        return Tried(info, decision, result.rejectors, self._explained[kind] if explain else None)

    def _explain(self, result: ScheduleResult, explained: Collection[Outcome]) -> Describe | None:
        """The first of its kind is described, and a pod that is asked for by name."""
        del explained
        question, info = self._question, result.pod
        named = info.key in question.pods
        if not question.asks_for(info) or not (named or kind_of(result) not in self._explained):
            return None
        return partial(self._describe, named=named)

    def _describe(self, whole: Attempt, *, named: bool) -> Decision:
        if named or self._question.explain:
            self._wake_ups.append(wake_ups(whole))
        return decision_of(whole) if named else in_full(whole)


def kind_of(result: ScheduleResult) -> object:
    """Pods of one owner with the same outcome are of one kind: the first one has the reason for all of them."""
    return owner_of(result.pod.pod) or result.pod.key, result.outcome, result.message
