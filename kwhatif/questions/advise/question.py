"""`ask_advice`: for each workload that does not fit, or only by eviction, the smallest changes that help."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.questions.advise.advisor import FAILING, Advisor, Captured, first_failing
from kwhatif.questions.advise.gangs import GangAdvisor, failing_groups, members_of
from kwhatif.questions.advise.scene import Scene
from kwhatif.questions.decisions.decide import in_full, objections_of
from kwhatif.questions.judging.judge import judge
from kwhatif.questions.judging.question import Answer, Question
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.placing.described import Describe
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.report.advise import AdviseRow
from kwhatif.report.decision import Decision, Outcome
from kwhatif.report.policy import JudgedWorkload
from kwhatif.scheduler.batch import ScheduleResult
from kwhatif.scheduler.framework.attempt import Attempt


class Limits(NamedTuple):
    """How much advice is looked for."""

    #: The most pieces of advice for each workload, and the most workloads.
    most: int
    workloads: int
    #: Also for workloads that fit by evicting others.
    evicting: bool = True


class Capture:
    """Keeps the scenes of the first failing pods, of each workload and outcome one."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.scenes: dict[str, Captured] = {}

    def __call__(self, result: ScheduleResult, explained: Collection[Outcome]) -> Describe | None:
        """How the decision about a pod is explained, see `Question.explain`."""
        if result.outcome not in FAILING or result.outcome in explained:
            return None
        return self._describe

    def _describe(self, whole: Attempt) -> Decision:
        cycle, session = whole.cycle, self._session
        scene = Scene(cycle.pod, cycle.state.fork(), session.profiles, session.namespace)
        self.scenes[cycle.pod.key] = Captured(scene, objections_of(whole))
        return in_full(whole)


def ask_advice(session: Session, question: Question, limits: Limits) -> Report:
    """What would help what does not fit: a report with the section `advise`."""
    capture = Capture(session)
    question = replace(question, explain=capture)
    answer = judge(session, question)
    found = advise(session, question, answer, capture.scenes, limits)
    return replace(answer.report(session, "advise"), advise=found)


def advise(
    session: Session, question: Question, answer: Answer, scenes: Mapping[str, Captured], limits: Limits
) -> AdviseRow:
    """The section of the report; `scenes` are what a `Capture` has kept while the answer was made."""
    groups, members = failing_groups(answer), members_of(answer)
    failing = [
        (applied, judged)
        for applied, judged in _by_workload(question, answer)
        if (first := first_failing(judged.decisions))
        and (limits.evicting or first.outcome != "Preempts")
        and first.pod not in members
    ]
    rows = [GangAdvisor(session, question, answer, group).row(limits.most) for group in groups[: limits.workloads]]
    rows += [
        Advisor(session, question, applied, judged, scenes).row(limits.most)
        for applied, judged in failing[: limits.workloads - len(rows)]
    ]
    return AdviseRow(workloads=tuple(rows), left_out=len(groups) + len(failing) - len(rows))


def _by_workload(question: Question, answer: Answer) -> Iterator[tuple[Applied, JudgedWorkload]]:
    by_source = {applied.source: applied for applied in question.applied}
    for judged in answer.judged:
        applied = by_source.get(judged.row.source)
        if applied is not None:
            yield applied, judged
