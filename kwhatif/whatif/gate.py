"""`gate`: if all of this is applied, does everything schedule, whom does it evict, which budgets break, and may it?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date

import msgspec
from msgspec.structs import replace

from kwhatif.framework.profile import DEFAULT_SCHEDULER
from kwhatif.model.cluster import Cluster, key_of
from kwhatif.model.missing import Missing
from kwhatif.model.node import Node
from kwhatif.model.pod import Pod
from kwhatif.policy.build import Rulebook
from kwhatif.policy.judge import judge
from kwhatif.policy.rules import Judged
from kwhatif.report import Decision, ProblemRow, Report, SourceRow, UpdateKind
from kwhatif.snapshot.pod_info import PodInfo
from kwhatif.snapshot.snapshot import Snapshot
from kwhatif.whatif.applied import Applied, apply_claims, apply_surroundings
from kwhatif.whatif.candidates import Candidate, Planner
from kwhatif.whatif.nominations import keep_queued
from kwhatif.whatif.placing import Placement, Placer, in_short
from kwhatif.whatif.rows import owner_of
from kwhatif.whatif.session import Session
from kwhatif.whatif.workload_rows import workload_row
from kwhatif.workloads.custom import TemplatePathError
from kwhatif.workloads.rolling.update import Rollout


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What a gate is asked about, and how it is to judge."""

    applied: Sequence[Applied]
    book: Rulebook
    #: Tells which exceptions of the policy have expired.
    today: date
    rollout: Rollout = "final"
    #: Kind of custom resources -> where their pod templates are.
    template_paths: Mapping[str, Sequence[str]] = {}
    #: Whether missing information is a failure.
    strict: bool = False
    #: What is known to be wrong with the manifests, and left out of them.
    problems: Sequence[ProblemRow] = ()
    caveats: Sequence[str] = ()


class _Workload(msgspec.Struct):
    """One object of which there are pods, and what has become of them; a refused one stands for its only pod."""

    applied: Applied
    update: UpdateKind = "new"
    removed: tuple[Pod, ...] = ()
    #: In their controller's order.
    candidates: list[Candidate] = []
    decisions: dict[str, Decision] = {}
    #: Whether a decision says in full why its pod was not placed: the first one that was not, says it for all.
    is_explained: bool = False

    def wants_evidence(self, placement: Placement) -> bool:
        """Whether the decision about this pod is to say why."""
        return placement.outcome != "Placed" and not self.is_explained


def gate(session: Session, question: Question) -> Report:
    """Apply everything, and place the pods one after another, in the order of the queue."""
    caveats = dict.fromkeys((*session.caveats, *question.caveats))
    problems = list(question.problems)
    snapshot = session.snapshot.fork()
    cluster = snapshot.cluster
    caveats.update(dict.fromkeys(apply_surroundings(cluster, question.applied)))
    workloads = list(_planned(cluster, question, caveats, problems))
    for workload in workloads:
        for pod in workload.removed:
            snapshot.withdraw(key_of(pod))
            cluster.remove(pod)
    if any(isinstance(applied.object, Node) for applied in question.applied):
        snapshot = Snapshot(cluster)
        keep_queued(snapshot, session.profiles)
    _place(session, snapshot, workloads, caveats)
    judged = [_judged(workload) for workload in workloads]
    labels = {node.metadata.name: node.metadata.labels for node in cluster.all(Node).values()}
    unknown = [str(caveat) for caveat in caveats if isinstance(caveat, Missing)] if question.strict else []
    policy = judge(question.book, judged, labels, today=question.today, unknown=unknown)
    decisions = [decision for workload in judged for decision in workload.decisions]
    return replace(
        session.report("gate", decisions, caveats),
        workloads=tuple(workload.row for workload in judged),
        policy=policy,
        problems=tuple(problems),
    )


def _planned(
    cluster: Cluster, question: Question, caveats: dict[str, None], problems: list[ProblemRow]
) -> Iterator[_Workload]:
    """The workloads with their pods, in the manifests' order."""
    planner = Planner(cluster, question.rollout, question.template_paths)
    for applied, denied in apply_claims(cluster, question.applied, planner.usage):
        yield _refused(applied, denied.message)
    for applied in question.applied:
        if not applied.is_workload:
            continue
        try:
            update = planner.plan(applied)
        except TemplatePathError as wrong:
            problems.append(ProblemRow(where=_where(applied.source), message=str(wrong), source=applied.source))
            continue
        if update.caveat:
            caveats[update.caveat] = None
        if update.denied is not None:
            yield _refused(applied, update.denied.message)
            continue
        yield _Workload(applied, update.kind, update.removed, list(planner.admit(applied, update)))


def _refused(applied: Applied, message: str) -> _Workload:
    """An object that the API server would not take."""
    meta = applied.object.metadata
    stand_in = Pod(metadata=replace(Pod().metadata, name=meta.name, namespace=meta.namespace))
    return _Workload(applied, candidates=[Candidate(stand_in, refusal=message)])


def _where(source: SourceRow) -> str:
    line = f", line {source.line}" if source.line else ""
    return f"{source.file}{line} ({source.object})"


def _place(session: Session, snapshot: Snapshot, workloads: Sequence[_Workload], caveats: dict[str, None]) -> None:
    """Decide about every pod: those of higher priority first, else in the order in which they were created."""
    waiting: list[tuple[PodInfo, _Workload, Candidate]] = []
    for workload in workloads:
        for candidate in workload.candidates:
            if candidate.refusal:
                workload.decisions[key_of(candidate.pod)] = _denied(candidate, workload.applied.source)
            else:
                waiting.append((PodInfo(candidate.pod), workload, candidate))
    waiting.sort(key=lambda entry: -entry[0].priority)
    placer = Placer(session.profiles, snapshot)
    for info, workload, candidate in waiting:
        placement = placer.place(info, workload.wants_evidence)
        decision = in_short(placement)
        workload.is_explained |= decision.outcome != "Placed"
        workload.decisions[info.key] = replace(decision, source=workload.applied.source, changes=candidate.changes)
    caveats.update(placer.caveats)


def _denied(candidate: Candidate, source: SourceRow) -> Decision:
    pod = candidate.pod
    return Decision(
        pod=key_of(pod),
        owner=owner_of(pod),
        priority=pod.spec.priority or 0,
        priority_class_name=pod.spec.priority_class_name,
        scheduler_name=pod.spec.scheduler_name or DEFAULT_SCHEDULER,
        outcome="Denied",
        message=candidate.refusal,
        source=source,
        changes=candidate.changes,
    )


def _judged(workload: _Workload) -> Judged:
    decisions = [workload.decisions[key_of(candidate.pod)] for candidate in workload.candidates]
    row = workload_row(workload.applied.source, workload.update, len(workload.removed), decisions)
    return Judged(row, decisions, workload.applied.ignore)
