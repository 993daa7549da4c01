"""From one scheduling attempt to one decision of the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod, PodMeta
from kwhatif.questions.decisions.nearest_miss import nearest_miss
from kwhatif.questions.decisions.preemption_rows import preemption_row
from kwhatif.questions.decisions.unknown_names import unknown_objects
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.manifests.new_pods import NewPod
from kwhatif.questions.rows import decision_about, decision_about_result, feasible_row, rejected_rows
from kwhatif.report.decision import Decision, FeasibleRow, NearRow, PreemptionRow
from kwhatif.scheduler.batch import result_of
from kwhatif.scheduler.framework.attempt import Attempt, attempt
from kwhatif.scheduler.framework.evidence import Note
from kwhatif.scheduler.framework.guard import unguarded
from kwhatif.scheduler.framework.objections import Objections
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.scheduler.framework.scoring import Scores
from kwhatif.scheduler.framework.status import Code, Status, Verdict
from kwhatif.scheduler.preemption.candidate import Preemption
from kwhatif.scheduler.preemption.policy import EvictsByPolicy
from kwhatif.state.change import Delete
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: A node that was not evaluated, as the pod's nominated node fits, or that an extender dropped without a message.
#: Upstream's default for such nodes (`NewDefaultNodeToStatus`) has no reason.
NOT_LOOKED_AT = Verdict(Status(Code.UNRESOLVABLE, (), (Note("not looked at"),)))


def decide(profile: Profile, pod: PodInfo, state: State, *, described: int | None = None) -> tuple[Decision, Attempt]:
    """What the scheduler would do with the pod if it were pending; it replaces a pod of its name in the state."""
    if pod.key in state.pods:
        state = state.fork()
        state.apply(Delete(Pod, pod.key))
    result = attempt(profile, pod, state)
    return decision_of(result, described=described), result


def ignored(pod: Pod) -> Decision:
    """The decision about a pod that is not this scheduler's."""
    name = pod.spec.scheduler_name or DEFAULT_SCHEDULER
    return decision_about(pod, "Ignored", message=f"no profile is named {name}: this scheduler leaves the pod alone")


def denied(candidate: NewPod, cluster: Cluster) -> Decision:
    """The decision about a pod that the API server refuses, perhaps as it names an object that does not exist."""
    unknown = unknown_objects(candidate.pod, cluster)
    near = NearRow(unknown=unknown) if unknown else None
    return decision_about(candidate.pod, "Denied", message=candidate.refusal, near=near, changes=candidate.changes)


def refusal(applied: Applied, message: str, cluster: Cluster) -> Decision:
    """The decision about an object that the API server refuses: it represents its only pod."""
    return replace(denied(NewPod(stand_in(applied), refusal=message), cluster), source=applied.source)


def stand_in(applied: Applied) -> Pod:
    """A pod with only a name, for an object without pods."""
    meta = applied.object.metadata
    return Pod(metadata=PodMeta(name=meta.name or meta.generate_name, namespace=meta.namespace))


#: From the objections to each node, by its name, the nodes to show, and how many others each stands for.
Choose = Callable[[Mapping[str, tuple[Verdict, ...]]], Mapping[str, int]]


def _all(objections: Mapping[str, tuple[Verdict, ...]]) -> Mapping[str, int]:
    return dict.fromkeys(objections, 0)


def decision_of(result: Attempt, choose: Choose = _all, *, described: int | None = None) -> Decision:
    """The attempt as a row of the report; `choose` picks the rejected nodes to show.

    `described` is how many candidates for eviction are described, best first, and the chosen one; None: all.

    Call it before the state changes: all filters run on the nodes.
    """
    cycle, scores, short = result.cycle, result.scores, result_of(result)
    objections = objections_of(result)
    return decision_about_result(
        short,
        feasible=_feasible_rows(scores) if scores else (),
        rejected=rejected_rows(objections, choose(objections)),
        near=nearest_miss(cycle, objections) if short.outcome == "Unschedulable" and objections else None,
        unschedulable_plugins=() if scores else tuple(sorted(cycle.unschedulable_plugins)),
        preemption=_preemption(result, described=described),
    )


def objections_of(result: Attempt) -> dict[str, tuple[Verdict, ...]]:
    """All objections to each rejected node, by its name; call it before the state changes."""
    asking, nodes = Objections(result.cycle), result.cycle.state.by_name
    return {name: asking.on(nodes[name], verdict) for name, verdict in verdicts_of(result).items()}


def _preemption(result: Attempt, *, described: int | None) -> PreemptionRow | None:
    """The result of preemption; if another PostFilter fails before it, whether the pod may preempt at all."""
    if result.post_filter is None:
        return None
    outcome = result.post_filter.outcome
    if isinstance(outcome, Preemption):
        return preemption_row(outcome, described=described)
    for plugin in map(unguarded, result.cycle.profile.post_filter):
        if isinstance(plugin, EvictsByPolicy):
            refusal = plugin.policy.why_not_eligible(result.cycle)
            return preemption_row(Preemption(eligible=not refusal, message=refusal))
    return None


def _feasible_rows(scores: Scores) -> tuple[FeasibleRow, ...]:
    plugins = list(scores.by_plugin)
    columns = zip(*scores.by_plugin.values(), strict=True) if plugins else iter([()] * len(scores.nodes))
    rows = [
        feasible_row(node.name, total, dict(zip(plugins, cells, strict=True)))
        for node, total, cells in zip(scores.nodes, scores.total, columns, strict=True)
    ]
    rows.sort(key=lambda row: (-row.score, row.node))
    return tuple(rows)


def verdicts_of(result: Attempt) -> dict[str, Verdict]:
    """The verdicts of rejected nodes, by name; empty if no filter ran."""
    cycle = result.cycle
    if result.gated or result.failed:
        return {}
    feasible = {node.name for node in cycle.feasible}
    return {
        node.name: cycle.verdict_of(node.name) or NOT_LOOKED_AT
        for node in cycle.state.nodes
        if node.name not in feasible
    }
