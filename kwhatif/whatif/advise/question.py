"""`ask_advice`: for each workload that does not fit, or only by eviction, the smallest changes that help."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.batch import ScheduleResult
from kwhatif.framework.attempt import Attempt, attempt
from kwhatif.framework.profile import DEFAULT_SCHEDULER
from kwhatif.framework.status import Verdict
from kwhatif.model.cluster import SYSTEM_PRIORITY_CLASSES, Cluster
from kwhatif.model.nearest import nearest
from kwhatif.model.policy import PriorityClass
from kwhatif.report import AdvisedRow, AdviseRow, Decision, Outcome, Report
from kwhatif.state.pod_info import PodInfo
from kwhatif.whatif.advise.blocking import Scalable, owner_of_pod, scale_down
from kwhatif.whatif.advise.change import Advice, Change
from kwhatif.whatif.advise.cluster import refused
from kwhatif.whatif.advise.manifest import may_preempt, ungated, with_priority_class, with_scheduler
from kwhatif.whatif.advise.proof import Asking, Proof, Proven
from kwhatif.whatif.advise.revise import pod_of
from kwhatif.whatif.advise.rows import Rows
from kwhatif.whatif.advise.scene import Scene
from kwhatif.whatif.advise.search import Search, Searched
from kwhatif.whatif.applied import Applied
from kwhatif.whatif.decide import objections_of
from kwhatif.whatif.judge import Answer, Judged, Question, judge
from kwhatif.whatif.placer import Describe
from kwhatif.whatif.session import Session
from kwhatif.whatif.short import in_full

#: Outcomes that something can be done about; the worst first.
_FAILING: tuple[Outcome, ...] = ("Denied", "Unschedulable", "Gated", "Ignored", "Preempts")
#: So many sorts of advice are proven, and so many of one sort tried.
_MOST_PROVEN, _MOST_OF_A_SORT = 12, 2
#: So many priority classes, and workloads that use up a quota, are tried.
_MOST_TRIED = 4
#: How much dearer a piece of advice counts for each that differs only in what it is about.
_ALIKE = 25


class Limits(NamedTuple):
    """How much advice is looked for."""

    #: For each workload, and of so many workloads.
    most: int
    workloads: int
    #: Also for workloads that fit by evicting others.
    evicting: bool = True


class Captured(NamedTuple):
    """A pod that did not fit, the cluster just before its attempt, and what the filters say of each node."""

    scene: Scene
    objections: Mapping[str, Sequence[Verdict]]


class Capture:
    """Keeps the scenes of the first failing pods, of each workload and outcome one."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.scenes: dict[str, Captured] = {}

    def __call__(self, result: ScheduleResult, explained: Collection[Outcome]) -> Describe | None:
        """How the decision about a pod is explained, see `Question.explain`."""
        if result.outcome not in _FAILING or result.outcome in explained:
            return None
        return self._describe

    def _describe(self, whole: Attempt) -> Decision:
        cycle, session = whole.cycle, self._session
        scene = Scene(cycle.pod, cycle.snapshot.fork(), session.profiles, session.namespace)
        self.scenes[cycle.pod.key] = Captured(scene, objections_of(whole))
        return in_full(whole)


def ask_advice(session: Session, question: Question, limits: Limits) -> Report:
    """What would help what does not fit: a report with the section `advise`."""
    capture = Capture(session)
    question = replace(question, explain=capture, reacts=False)
    answer = judge(session, question)
    found = advise(session, question, answer, capture.scenes, limits)
    return replace(answer.report(session, "advise"), advise=found)


def advise(
    session: Session, question: Question, answer: Answer, scenes: Mapping[str, Captured], limits: Limits
) -> AdviseRow:
    """The section of the report; `scenes` are what a `Capture` has kept while the answer was made."""
    failing = [
        (applied, judged)
        for applied, judged in _by_workload(question, answer)
        if (first := _first(judged.decisions)) and (limits.evicting or first.outcome != "Preempts")
    ]
    rows = [
        _Advisor(session, question, applied, judged, scenes).row(limits.most)
        for applied, judged in failing[: limits.workloads]
    ]
    return AdviseRow(workloads=tuple(rows), left_out=len(failing) - len(rows))


