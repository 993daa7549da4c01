"""From one scheduling attempt to one decision of the report."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from kwhatif.framework.attempt import Attempt, attempt
from kwhatif.framework.evidence import Note
from kwhatif.framework.guard import unguarded
from kwhatif.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.framework.scoring import Scores
from kwhatif.framework.status import Code, Status, Verdict
from kwhatif.model.cluster import key_of
from kwhatif.model.pod import Pod
from kwhatif.preemption.candidate import Preemption
from kwhatif.preemption.policy import EvictsByPolicy
from kwhatif.report import Decision, FeasibleRow, PreemptionRow, PreEnqueueRow
from kwhatif.state.change import Delete
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.whatif.candidates import Candidate
from kwhatif.whatif.caveats import caveats_of
from kwhatif.whatif.preemption_rows import preemption_row
from kwhatif.whatif.rows import owner_of, rejected_rows

#: A node that nobody looked at, because the pod's nominated node fits, or that an extender dropped without a word.
#: Upstream's default for such nodes (`NewDefaultNodeToStatus`) has no reason.
NOT_LOOKED_AT = Verdict(Status(Code.UNRESOLVABLE, (), (Note("not looked at"),)))


def decide_alone(
    candidate: Candidate, profiles: Mapping[str, Profile], snapshot: State, caveats: dict[str, None]
) -> Decision:
    """The decision about a pod as if it were the next in the queue; what it leaves out is added to `caveats`."""
    if candidate.refusal:
        return denied(candidate)
    pod = PodInfo(candidate.pod)
    name = pod.pod.spec.scheduler_name or DEFAULT_SCHEDULER
    profile = profiles.get(name)
    if profile is None:
        return ignored(pod, name)
    decision, result = decide(profile, pod, snapshot)
    caveats.update(dict.fromkeys(caveats_of(result)))
    return replace(decision, changes=candidate.changes)


def decide(profile: Profile, pod: PodInfo, snapshot: State) -> tuple[Decision, Attempt]:
    """What the scheduler would do with the pod, were it pending; it replaces a pod of its name in the snapshot."""
    if pod.key in snapshot.pods:
        snapshot = snapshot.fork()
        snapshot.apply(Delete(Pod, pod.key))
    result = attempt(profile, pod, snapshot)
    return decision_of(result), result


def ignored(pod: PodInfo, scheduler: str) -> Decision:
    """The decision about a pod that is none of this scheduler's business."""
    return Decision(
        pod=pod.key,
        owner=owner_of(pod.pod),
        priority=pod.priority,
        priority_class_name=pod.pod.spec.priority_class_name,
        scheduler_name=scheduler,
        outcome="Ignored",
        message=f"no profile is named {scheduler}: this scheduler leaves the pod alone",
    )


def denied(candidate: Candidate) -> Decision:
    """The API server refuses the pod."""
    pod = candidate.pod
    return Decision(
        pod=key_of(pod),
        owner=owner_of(pod),
        priority=pod.spec.priority or 0,
        priority_class_name=pod.spec.priority_class_name,
        scheduler_name=pod.spec.scheduler_name or DEFAULT_SCHEDULER,
        outcome="Denied",
        message=candidate.refusal,
        changes=candidate.changes,
    )


def decision_of(result: Attempt, shown: Mapping[str, Verdict] | None = None) -> Decision:
    """The attempt as a row of the report; of the nodes that are out, it shows these, else all."""
    cycle = result.cycle
    pod = cycle.pod.pod
    scores = result.scores
    preemption = _preemption(result)
    ties = tuple(scores.best()) if scores else _nominated(result, preemption)
    gated = result.gated
    return Decision(
        pod=cycle.pod.key,
        owner=owner_of(pod),
        priority=cycle.pod.priority,
        priority_class_name=pod.spec.priority_class_name,
        preemption_policy=pod.spec.preemption_policy or "PreemptLowerPriority",
        scheduler_name=pod.spec.scheduler_name or cycle.profile.scheduler_name,
        outcome="Gated" if gated else "Placed" if scores else "Preempts" if ties else "Unschedulable",
        node=ties[0] if ties else None,
        ties=ties,
        message=result.message,
        pre_enqueue=PreEnqueueRow(plugin=gated.plugin, message=gated.status.message) if gated else None,
        feasible=_feasible_rows(scores) if scores else (),
        rejected=rejected_rows(verdicts_of(result) if shown is None else shown),
        unschedulable_plugins=() if scores else tuple(sorted(cycle.unschedulable_plugins)),
        preemption=preemption,
    )


def _nominated(result: Attempt, preemption: PreemptionRow | None) -> tuple[str, ...]:
    """All nodes that a PostFilter may nominate the pod to; one of your own need not be a preemption."""
    if preemption is not None and preemption.ties:
        return preemption.ties
    found = result.post_filter
    return (found.nominated,) if found and found.nominated and found.status.code is Code.SUCCESS else ()


def _preemption(result: Attempt) -> PreemptionRow | None:
    """What eviction comes to; where another PostFilter fails before it is tried, whether the pod may evict at all."""
    if result.post_filter is None:
        return None
    outcome = result.post_filter.outcome
    if isinstance(outcome, Preemption):
        return preemption_row(outcome)
    for plugin in map(unguarded, result.cycle.profile.post_filter):
        if isinstance(plugin, EvictsByPolicy):
            refusal = plugin.policy.why_not_eligible(result.cycle)
            return preemption_row(Preemption(eligible=not refusal, message=refusal))
    return None


def _feasible_rows(scores: Scores) -> tuple[FeasibleRow, ...]:
    plugins = list(scores.by_plugin)
    columns = zip(*scores.by_plugin.values(), strict=True) if plugins else iter([()] * len(scores.nodes))
    rows = [
        FeasibleRow(node=node.name, score=total, scores=dict(zip(plugins, cells, strict=True)))
        for node, total, cells in zip(scores.nodes, scores.total, columns, strict=True)
    ]
    rows.sort(key=lambda row: (-row.score, row.node))
    return tuple(rows)


def verdicts_of(result: Attempt) -> dict[str, Verdict]:
    """Why nodes are out, by name; nothing where it did not come to that."""
    cycle = result.cycle
    if result.gated or result.failed:
        return {}
    feasible = {node.name for node in cycle.feasible}
    return {
        node.name: cycle.verdict_of(node.name) or NOT_LOOKED_AT
        for node in cycle.snapshot.nodes
        if node.name not in feasible
    }
