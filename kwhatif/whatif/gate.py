"""`gate`: if all of this is applied, does everything schedule, whom does it evict, which budgets break, and may it?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date

import msgspec
from msgspec.structs import replace

from kwhatif.model.cluster import Cluster, key_of
from kwhatif.model.missing import Missing
from kwhatif.model.node import Node
from kwhatif.model.pod import Pod
from kwhatif.policy.build import Rulebook
from kwhatif.policy.judge import judge
from kwhatif.policy.rules import Judged
from kwhatif.report import Decision, ProblemRow, Report, SourceRow
from kwhatif.state.change import Delete
from kwhatif.whatif.applied import Applied, apply_claims, apply_surroundings
from kwhatif.whatif.candidates import Planner
from kwhatif.whatif.placing import Placer
from kwhatif.whatif.queue import Planned, Queue
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


def gate(session: Session, question: Question) -> Report:
    """Apply everything, and place the pods one after another, in the order of the queue."""
    caveats = dict.fromkeys((*session.caveats, *question.caveats))
    problems = list(question.problems)
    snapshot = session.snapshot.fork()
    cluster = snapshot.cluster
    caveats.update(dict.fromkeys(apply_surroundings(cluster, question.applied)))
    planner = Planner(cluster, question.rollout, question.template_paths)
    queue = Queue(planner)
    for workload in _planned(planner, cluster, question, caveats, problems):
        queue.add(workload)
    snapshot.apply(*(Delete.of(pod) for workload in queue.workloads for pod in workload.removed))
    placer = Placer(session.profiles, snapshot)
    queue.place_all(placer)
    caveats.update(placer.caveats)
    judged = [_judged(workload) for workload in queue.workloads]
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
    planner: Planner, cluster: Cluster, question: Question, caveats: dict[str, None], problems: list[ProblemRow]
) -> Iterator[Planned]:
    """The workloads, in the manifests' order."""
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
        yield Planned(applied, update.kind, update.removed, update.added.stages)


def _refused(applied: Applied, message: str) -> Planned:
    """An object that the API server would not take: it stands for its only pod."""
    meta = applied.object.metadata
    pod = key_of(Pod(metadata=replace(Pod().metadata, name=meta.name, namespace=meta.namespace)))
    decision = Decision(pod=pod, outcome="Denied", message=message, source=applied.source)
    return Planned(applied, decisions={pod: decision})


def _where(source: SourceRow) -> str:
    line = f", line {source.line}" if source.line else ""
    return f"{source.file}{line} ({source.object})"


def _judged(workload: Planned) -> Judged:
    decisions = list(filter(None, workload.decisions.values()))
    row = workload_row(workload.applied.source, workload.update, len(workload.removed), decisions)
    return Judged(row, decisions, workload.applied.ignore)
