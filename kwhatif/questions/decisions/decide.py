"""From scheduling attempts to decisions of the report: in short for most pods, in full for those that are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from operator import itemgetter

from msgspec.structs import replace

from kwhatif.admission.new_pod import with_priority
from kwhatif.admission.outcome import Denied
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod, PodMeta
from kwhatif.questions.decisions.nearest_miss import nearest_miss, unknown_objects
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.rows import (
    decision_about,
    decision_about_result,
    feasible_row,
    owner_and_workload,
    rejected_rows,
)
from kwhatif.report.decision import (
    BudgetRow,
    CandidateRow,
    Decision,
    FeasibleRow,
    NearRow,
    PreemptionRow,
    RejectedRow,
    ReprieveRow,
    VictimRow,
)
from kwhatif.scheduler.batch import ScheduleResult, result_of
from kwhatif.scheduler.framework.attempt import Attempt, Objections, attempt
from kwhatif.scheduler.framework.evidence import Evidence, InsufficientResource, Note, UntoleratedTaint
from kwhatif.scheduler.framework.profile import Profile, scheduler_of
from kwhatif.scheduler.framework.scoring import Scores
from kwhatif.scheduler.framework.status import Code, Status, Verdict
from kwhatif.scheduler.pod_groups.cycle import GroupPreemption
from kwhatif.scheduler.preemption.budgets import Budgets
from kwhatif.scheduler.preemption.candidate import Candidate, Preemption, Reprieve, Victim
from kwhatif.scheduler.preemption.policy import EvictsByPolicy
from kwhatif.state.change import Delete
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


def preemption_row(preemption: Preemption, *, described: int | None = None) -> PreemptionRow:
    """The outcome as a row of the report; the candidates keep their order, best first.

    `described` limits how many candidates are described, besides the chosen one; None: all, which is slow for
    thousands.
    """
    return PreemptionRow(
        eligible=preemption.eligible,
        message=preemption.message,
        node=preemption.node,
        ties=preemption.ties,
        candidates=tuple(_candidate_rows(preemption, described)),
        rejected=_tried_rows(preemption.rejected),
        cleared_nominations=tuple(pod.key for pod in preemption.cleared_nominations),
    )


def group_preemption_row(found: GroupPreemption, node: str | None, budgets: Budgets) -> PreemptionRow:
    """The evictions by a group, as the row of the pod that represents it.

    Args:
        found: what came of its preemption.
        node: where that pod goes; the victims may be anywhere.
        budgets: those that the victims may count against.
    """
    victims = [Victim(pod, budgets.of(pod), tuple(found.breaking.get(pod.key, ()))) for pod in found.pods]
    chosen = CandidateRow(
        node=node or "",
        pdb_violations=len(found.breaking),
        victims=tuple(map(_victim_row, victims)),
        ladder={},
        budgets=tuple(BudgetRow(budget=use.name, before=use.before, after=use.after) for use in found.budgets),
    )
    return PreemptionRow(eligible=True, node=node, candidates=(chosen,))


def _tried_rows(verdicts: Mapping[str, Verdict]) -> tuple[RejectedRow, ...]:
    """Nodes where not even evicting every pod of lower priority helps: only the first objection is known."""
    rows = rejected_rows({name: (verdict,) for name, verdict in verdicts.items()})
    return tuple([replace(row, objections=()) for row in rows])


def _candidate_rows(preemption: Preemption, described: int | None) -> Iterator[CandidateRow]:
    better: Candidate | None = None
    for index, candidate in enumerate(preemption.candidates):
        name = candidate.node
        if described is None or index < described or name == preemption.node:
            yield _candidate_row(preemption, better, candidate)
        else:
            yield CandidateRow(node=name, pdb_violations=candidate.pdb_violations, victims=(), ladder={})
        better = candidate


def _candidate_row(preemption: Preemption, better: Candidate | None, candidate: Candidate) -> CandidateRow:
    ladder: dict[str, int | str | None] = dict(zip(preemption.rungs, candidate.rank, strict=True))
    if "prioritySum" in ladder:  # the rank raises every priority by 2^31; people know the plain sum
        ladder["prioritySum"] = sum(pod.priority for pod in candidate.pods)
    if "earliestStart" in ladder:
        ladder["earliestStart"] = candidate.oldest.pod.status.start_time
    return CandidateRow(
        node=candidate.node,
        pdb_violations=candidate.pdb_violations,
        victims=tuple(map(_victim_row, candidate.victims)),
        ladder=ladder,
        loses_by=preemption.deciding_rung(better, candidate) if better else "",
        budgets=tuple(BudgetRow(budget=use.name, before=use.before, after=use.after) for use in candidate.budgets),
        reprieves=tuple(map(_reprieve_row, candidate.reprieves)),
    )


def _victim_row(victim: Victim) -> VictimRow:
    pod = victim.pod
    owner, workload = owner_and_workload(pod.pod)
    return VictimRow(
        pod=pod.key,
        priority=pod.priority,
        start_time=pod.pod.status.start_time,
        owner=owner,
        workload=workload,
        budgets=victim.budgets,
        violates=victim.violates,
        terminating=pod.terminating,
    )


def _reprieve_row(reprieve: Reprieve) -> ReprieveRow:
    objection = reprieve.objection
    if objection is None:
        return ReprieveRow(reprieve.pod.key, reprieve.pod.priority, True)
    return ReprieveRow(
        pod=reprieve.pod.key,
        priority=reprieve.pod.priority,
        kept=False,
        plugin=objection.plugin,
        reasons=objection.status.reasons,
        evidence=objection.status.evidence,
    )


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
    name = scheduler_of(pod)
    return decision_about(pod, "Ignored", message=f"no profile is named {name}: this scheduler leaves the pod alone")


def denied(pod: Pod, refusal: Denied, cluster: Cluster) -> Decision:
    """The decision about a pod that the API server refuses, perhaps as it names an object that does not exist."""
    return _denied(with_priority(pod, cluster), refusal, cluster)


def _denied(pod: Pod, refusal: Denied, cluster: Cluster) -> Decision:
    unknown = unknown_objects(pod, cluster)
    near = NearRow(unknown=unknown) if unknown else None
    return decision_about(pod, "Denied", message=refusal.message, refusal=refusal.cause, near=near)


def refusal(applied: Applied, why: Denied, cluster: Cluster) -> Decision:
    """The decision about an object that the API server refuses: it represents its only pod."""
    return replace(_denied(stand_in(applied), why, cluster), source=applied.source)


def stand_in(applied: Applied) -> Pod:
    """A pod with only a name: it represents an object without pods."""
    meta = applied.object.metadata
    return Pod(metadata=PodMeta(name=meta.name or meta.generate_name, namespace=meta.namespace))


#: Chooses the nodes to show, by the objections to each; returns how many others each of them represents.
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
    for plugin in result.cycle.profile.post_filter:
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


#: The number of nodes or candidates to keep of a kind, where there may be thousands.
FEW = 5


def in_short(result: ScheduleResult) -> Decision:
    """The outcome for the pod, without reasons."""
    preemption = None
    if result.candidate is not None:
        found = Preemption(
            node=result.node,
            ties=result.ties,
            candidates=(result.candidate,),
            cleared_nominations=result.cleared_nominations,
        )
        preemption = preemption_row(found)
    row = feasible_row(result.node or "", result.score, result.scores)
    return decision_about_result(
        result, feasible=(row,) if result.outcome == "Placed" else (), preemption=preemption, detail="short"
    )


def in_full(result: Attempt) -> Decision:
    """The decision with its evidence, but only a few of the nodes with the same reasons."""
    whole, scores, found = result_of(result), result.scores, result.post_filter
    if scores is not None:
        result = replace(result, scores=_best_few(scores))
    elif found is not None and isinstance(found.outcome, Preemption):
        tried = found.outcome
        few = replace(tried, candidates=tried.candidates[:FEW], rejected=_few_of_each(tried.rejected))
        result = replace(result, post_filter=replace(found, outcome=few))
    return replace(decision_of(result, _few_alike), ties=whole.ties, detail="few")


def _best_few(scores: Scores) -> Scores:
    nodes, total = scores.nodes, scores.total
    indexes = nsmallest(FEW, range(len(nodes)), key=lambda index: (-total[index], nodes[index].name))
    take = itemgetter(*indexes) if len(indexes) > 1 else lambda row: (row[indexes[0]],)
    return Scores(take(nodes), {name: list(take(row)) for name, row in scores.by_plugin.items()}, list(take(total)))


def _few_of_each(verdicts: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """Of the nodes with the same plugin and reasons, the first few by name."""
    names: dict[object, list[str]] = {}
    for name, verdict in verdicts.items():
        status = verdict.status
        names.setdefault((status.code, verdict.plugin, status.reasons), []).append(name)
    return {name: verdicts[name] for same in names.values() for name in nsmallest(FEW, same)}


def _few_alike(objections: Mapping[str, tuple[Verdict, ...]]) -> dict[str, int]:
    """Of the nodes with the same objections a few; the first of these stands for those left out."""
    groups: dict[object, list[str]] = {}
    for name, verdicts in objections.items():
        key = tuple([(verdict.plugin, verdict.status.reasons, _fixed(verdict.status.evidence)) for verdict in verdicts])
        groups.setdefault(key, []).append(name)
    shown: dict[str, int] = {}
    for names in groups.values():
        chosen = list(dict.fromkeys([*_roomiest(names, objections), *nsmallest(FEW, names)]))
        shown |= dict.fromkeys(chosen, 0) | {chosen[0]: len(names) - len(chosen)}
    return shown


def _fixed(evidence: Iterable[Evidence]) -> tuple[object, ...]:
    """What distinguishes kinds of nodes: taints, and whether they are too small even when they are empty."""
    return tuple(
        [
            item.requested > item.allocatable if isinstance(item, InsufficientResource) else item
            for item in evidence
            if isinstance(item, UntoleratedTaint | InsufficientResource)
        ]
    )


def _roomiest(names: Sequence[str], objections: Mapping[str, tuple[Verdict, ...]]) -> Iterator[str]:
    """For each resource that these nodes lack, the node with the most left."""
    roomiest: dict[str, tuple[int, str]] = {}
    for name in names:
        for verdict in objections[name]:
            for item in verdict.status.evidence:
                if isinstance(item, InsufficientResource):
                    free = item.used - item.allocatable, name
                    roomiest[item.resource] = min(roomiest.get(item.resource, free), free)
    yield from (name for _, name in roomiest.values())
