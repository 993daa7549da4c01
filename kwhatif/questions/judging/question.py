"""`Question` and `Answer`: the input and the result of `judge`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.kube.matching.pods import PodChoice
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.manifests import NothingJudged
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod, PodCondition
from kwhatif.questions.decisions.described import Explain, ExplainedAttempt
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.rows import queued_row
from kwhatif.questions.session.session import Session
from kwhatif.questions.session.stand_ins import stand_in_rows
from kwhatif.report import Report
from kwhatif.report.decision import Decision, JudgedWorkload
from kwhatif.report.inputs import ProblemRow
from kwhatif.report.pod_groups import PodGroupsRow
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.pods import with_condition
from kwhatif.state.change import Upsert
from kwhatif.state.state import State
from kwhatif.workloads.comparison import Rollout

_UNSCHEDULABLE = PodCondition(type="PodScheduled", status="False", reason="Unschedulable")


def as_unschedulable(pod: Pod) -> Pod:
    """The pod as the scheduler marks it when it has found no node for it."""
    return with_condition(pod, _UNSCHEDULABLE)


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked, and how it is to be judged."""

    applied: Sequence[Applied] = ()
    rollout: Rollout = "end"
    #: Kind of custom resources -> where their pod templates are.
    #: Whether objects are admitted; otherwise pods are used as stored by the API server, and each is judged alone.
    admission: bool = True
    #: Whether each pod is judged as if it were the only one, the next in the queue.
    alone: bool = False
    #: Whether pods that were pending already count with their workloads.
    counts_pending: bool = False
    #: Which decisions say why.
    explain: Explain = "failures"
    #: How many candidates for eviction a decision with all nodes describes, best first; None: all.
    described: int | None = None
    #: Whether the answer keeps the attempts that are explained.
    keeps_attempts: bool = False
    #: The pending pods of the cluster that are asked about; None: none.
    pending: PodChoice | None = None
    #: Problems of the manifests; the objects concerned are left out.
    problems: Sequence[ProblemRow] = ()
    caveats: Sequence[Caveat] = ()
    #: Whether the answer also has the rows once all controllers have reacted to evictions.
    reacts: bool = False
    #: The maximum age of the input in seconds; None: an hour.
    max_age: int | None = None

    @property
    def goes_on(self) -> bool:
        """Whether pods are tried again; not if one moment is asked about, or pods are restarted."""
        return self.rollout == "end" and not any(each.restarted for each in self.applied)


class Answer(msgspec.Struct, kw_only=True):
    """The result of `judge`."""

    alone: bool
    #: In the order of the manifests; empty if each pod is judged alone.
    judged: list[JudgedWorkload]
    #: About pods without a workload.
    others: list[Decision]
    #: About pending pods of the cluster that were tried before others.
    earlier: list[Decision]
    #: Like `judged`, after all reactions to evictions; empty if this was not asked, or is the same.
    reacted: list[JudgedWorkload]
    caveats: dict[Caveat, None]
    problems: list[ProblemRow]
    #: With everything that was applied.
    cluster: Cluster
    #: What became of groups of pods; None without groups.
    groups: PodGroupsRow | None = None
    #: The state once the pods have been placed.
    end: State
    #: The simulation in which an autoscaler may have added nodes; None: there was none.
    growth: ApiServer | None = None
    #: By key of the pod, the attempts that were explained, where they are kept.
    attempts: Mapping[str, ExplainedAttempt] = {}

    def marked(self) -> State:
        """The end, with pods that found no node marked as unschedulable, as the scheduler marks them."""
        state = self.end.fork()
        decisions = (*(each for judged in self.judged for each in judged.decisions), *self.others, *self.earlier)
        keys = dict.fromkeys(each.pod for each in decisions if each.outcome == "Unschedulable")
        pods = (state.pending[key].pod for key in keys if key in state.pending)
        state.apply(*(Upsert(as_unschedulable(pod)) for pod in pods))
        return state

    def between(self, before: Sequence[Answer], after: Sequence[Answer]) -> Answer:
        """The answer joined with those for hooks before and after it."""
        answers = (*before, self, *after)
        judged = [each for answer in answers for each in answer.judged]
        caveats = {caveat: None for answer in (self, *before, *after) for caveat in answer.caveats}
        if judged:
            caveats.pop(NothingJudged(), None)
        problems = [problem for answer in answers for problem in answer.problems]
        attempts = {key: attempt for answer in answers for key, attempt in answer.attempts.items()}
        return replace(self, judged=judged, caveats=caveats, problems=problems, attempts=attempts)

    def report(self, session: Session, command: str) -> Report:
        """The answer as a report."""
        decisions = [*(decision for each in self.judged for decision in each.decisions), *self.others]
        report = replace(
            session.report(command, decisions, self.caveats),
            alone=self.alone,
            workloads=tuple(each.row for each in self.judged),
            queued_before=tuple(map(queued_row, self.earlier)),
            problems=tuple(self.problems),
            pod_groups=self.groups,
            stand_ins=stand_in_rows(session.cluster, self.cluster),
        )
        return report if self.growth is None else session.with_growth(report, self.growth)
