"""`ask_advice`: for each workload or group that does not fit, or only by eviction, the smallest changes that help.

Candidates come from the search; the proof keeps those that help.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.admission.outcome import ObjectNotFound
from kwhatif.admission.plugins import classes_above
from kwhatif.kube.matching.field_errors import nearest
from kwhatif.kube.model.cluster import SYSTEM_PRIORITY_CLASSES
from kwhatif.kube.model.policy import PriorityClass
from kwhatif.questions.advise.change import Advice, AdvisedChange, pod_of
from kwhatif.questions.advise.gangs import GangAdvisor, failing_groups, members_of
from kwhatif.questions.advise.manifest import may_preempt, ungated, with_priority_class, with_scheduler
from kwhatif.questions.advise.missing import refused
from kwhatif.questions.advise.pod_attempt import PodAttempt
from kwhatif.questions.advise.pools import of_autoscaler
from kwhatif.questions.advise.proof import Asking, Proof, Proven
from kwhatif.questions.advise.rows import FoundAdvice, Rows, going
from kwhatif.questions.advise.search import Search, Searched
from kwhatif.questions.decisions.decide import objections_of
from kwhatif.questions.decisions.described import ExplainedAttempt
from kwhatif.questions.judging.judge import judge
from kwhatif.questions.judging.question import Answer, Question
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.report.advise import AdvisedRow, AdviseRow, GoingRow
from kwhatif.report.decision import Decision, JudgedWorkload, Outcome
from kwhatif.scheduler.framework.attempt import attempt
from kwhatif.scheduler.framework.profile import profile_of

#: Outcomes with possible advice; the worst first.
FAILING: tuple[Outcome, ...] = ("Denied", "Unschedulable", "Gated", "Ignored", "Preempts")
#: The most sorts of advice to prove, and the most to try of one sort.
_MOST_PROVEN, _MOST_OF_A_SORT = 12, 2
#: The most priority classes to try.
_MOST_TRIED = 4
#: The extra cost of advice that only differs in its subject from cheaper advice.
_ALIKE = 25


def first_failing(decisions: Iterable[Decision]) -> Decision | None:
    """The first decision with the worst outcome."""
    found = [decision for decision in decisions if decision.outcome in FAILING]
    return min(found, key=lambda decision: FAILING.index(decision.outcome), default=None)


class Advisor:
    """Finds and proves advice for one workload."""

    def __init__(
        self,
        session: Session,
        question: Question,
        applied: Applied,
        judged: JudgedWorkload,
        attempts: Mapping[str, ExplainedAttempt],
    ) -> None:
        """Set up; `attempts` are by key of the pod."""
        self._session = session
        self._applied = applied
        self._judged = judged
        first = first_failing(judged.decisions)
        assert first is not None, "there was an attempt"
        self._decision = first
        #: What came of its attempt; None: it was not tried.
        self._attempt = found = attempts.get(first.pod)
        self._scene = None if found is None else PodAttempt(found.pod, found.state, session.profiles, session.namespace)
        self._asking = Asking(session, question, applied)
        beside = sum(each.source.file == applied.source.file for each in question.applied) - 1
        self._rows = Rows(applied, session.cluster, alone=not beside)

    def advice(self, most: int) -> list[FoundAdvice]:
        """The advice that helps, the cheapest first."""
        proven = [each for each in self._found if not self._is_by_itself(each)]
        if any(each.proof.is_whole for each in proven):
            proven = [each for each in proven if each.proof.is_whole or self._is_by_eviction(each.proof)]
        return [self._rows.advice(each, self._decision) for each in _varied(proven)[:most]]

    def row(self, most: int) -> AdvisedRow:
        """What would help the workload."""
        advice, searched = self.advice(most), self._searched
        counts = self._judged.decisions
        return AdvisedRow(
            workload=self._judged.row.name,
            source=self._applied.source,
            pod=self._decision.pod,
            outcome=self._decision.outcome,
            fit=sum(decision.outcome in ("Placed", "Preempts") for decision in counts),
            of=self._judged.row.replicas,
            victims=tuple(victim.pod for victim in self._decision.victims),
            advice=tuple(each.row for each in advice),
            left=() if advice else tuple(self._rows.left(searched.nearest, searched.left)),
            refusal="" if advice or self._decision.outcome != "Denied" else self._decision.message,
            going=self._going(),
            tried=self._asking.asked + (self._scene.trials if self._scene else 0),
        )

    @staticmethod
    def _is_by_eviction(proof: Proof) -> bool:
        return proof.placed + proof.preempting == proof.wanted

    def _is_by_itself(self, proven: Proven) -> bool:
        """Whether it deletes the same pods that the scheduler would evict anyway."""
        victims = {victim.pod for victim in self._decision.victims}
        deleted = {
            key
            for change in proven.advice.changes
            if change.kind in ("delete-pod", "move-pod")
            for key in change.target.split(", ")
        }
        return bool(victims) and deleted >= victims

    def _going(self) -> tuple[GoingRow, ...]:
        """The scheduler's victims, and cheaper pods to delete, if there are any."""
        if self._scene is None or not self._decision.victims:
            return ()
        return going(self._decision, self._scene, [each for each in self._found if each.proof.is_whole])

    # --- what may help -------------------------------------------------------------------------------

    @cached_property
    def _found(self) -> list[Proven]:
        """All that helps, also what the scheduler does by itself."""
        return self._prove((*self._searched.found, *self._others()))

    @cached_property
    def _searched(self) -> Searched:
        if self._attempt is None or self._scene is None:
            return Searched(())
        if self._decision.outcome == "Gated":
            return self._searched_with(self._scene, ungated(self._attempt.pod.pod))
        return Search(self._scene, self._attempt.objections).run()

    @staticmethod
    def _searched_with(scene: PodAttempt, first: AdvisedChange) -> Searched:
        """If one change is certainly needed: what else, if that alone is not enough."""
        pod = scene.revised((first,))
        profile = None if pod is None else profile_of(pod.pod, scene.profiles)
        if pod is None or profile is None:
            return Searched(())
        result = attempt(profile, pod, scene.state)
        if result.scores is not None:
            return Searched((Advice((first,)),))
        found = Search(scene, objections_of(result), prefix=(first,)).run()
        return found if result.post_filter is None or found.found else found._replace(found=(Advice((first,)),))

    def _others(self) -> Iterator[Advice]:
        """Advice that is not about nodes: refusals, priorities, another scheduler."""
        decision = self._decision
        if decision.outcome == "Denied":
            yield from (Advice((change,)) for change in self._for_refused())
        elif decision.outcome == "Ignored":
            yield Advice((with_scheduler(next(iter(self._session.profiles)), decision.scheduler_name),))
        elif decision.outcome == "Unschedulable":
            if decision.preemption_policy == "Never":
                yield Advice((may_preempt(),))
            if self._attempt is not None:
                yield from of_autoscaler(self._session, self._attempt.pod.pod)
            yield from self._higher_classes()

    def _higher_classes(self) -> Iterator[Advice]:
        """The lowest priority class with which it may evict enough; none if the highest does not help."""
        classes = classes_above(self._decision.priority, self._session.cluster)
        before = self._decision.priority_class_name
        advice = [Advice((with_priority_class(each.metadata.name, before),)) for each in classes]
        base = self._asking.ask(())
        if not advice or base is None:
            return
        highest = self._asking.ask(advice[-1].changes)
        if highest is None or highest.rank <= base.rank:
            return
        for each in advice[:_MOST_TRIED]:
            proof = self._asking.ask(each.changes)
            if proof is not None and proof.rank >= highest.rank:
                yield each
                return
        yield advice[-1]

    def _for_refused(self) -> Iterator[AdvisedChange]:
        refusal, namespace = self._decision.refusal, self._decision.pod.partition("/")[0]
        obj = self._applied.object
        pod = pod_of(obj)
        yield from refused(refusal, namespace, pod, (type(obj).__name__, obj.metadata.name), self._session.state)
        if isinstance(refusal, ObjectNotFound) and refusal.kind == "PriorityClass" and pod is not None:
            known = [each for each in self._session.cluster.all(PriorityClass) if each not in SYSTEM_PRIORITY_CLASSES]
            yield from (with_priority_class(near, refusal.name) for near in nearest(refusal.name, known)[:1])

    # --- what does -----------------------------------------------------------------------------------

    def _prove(self, advice: Iterable[Advice]) -> list[Proven]:
        """The cheapest proven advice of each sort."""
        tried: dict[tuple[str, ...], int] = {}
        proven: dict[tuple[str, ...], Proven] = {}
        for each in sorted(advice, key=lambda each: each.cost):
            sort = each.sort
            if sort in proven or tried.get(sort, 0) >= _MOST_OF_A_SORT or len(proven) >= _MOST_PROVEN:
                continue
            tried[sort] = tried.get(sort, 0) + 1
            found = self._asking.prove(each)
            if found is not None:
                proven[sort] = found
                proven.setdefault(found.advice.sort, found)
        unique = {tuple(change.key for change in each.advice.changes): each for each in proven.values()}
        return list(unique.values())


