"""Advice for one workload: candidates from the search, of which the proof keeps those that help."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from kwhatif.admission.outcome import ObjectNotFound
from kwhatif.kube.matching.field_errors import nearest
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.cluster import SYSTEM_PRIORITY_CLASSES, Cluster, key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PriorityClass
from kwhatif.questions.advise.blocking import delete_pods, owner_of_pod
from kwhatif.questions.advise.change import Advice, AdvisedChange
from kwhatif.questions.advise.manifest import may_preempt, ungated, with_priority_class, with_scheduler
from kwhatif.questions.advise.pod_attempt import Obstacle, PodAttempt
from kwhatif.questions.advise.pools import of_autoscaler
from kwhatif.questions.advise.proof import Asking, Proof, Proven
from kwhatif.questions.advise.refused import refused
from kwhatif.questions.advise.revise import patch_of, pod_of
from kwhatif.questions.advise.search import Search, Searched
from kwhatif.questions.decisions.decide import objections_of
from kwhatif.questions.judging.question import Question
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.session.session import Session
from kwhatif.report.advise import AdviceRow, Advised, AdvisedChangeRow, AdvisedRow, GoingRow, LeftRow
from kwhatif.report.decision import Decision, JudgedWorkload, Outcome
from kwhatif.scheduler.framework.attempt import attempt
from kwhatif.scheduler.framework.profile import profile_of
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.scheduler.preemption.budgets import Budgets
from kwhatif.state.pod_info import PodInfo

#: The worst first.
_BY_SEVERITY: tuple[Outcome, ...] = ("Denied", "Unschedulable", "Gated", "Ignored", "Waits", "Preempts", "Placed")


class Rows:
    """Writes the advice for one workload as rows of the report: patches of the objects to change, and edits."""

    def __init__(self, applied: Applied, cluster: Cluster, paths: Sequence[str], *, alone: bool) -> None:
        """Set up.

        Args:
            applied: what was asked about.
            cluster: with the owners of pods.
            paths: of a custom resource, where its pod templates are.
            alone: whether nothing else is in its file.
        """
        self._paths = paths
        self._object: Any = applied.object
        self._in_cluster = applied.restarted
        self._file = applied.source.file if alone and not applied.restarted and applied.source.file != "-" else None
        if applied.restarted and isinstance(applied.object, Pod):
            owner = owner_of_pod(applied.object, cluster)
            if owner is not None and pod_of(owner) is not None:
                self._object = owner

    def advice(self, proven: Proven, failing: Decision) -> AdviceRow:
        """One piece of advice with its proof."""
        proof = proven.proof
        worst = min((decision.outcome for decision in proof.decisions), key=_BY_SEVERITY.index)
        victims = dict.fromkeys(victim.pod for decision in proof.decisions for victim in decision.victims)
        return AdviceRow(
            changes=self._changes(proven.advice),
            cost=proven.advice.cost,
            outcome=worst,
            node=_landing(proof, failing),
            fit=proof.placed + proof.preempting,
            of=proof.wanted,
            victims=tuple(victims),
            decisions=tuple(_first_of_each(proof.decisions, failing)),
        )

    def left(self, nearest: Advice | None, obstacles: Sequence[Obstacle]) -> Iterator[LeftRow]:
        """The obstacles that are left after the best changes that were found."""
        if nearest is None:
            return
        for obstacle in obstacles:
            yield LeftRow(
                node=nearest.node,
                changes=self._changes(nearest),
                plugin=obstacle.plugin,
                reason=obstacle.reason,
                evidence=obstacle.evidence,
            )

    def _changes(self, advice: Advice) -> tuple[AdvisedChangeRow, ...]:
        """Each change of the manifest has a patch, to be made after those before it."""
        return tuple(self._change(change, advice.changes[:place]) for place, change in enumerate(advice.changes))

    def _change(self, change: AdvisedChange, before: Sequence[AdvisedChange]) -> AdvisedChangeRow:
        obj = self._object
        kind = obj.kind if isinstance(obj, CustomResource) else type(obj).__name__
        return AdvisedChangeRow(
            **{name: getattr(change, name) for name in Advised.__struct_fields__},
            object=f"{kind} {key_of(obj)}" if change.revise is not None else None,
            in_cluster=self._in_cluster and change.revise is not None,
            file=self._file if change.revise is not None else None,
            patch=patch_of(obj, before, change, self._paths),
            edits=_edits_of(change),
        )


def _edits_of(change: AdvisedChange) -> tuple[str | dict[str, Any], ...]:
    if change.data:
        return change.data
    return tuple(edit.text for edit in change.edits)


def _landing(proof: Proof, failing: Decision) -> str | None:
    """Where the pod lands that does not fit now; a rollout creates pods with other names."""
    same = [decision for decision in proof.decisions if decision.pod == failing.pod]
    landed = [decision for decision in (*same, *proof.decisions) if decision.node]
    return landed[0].node if landed else None


def _first_of_each(decisions: Sequence[Decision], failing: Decision) -> Iterator[Decision]:
    """The pod in question, and the first of each outcome."""
    shown: set[Outcome] = set()
    for decision in decisions:
        if decision.pod == failing.pod or decision.outcome not in shown:
            shown.add(decision.outcome)
            yield decision


#: The extra cost of a pod whose budget allows no more disruptions.
_BROKEN = 40


def going(decision: Decision, scene: PodAttempt, found: Iterable[Proven]) -> tuple[GoingRow, ...]:
    """The victims of the decision, then cheaper pods, the cheapest first; empty if there are none.

    Args:
        decision: about a pod that fits only by eviction.
        scene: the cluster just before.
        found: advice that was proven.
    """
    victims = [pod for victim in decision.victims if (pod := scene.state.pods.get(victim.pod)) is not None]
    if not victims or decision.node is None:
        return ()
    evicted = delete_pods([pod.pod for pod in victims], scene.pod)
    scheduled = _row("scheduler", evicted, victims, decision.node, scene)
    by_hand: dict[tuple[str, ...], GoingRow] = {}
    for proven in found:
        change = proven.advice.changes[0]
        pods = [pod for key in change.target.split(", ") if (pod := scene.state.pods.get(key)) is not None]
        if len(proven.advice.changes) == 1 and change.kind in ("delete-pod", "move-pod") and pods:
            row = _row("hand", change, pods, proven.advice.node, scene)
            if row.cost < scheduled.cost:
                by_hand.setdefault(row.pods, row)
    return (scheduled, *sorted(by_hand.values(), key=lambda row: (row.cost, row.pods))) if by_hand else ()


def _row(
    by: Literal["scheduler", "hand"], change: AdvisedChange, pods: Sequence[PodInfo], node: str, scene: PodAttempt
) -> GoingRow:
    violates = tuple(sorted(set(_broken(pods, scene))))
    return GoingRow(
        by=by,
        pods=tuple(pod.key for pod in pods),
        node=node,
        lands=change.after or None,
        priority=max(pod.priority for pod in pods),
        violates=violates,
        cost=change.cost + _BROKEN * len(violates),
    )


def _broken(pods: Sequence[PodInfo], scene: PodAttempt) -> Iterator[str]:
    split = Budgets(scene.state.cluster).split(pods)
    for pod in split.violating:
        yield from split.broken[pod]


#: Outcomes with possible advice; the worst first.
FAILING: tuple[Outcome, ...] = ("Denied", "Unschedulable", "Gated", "Ignored", "Preempts")
#: The most sorts of advice to prove, and the most to try of one sort.
_MOST_PROVEN, _MOST_OF_A_SORT = 12, 2
#: The most priority classes to try.
_MOST_TRIED = 4
#: The extra cost of advice that only differs in its subject from cheaper advice.
_ALIKE = 25


class Captured(NamedTuple):
    """A pod that did not fit, the cluster just before its attempt, and the filters' verdicts on each node."""

    scene: PodAttempt
    objections: Mapping[str, Sequence[Verdict]]


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
        scenes: Mapping[str, Captured],
    ) -> None:
        """Set up; `scenes` are by pod."""
        self._session = session
        self._applied = applied
        self._judged = judged
        first = first_failing(judged.decisions)
        assert first is not None, "there was an attempt"
        self._decision = first
        self._captured = scenes.get(first.pod)
        paths = question.template_paths.get(getattr(applied.object, "kind", ""), ())
        self._asking = Asking(session, question, applied)
        beside = sum(each.source.file == applied.source.file for each in question.applied) - 1
        self._rows = Rows(applied, session.cluster, paths, alone=not beside)

    def row(self, most: int) -> AdvisedRow:
        """The advice that helps, the cheapest first."""
        searched = self._searched()
        found = self._prove((*searched.found, *self._others()))
        proven = [each for each in found if not self._is_by_itself(each)]
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
            of=self._judged.row.replicas,
            victims=tuple(victim.pod for victim in self._decision.victims),
            advice=tuple(self._rows.advice(each, self._decision) for each in proven[:most]),
            left=() if proven else tuple(self._rows.left(searched.nearest, searched.left)),
            going=self._going(found),
            tried=self._asking.asked + (self._captured.scene.trials if self._captured else 0),
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

    def _going(self, found: Iterable[Proven]) -> tuple[GoingRow, ...]:
        """The scheduler's victims, and cheaper pods to delete, if there are any."""
        captured = self._captured
        if captured is None or not self._decision.victims:
            return ()
        return going(self._decision, captured.scene, [each for each in found if each.proof.is_whole])

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
            if self._captured is not None:
                yield from of_autoscaler(self._session, self._captured.scene.pod.pod)
            yield from self._higher_classes()

    def _higher_classes(self) -> Iterator[Advice]:
        """The lowest priority class with which it may evict enough; none if the highest does not help."""
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
