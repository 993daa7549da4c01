"""`Trying`: pending pods tried in order, each on what those before it have left."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec

from kwhatif.questions.decisions.decide import decision_of
from kwhatif.questions.decisions.short import in_full
from kwhatif.questions.groups.gates import is_about_groups
from kwhatif.questions.placing.placer import Describe, Placer
from kwhatif.questions.queue_report.groups import GroupTurns
from kwhatif.questions.queue_report.wakeups import wake_ups
from kwhatif.questions.rows import owner_of
from kwhatif.questions.session.session import Session
from kwhatif.report.decision import Decision
from kwhatif.report.queue import WakeUpRow
from kwhatif.scheduler.batch import ScheduleResult
from kwhatif.scheduler.framework.attempt import Attempt
from kwhatif.state.pod_info import PodInfo


class QueueQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked about the queue."""

    #: Keys of the pods to explain, and to leave all others out; none: all pods.
    pods: Collection[str] = ()
    #: Leave out the pods of all other namespaces; "": of none.
    namespace: str = ""
    #: Say of each pod what would wake it.
    explain: bool = False

    def asks_for(self, info: PodInfo) -> bool:
        """Whether the answer is to have the pod."""
        return (not self.pods or info.key in self.pods) and self.namespace in ("", info.namespace)


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
        state = session.state.fork()
        self.placer = Placer(session.profiles, state)
        self._groups = GroupTurns(session.profiles, state) if is_about_groups(state.cluster) else None
        self.found: list[Tried] = []
        self._question = question
        #: Replicas fail for the same reason: the first one's decision has it, and the events that would requeue them.
        self._explained: dict[object, Sequence[WakeUpRow]] = {}

    def try_all(self, pods: Iterable[PodInfo]) -> Trying:
        """Try the pods in this order."""
        for info in pods:
            together = None if self._groups is None else self._groups.decide(info)
            self.found.append(self._try(info) if together is None else Tried(info, together, (), ()))
        return self

    def _try(self, info: PodInfo) -> Tried:
        question = self._question
        named, asked = info.key in question.pods, question.asks_for(info)
        explain = asked and (named or question.explain)
        found: list[Sequence[WakeUpRow]] = []

        def describe(result: Attempt) -> Decision:
            if explain:
                found.append(wake_ups(result))
            return decision_of(result) if named else in_full(result)

        def wanted(result: ScheduleResult) -> Describe | None:
            return describe if asked and (named or kind_of(result) not in self._explained) else None

        placement = self.placer.place(info, wanted)
        kind = kind_of(placement.result)
        if asked:
            self._explained[kind] = found[0] if found else self._explained.get(kind, ())
        return Tried(info, placement.row, placement.result.rejectors, self._explained[kind] if explain else None)


def kind_of(result: ScheduleResult) -> object:
    """Pods of one owner with the same outcome are of one kind: the first one has the reason for all of them."""
    return owner_of(result.pod.pod) or result.pod.key, result.outcome, result.message