def _by_workload(question: Question, answer: Answer) -> Iterator[tuple[Applied, Judged]]:
    by_source = {applied.source: applied for applied in question.applied}
    for judged in answer.judged:
        applied = by_source.get(judged.row.source)
        if applied is not None:
            yield applied, judged


def _first(decisions: Iterable[Decision]) -> Decision | None:
    """The first decision with the worst outcome."""
    found = [decision for decision in decisions if decision.outcome in _FAILING]
    return min(found, key=lambda decision: _FAILING.index(decision.outcome), default=None)


class _Advisor:
    """One workload, and what is tried for it."""

    def __init__(
        self,
        session: Session,
        question: Question,
        applied: Applied,
        judged: Judged,
        scenes: Mapping[str, Captured],
    ) -> None:
        self._session = session
        self._applied = applied
        self._judged = judged
        first = _first(judged.decisions)
        assert first is not None, "somebody has looked"
        self._decision = first
        self._captured = scenes.get(first.pod)
        paths = question.template_paths.get(getattr(applied.object, "kind", ""), ())
        self._asking = Asking(session, question, applied)
        beside = sum(each.source.file == applied.source.file for each in question.applied) - 1
        self._rows = Rows(applied, session.cluster, paths, alone=not beside)

    def row(self, most: int) -> AdvisedRow:
        """What would help, the cheapest first."""
        searched = self._searched()
        proven = [each for each in self._prove((*searched.found, *self._others())) if not self._is_by_itself(each)]
        if any(each.proof.is_whole for each in proven):
            proven = [each for each in proven if each.proof.is_whole or self._is_by_eviction(each.proof)]
        proven = _varied(proven)
        counts = self._judged.decisions
        return AdvisedRow(
            workload=self._judged.row.name,
            source=self._applied.source,
            pod=self._decision.pod,
            outcome=self._decision.outcome,
            fit=sum(decision.outcome in ("Placed", "Preempts") for decision in counts),
            of=len(counts),
            victims=tuple(victim.pod for victim in self._decision.victims),
            advice=tuple(self._rows.advice(each, self._decision) for each in proven[:most]),
            left=() if proven else tuple(self._rows.left(searched.nearest, searched.left)),
            tried=self._asking.asked + (self._captured.scene.trials if self._captured else 0),
        )

    @staticmethod
    def _is_by_eviction(proof: Proof) -> bool:
        return proof.placed + proof.preempting == proof.wanted

    def _is_by_itself(self, proven: Proven) -> bool:
        """Whether it deletes the very pods that the scheduler would evict: chosen by hand, others may be better."""
        victims = {victim.pod for victim in self._decision.victims}
        deleted = {
            key
            for change in proven.advice.changes
            if change.kind in ("delete-pod", "move-pod")
            for key in change.target.split(", ")
        }
        return bool(victims) and deleted >= victims

    # --- what may help -------------------------------------------------------------------------------

    def _searched(self) -> Searched:
        captured = self._captured
        if captured is None:
            return Searched(())
        match self._decision.outcome:
            case "Gated":
                return self._searched_with(captured.scene, ungated(captured.scene.pod.pod))
            case _:
                return Search(captured.scene, captured.objections).run()

    @staticmethod
    def _searched_with(scene: Scene, first: Change) -> Searched:
        """Where one change is sure to be needed: what else, if that alone is not enough."""
        pod = scene.revised((first,))
        profile = None if pod is None else scene.profiles.get(pod.pod.spec.scheduler_name or DEFAULT_SCHEDULER)
        if pod is None or profile is None:
            return Searched(())
        result = attempt(profile, pod, scene.state)
        if result.scores is not None:
            return Searched((Advice((first,)),))
        found = Search(scene, objections_of(result), prefix=(first,)).run()
        return found if result.post_filter is None or found.found else found._replace(found=(Advice((first,)),))

    def _others(self) -> Iterator[Advice]:
        """What is not about any node: refusals, priorities, another scheduler."""
        decision = self._decision
        if decision.outcome == "Denied":
            yield from (Advice((change,)) for change in self._for_refused())
        elif decision.outcome == "Ignored":
            yield Advice((with_scheduler(next(iter(self._session.profiles)), decision.scheduler_name),))
        elif decision.outcome == "Unschedulable":
            if decision.preemption_policy == "Never":
                yield Advice((may_preempt(),))
            yield from self._higher_classes()

    def _higher_classes(self) -> Iterator[Advice]:
        """The lowest priority class with which it may evict enough; none, where the highest does not help."""
        known = self._session.cluster.all(PriorityClass).values()
        classes = sorted(
            (each.value, each.metadata.name)
            for each in known
            if each.value > self._decision.priority
            and each.metadata.name not in SYSTEM_PRIORITY_CLASSES
            and each.preemption_policy != "Never"
        )
        before = self._decision.priority_class_name
        advice = [Advice((with_priority_class(name, before),)) for _, name in classes]
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

    def _for_refused(self) -> Iterator[Change]:
        decision, cluster = self._decision, self._session.cluster
        namespace = decision.pod.partition("/")[0]
        pod = pod_of(self._applied.object)
        requested = {}
        if pod is not None:
            amounts = PodInfo(pod).resources.requested
            requested = {name: amounts.of(name) for name in amounts.asked}
        yield from refused(decision.message, namespace, requested, self._session.snapshot)
        if "exceeded quota" in decision.message:
            yield from self._fewer_in(namespace, cluster)
        if "no PriorityClass with name" in decision.message and pod is not None:
            name = pod.spec.priority_class_name
            known = [each for each in cluster.all(PriorityClass) if each not in SYSTEM_PRIORITY_CLASSES]
            yield from (with_priority_class(near, name) for near in nearest(name, known)[:1])

    def _fewer_in(self, namespace: str, cluster: Cluster) -> Iterator[Change]:
        """Fewer pods of the workloads that use the quota, too."""
        found: dict[tuple[str, str], Scalable] = {}
        for info in self._session.snapshot.pods.values():
            owner = owner_of_pod(info.pod, cluster) if info.namespace == namespace else None
            if owner is not None:
                found.setdefault((type(owner).__name__, owner.metadata.name), owner)
        own = (type(self._applied.object).__name__, self._applied.object.metadata.name)
        yield from (scale_down(owner) for key, owner in sorted(found.items())[:_MOST_TRIED] if key != own)

    # --- what does -----------------------------------------------------------------------------------

    def _prove(self, advice: Iterable[Advice]) -> list[Proven]:
        """Of every sort of advice the cheapest that holds."""
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
    """Those with which most pods find a node first, then the cheapest; what is much like others counts as dearer."""
    seen: dict[tuple[str, ...], int] = {}
    priced = []
    for each in sorted(proven, key=_price):
        kinds = tuple(sorted(change.kind for change in each.advice.changes))
        seen[kinds] = seen.get(kinds, 0) + 1
        cost, key = _price(each)
        priced.append((-each.proof.rank[0], cost + _ALIKE * (seen[kinds] - 1), key, each))
    return [each for *_, each in sorted(priced, key=lambda row: row[:3])]


def _price(proven: Proven) -> tuple[int, tuple[tuple[str, ...], ...]]:
    """What it costs; evicting others is dear, and more so for each of them."""
    victims = sum(len(decision.victims) for decision in proven.proof.decisions)
    cost = proven.advice.cost + (30 + 10 * victims if proven.proof.preempting else 0)
    return cost, tuple(change.key for change in proven.advice.changes)
