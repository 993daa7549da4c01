"""`judge`: what happens to the pods if the manifests are applied. Every command uses this function.

By default all objects are applied and admitted as by the API server, and the pods are placed in the order of the
scheduler's queue. The cluster's own pending pods take part, except unschedulable ones that nothing requeues.
`alone` asks about each pod as if it were the only one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Literal

from msgspec.structs import replace

from kwhatif.admission.outcome import Denied, already_exists
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.manifests import NothingJudged
from kwhatif.kube.model.caveat.scheduling import EvictionsAtOnce, OrderOfEquals, PendingAsleep
from kwhatif.kube.model.caveat.workloads import TooManyPods
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod, PodSpec
from kwhatif.kube.model.policy import PriorityClass, RuntimeClass
from kwhatif.kube.model.workload import CronJob
from kwhatif.questions.decisions.decide import refusal
from kwhatif.questions.decisions.described import WorkloadExplainer
from kwhatif.questions.judging.manifest_rollout import Planned
from kwhatif.questions.judging.pending_pods import PendingPods, in_queue_order
from kwhatif.questions.judging.question import Answer, Question
from kwhatif.questions.judging.rivals import fits_later, largest, rivals
from kwhatif.questions.judging.run import InstantRun, ManifestOutcome
from kwhatif.questions.manifests.applied import (
    Applied,
    apply_groups,
    apply_surroundings,
    ends,
    in_phases,
    not_asked,
    warnings_of,
    with_groups,
    without_earlier_runs,
)
from kwhatif.questions.manifests.daemons import new_nodes, run_daemons
from kwhatif.questions.manifests.new_pods import NewPods, Planner
from kwhatif.questions.pod_groups import is_about_groups
from kwhatif.questions.rows import room_for_pods, workload_row
from kwhatif.questions.session.completeness import without_modelled
from kwhatif.questions.session.session import Session
from kwhatif.report.decision import JudgedWorkload
from kwhatif.report.inputs import SourceRow
from kwhatif.report.pod_groups import PodGroupsRow
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.reactions import LivelockError
from kwhatif.state.change import SetFacts, Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.workloads.applied_template import template_of
from kwhatif.workloads.claims import missing_classes
from kwhatif.workloads.expand import with_names


def with_named_classes(session: Session, applied: Sequence[Applied]) -> Session:
    """The session with the classes that the manifests name and the input lacks, inferred from the cluster's pods.

    These are priority classes and runtime classes. The session is the same if none is missing, or no pod has one.
    """
    cluster = session.cluster
    named = {
        (kind, name)
        for spec in _specs(applied)
        for kind, name in ((PriorityClass, spec.priority_class_name), (RuntimeClass, spec.runtime_class_name or ""))
        if name and cluster.get(kind, name) is None
    }
    found = [each for each in missing_classes(cluster) if (type(each), each.metadata.name) in named] if named else []
    if not found:
        return session
    state = session.state.fork()
    made_up = state.cluster.facts.made_up | {type(each).__name__ for each in found}
    state.apply(*map(Upsert, found), SetFacts.of(state.cluster, made_up=made_up))
    return session.at(state)


def _specs(applied: Sequence[Applied]) -> Iterator[PodSpec]:
    for each in applied:
        if not each.is_workload or isinstance(each.object, CustomResource):
            continue
        template = each.object if isinstance(each.object, Pod) else template_of(each.object)
        if template is not None:
            yield template.spec


#: The fewest evicting pods that may get in the way of each other's evictions.
_BURST = 2
#: The most evictions times nodes for which the reactions are played: that takes seconds.
_MOST_EVICTING = 50_000

#: `settled`: until nothing happens any more. `instant`: each pod is tried once.
Mode = Literal["settled", "instant"]


def mode_of(planned: Sequence[Planned], cluster: Cluster) -> Mode:
    """How the objects are played: with time if pods are replaced step by step, or placed in groups.

    Args:
        planned: the objects.
        cluster: includes everything else that is applied.
    """
    return "settled" if any(each.plan.rolls for each in planned) or is_about_groups(cluster) else "instant"


#: Rows about the objects of the manifests, and the whole outcome.
_Found = tuple[list[JudgedWorkload], ManifestOutcome]


def judge(session: Session, question: Question) -> Answer:
    """Apply everything, and decide about every pod; the session is not changed.

    Helm hooks that end are judged in order, before and after the rest. A hook is gone when the next one is judged.
    A run of a CronJob is judged last: it starts at its time, when everything else is there.
    """
    objects = with_names([each.object for each in question.applied], session.cluster)
    named = [replace(each, object=obj) for each, obj in zip(question.applied, objects, strict=True)]
    session, applied = with_groups(with_named_classes(session, named), named)
    question = replace(question, applied=applied)
    session = session.at(without_earlier_runs(session.state, question.applied))
    phases = in_phases(question.applied)
    runs = [each for each in phases.staying if isinstance(each.object, CronJob)]
    if question.alone or not question.admission or not (phases.before or phases.after or runs):
        return _Judging(session, question).answer()
    hook = partial(replace, question, problems=(), caveats=(), pending=None, reacts=False)
    before = [_Judging(session, hook(applied=(*phases.around_before, each))).answer() for each in phases.before]
    now = [each for each in phases.staying if not isinstance(each.object, CronJob)]
    rest = _Judging(session, replace(question, applied=now))
    answer = rest.answer()
    then = session.at(rest.end)
    after = [_Judging(then, hook(applied=(*phases.around_after, each))).answer() for each in phases.after]
    after += [_Judging(then, hook(applied=(each,))).answer() for each in runs]
    return answer.between(before, after)


class _Judging:
    """Answers one question."""

    def __init__(self, session: Session, question: Question) -> None:
        self._session = session
        self._question = question
        self._explain = WorkloadExplainer(question.explain, question.described, keeps=question.keeps_attempts)
        self._state = session.state.fork()
        self._cluster = self._state.cluster
        told = (*session.caveats, *question.caveats)
        self._caveats = dict.fromkeys(without_modelled(told, session.cluster))
        #: What was assumed about the pods and claims that were created.
        self._assumed: dict[Caveat, None] = {}
        self._problems = list(question.problems)
        self._reacted: list[JudgedWorkload] = []
        #: The state once the pods have been placed.
        self.end = self._state
        self._kinds_and_keys = {(type(each.object).__name__, key_of(each.object)) for each in question.applied}
        self._groups: PodGroupsRow | None = None
        #: The simulation in which an autoscaler may have added nodes.
        self._growth: ApiServer | None = None
        refused = apply_groups(self._state, question.applied)
        #: PodGroups that the API server refuses.
        self._refused = [_refused(applied, denied, self._cluster) for applied, denied in refused]
        surroundings = apply_surroundings(self._state, question.applied, admission=question.admission)
        self._caveats.update(dict.fromkeys(surroundings))
        self._planner = Planner(self._state, question.rollout)
        api_server = ApiServer.standing(self._state)
        self._new_pods = NewPods(api_server, admission=question.admission)
        deque(run_daemons(self._new_pods, new_nodes(question.applied, session.state), session.profiles), 0)

    def answer(self) -> Answer:
        question = self._question
        is_alone = question.alone or not question.admission
        judged, outcome = self._alone() if is_alone else self._in_order()
        others = outcome.others
        self._caveats.update(dict.fromkeys(self._new_pods.caveats))
        self._caveats.update(self._assumed)
        if question.pending is None and not (judged or others or self._problems):
            self._caveats[NothingJudged()] = None
        decisions = [*(decision for each in judged for decision in each.decisions), *others]
        left_out = self._session.left_out(self.end.cluster, decisions, admission=question.admission)
        warned: list[Caveat] = []
        if question.admission:
            applied, before = question.applied, self._session.cluster
            warned += warnings_of(applied, self._cluster)
            warned += not_asked(applied, before, self._cluster, decisions)
        self._caveats.update(dict.fromkeys((*left_out, *warned, *self._session.remarks(question.max_age))))
        return Answer(
            alone=is_alone,
            judged=judged,
            others=others,
            earlier=outcome.earlier,
            reacted=self._reacted,
            caveats=self._caveats,
            problems=self._problems,
            cluster=self._cluster,
            groups=self._groups,
            end=self.end,
            growth=self._growth,
            attempts=self._explain.kept,
        )

    def _alone(self) -> _Found:
        """Each pod as if it were the only one."""
        from kwhatif.questions.judging.alone import AloneRun  # most answers do without

        self._note_more()
        run = AloneRun(self._session.profiles, self._new_pods, self._planner, self._question.described)
        refused = [*self._refused, *self._refused_claims()]
        for applied in self._question.applied:
            if applied.is_workload:
                run.add(applied)
        for info in self._asked_pending():
            run.add_pending(info.pod)
        outcome = run.play()
        others = [*(each for row in refused for each in row.decided), *outcome.others]
        return self._noted(outcome), replace(outcome, others=others)

    def _refused_claims(self) -> list[Planned]:
        claims = self._new_pods.apply_claims(self._question.applied)
        return [_refused(applied, denied, self._cluster) for applied, denied in claims]

    # --- in order ------------------------------------------------------------------------------------

    def _in_order(self) -> _Found:
        planned = [*self._refused_claims(), *self._refused]
        before = self._state.fork()
        for applied in self._question.applied:
            if applied.is_workload:
                workload = self._planned(applied)
                if workload.update != "unchanged" or not self._is_made_of_another(applied):
                    planned.append(workload)
        goes_on = self._question.goes_on
        outcome = self._instant(planned, before.fork()) if mode_of(planned, self._cluster) == "instant" else None
        if outcome is None or (goes_on and self._is_retried(outcome)):
            outcome = self._settled(planned, before)
        judged = self._noted(outcome)
        has_reacted = outcome.is_settled or not goes_on
        if self._question.reacts and not has_reacted and outcome.evicting >= _BURST:
            self._reacted = self._once_all_react(planned, before, outcome.evicting)
        return judged, outcome

    def _is_retried(self, outcome: ManifestOutcome) -> bool:
        """Whether a pod that found no node may find one later: on a new node, or once all other pods have theirs."""
        decisions = (*(each for row in outcome.planned for each in row.decided), *outcome.others, *outcome.earlier)
        is_stuck = any(each.outcome == "Unschedulable" for each in decisions)
        grows = is_stuck and self._session.scaling is not None
        return grows or fits_later(outcome.planned, outcome.api_server.state, self._session.profiles)

    def _once_all_react(self, planned: Sequence[Planned], state: State, evicting: int) -> list[JudgedWorkload]:
        """The rows once all controllers have reacted to evictions; a caveat instead if that takes too long."""
        if evicting * len(state.nodes) <= _MOST_EVICTING:
            return self._noted(self._settled(planned, state))
        self._caveats[EvictionsAtOnce(count=evicting)] = None
        return []

    def _noted(self, outcome: ManifestOutcome) -> list[JudgedWorkload]:
        """Add the outcome of a run to the answer."""
        self._caveats.update(dict.fromkeys(outcome.caveats))
        self._assumed.update(dict.fromkeys(outcome.assumed))
        self.end, self._groups, self._growth = outcome.api_server.state, outcome.groups, outcome.growth
        judged = list(map(self._judged, outcome.planned))
        if self._question.goes_on:
            known = [each for each in self._caveats if isinstance(each, OrderOfEquals)]
            found = largest([*known, *rivals(outcome.planned, self.end, self._session.profiles)])
            self._caveats = {each: None for each in self._caveats if each not in known} | dict.fromkeys(found)
        return judged

    def _note_more(self) -> None:
        if self._session.attempts is not None:
            self._session.attempts.note_more()

    def _settled(self, planned: Sequence[Planned], state: State) -> ManifestOutcome:
        """Play it with time: rollouts continue to their end, with all reactions."""
        from kwhatif.questions.judging.settled import SettledRun  # most answers do without

        self._note_more()
        planned = [each.copy() for each in planned]
        pending = self._pending(planned, state)
        asleep = self._asleep(pending, planned)
        return SettledRun(self._session, state, planned, pending, self._explain, asleep).play()

    def _instant(self, planned: Sequence[Planned], state: State) -> ManifestOutcome | None:
        """Play it without time: each pod is on its node before the next is tried; None: controllers never settle."""
        planned = [each.copy() for each in planned]
        pending = self._pending(planned, state)
        asleep = () if self._question.pending is not None else self._asleep(pending, planned)
        run = InstantRun(self._session, state, planned, pending, self._explain, self._question.rollout, asleep)
        try:
            return run.play()
        except LivelockError:
            return None

    def _pending(self, planned: Sequence[Planned], state: State) -> PendingPods:
        wanted = {info.key for info in self._asked_pending()}
        return PendingPods(self._session, state, planned, wanted=wanted, counts=self._question.counts_pending)

    def _is_made_of_another(self, applied: Applied) -> bool:
        """Whether the controller of another given object creates it, as where a dump is used as manifests."""
        owner, namespace = controller_of(applied.object.metadata), applied.object.metadata.namespace
        return owner is not None and (owner.kind, f"{namespace}/{owner.name}") in self._kinds_and_keys

    def _planned(self, applied: Applied) -> Planned:
        if ends(applied) and self._cluster.get(type(applied.object), key_of(applied.object)) is not None:
            return _refused(applied, already_exists(applied.object), self._cluster)
        update = self._planner.plan(applied)
        if update.caveat:
            self._caveats[update.caveat] = None
        if update.denied is not None:
            return _refused(applied, update.denied, self._cluster)
        return Planned(applied, applied.object, update, update.removed)

    def _asleep(self, pending: PendingPods, planned: Sequence[Planned]) -> Collection[str]:
        if self._session.scaling is not None:  # new nodes wake all of them
            return frozenset()
        keys = pending.unschedulable(self._question.applied)
        if keys and planned:
            self._caveats[PendingAsleep(pods=tuple(keys))] = None
        return frozenset(keys)

    def _asked_pending(self) -> list[PodInfo]:
        choice = self._question.pending
        if choice is None:
            return []
        pending = in_queue_order(self._state.pending.values(), self._cluster.facts.scheduling_events)
        return [info for info in pending if choice.matches(info.pod)]

    def _judged(self, workload: Planned) -> JudgedWorkload:
        decisions = workload.decided
        source, removed = workload.applied.source, len(workload.removed)
        room = room_for_pods(self._session.profiles, self._cluster) if workload.plan.left_out else None
        row = workload_row(source, workload.update, removed, decisions, workload.rollout, workload.plan.left_out, room)
        if workload.plan.left_out:
            caveat = TooManyPods(workload=row.name, count=row.replicas, judged=len(decisions))
            self._caveats[caveat] = None
        return JudgedWorkload(row, decisions, workload.applied.ignore)


def _refused(applied: Applied, denied: Denied, cluster: Cluster) -> Planned:
    decision = refusal(applied, denied, cluster)
    return Planned(applied, applied.object, decisions={decision.pod: decision}, is_refused=True)


def _where(source: SourceRow) -> str:
    line = f", line {source.line}" if source.line else ""
    return f"{source.file}{line} ({source.object})"