def _varied(proven: Iterable[Proven]) -> list[Proven]:
    """Advice that places most pods first, then the cheapest; advice that is like others counts as more expensive."""
    seen: dict[tuple[str, ...], int] = {}
    priced = []
    for each in sorted(proven, key=_price):
        kinds = tuple(sorted(change.kind for change in each.advice.changes))
        seen[kinds] = seen.get(kinds, 0) + 1
        cost, key = _price(each)
        priced.append((-each.proof.rank[0], cost + _ALIKE * (seen[kinds] - 1), key, each))
    return [each for *_, each in sorted(priced, key=lambda row: row[:3])]


def _price(proven: Proven) -> tuple[int, tuple[tuple[str, ...], ...]]:
    """Its cost; evictions are expensive, each of them."""
    victims = sum(len(decision.victims) for decision in proven.proof.decisions)
    cost = proven.advice.cost + (30 + 10 * victims if proven.proof.preempting else 0)
    return cost, tuple(change.key for change in proven.advice.changes)


class Limits(NamedTuple):
    """Limits of the search for advice."""

    #: The most pieces of advice for each workload, and the most workloads.
    most: int
    workloads: int
    #: Also for workloads that fit by evicting others.
    evicting: bool = True


def with_attempts(question: Question) -> Question:
    """The question whose answer has what advice is made from."""
    return replace(question, explain="failures", keeps_attempts=True)


def ask_advice(session: Session, question: Question, limits: Limits) -> Report:
    """What would help pods that do not fit: a report with the section `advise`."""
    question = with_attempts(question)
    answer = judge(session, question)
    return replace(answer.report(session, "advise"), advise=advise(session, question, answer, limits))


def advice_for(session: Session, question: Question, limits: Limits) -> Iterator[FoundAdvice]:
    """The same, but only the advice, workload by workload."""
    question = with_attempts(question)
    found, _ = _advisors(session, question, judge(session, question), limits)
    for each in found:
        yield from each.advice(limits.most)


def advise(session: Session, question: Question, answer: Answer, limits: Limits) -> AdviseRow:
    """The section of the report; the question is one `with_attempts`."""
    found, left_out = _advisors(session, question, answer, limits)
    return AdviseRow(workloads=tuple(each.row(limits.most) for each in found), left_out=left_out)


def _advisors(
    session: Session, question: Question, answer: Answer, limits: Limits
) -> tuple[list[GangAdvisor | Advisor], int]:
    """One for each group and workload that does not fit, or fits only by eviction; and how many are left out."""
    groups, members = failing_groups(answer), members_of(answer)
    failing = [
        (applied, judged)
        for applied, judged in _by_workload(question, answer)
        if (first := first_failing(judged.decisions))
        and (limits.evicting or first.outcome != "Preempts")
        and first.pod not in members
    ]
    found: list[GangAdvisor | Advisor] = []
    found += [GangAdvisor(session, question, answer, group) for group in groups[: limits.workloads]]
    few = failing[: limits.workloads - len(found)]
    found += [Advisor(session, question, applied, judged, answer.attempts) for applied, judged in few]
    return found, len(groups) + len(failing) - len(found)


def _by_workload(question: Question, answer: Answer) -> Iterator[tuple[Applied, JudgedWorkload]]:
    by_source = {applied.source: applied for applied in question.applied}
    for judged in answer.judged:
        applied = by_source.get(judged.row.source)
        if applied is not None:
            yield applied, judged
