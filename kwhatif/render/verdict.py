"""The verdict about a pod or a workload in one line, and why a pod stays pending."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.reading import NoBudgets
from kwhatif.render.amounts import amount, but, plural, some
from kwhatif.render.blocks import Sign, Verdict, exact
from kwhatif.render.certainty import about_pod, about_workload, of_decision, of_workload, qualifier
from kwhatif.render.outcomes import sign_of
from kwhatif.render.sentences import free_on, sentence
from kwhatif.render.workloads import earlier, victims_by_owner
from kwhatif.report import Report
from kwhatif.report.decision import (
    CandidateRow,
    Decision,
    MissRow,
    NameKind,
    NearRow,
    ObstacleRow,
    UnknownNameRow,
    WorkloadRow,
    evicted,
)
from kwhatif.scheduler.framework.evidence import (
    CordonedNode,
    Evidence,
    ExistingAntiAffinity,
    InsufficientResource,
    PodAffinityUnmatched,
    PodAntiAffinityMatched,
    SpreadSkew,
    UnboundClaim,
    UnmatchedSelector,
    UntoleratedTaint,
    taint_text,
)


def verdict(decision: Decision, report: Report, said: Collection[Caveat] = frozenset()) -> Verdict:
    """Sign, pod, and outcome; caveats in `said` are shown elsewhere, and only turn the sign into a warning."""
    is_doubted = decision.outcome == "Placed" and qualifier(report, about_pod(decision))
    sign: Sign = "doubtful" if is_doubted else decision.outcome
    text = (exact(decision.pod, "strong"), f" {fate(decision, report)}")
    return Verdict(text, sign, doubt=doubt_about(decision, report, said), sure=of_decision(decision, report))


def workload_verdict(
    row: WorkloadRow, report: Report, decisions: Sequence[Decision], said: Collection[Caveat] = frozenset()
) -> Verdict:
    """Sign, workload, the outcome of its pods, what that depends on; if some stay pending, why."""
    sign = sign_of(row)
    concerns = about_workload(row, decisions)
    is_doubted = sign == "Placed" and qualifier(report, concerns)
    doubt = qualifier(report, lambda caveat: caveat not in said and concerns(caveat))
    text = (exact(row.name, "strong"), f": {workload_sentence(row, decisions)}")
    sure = of_workload(row, decisions, report)
    return Verdict(text, "doubtful" if is_doubted else sign, doubt=doubt, sure=sure)


def workload_sentence(row: WorkloadRow, decisions: Sequence[Decision]) -> str:
    """The outcome of the workload's pods; if some stay pending or are refused, why."""
    stuck = next((why(each) for each in decisions if each.outcome == "Unschedulable" and each.near), "")
    refused = next((f"{each.message}{did_you_mean(each)}" for each in decisions if each.outcome == "Denied"), "")
    reasons = "; ".join(filter(None, (stuck, refused)))
    return f"{row.message}: {reasons}" if reasons else row.message


def sentence_about(decision: Decision, report: Report) -> str:
    """The outcome of the pod, and what that depends on."""
    return but(fate(decision, report), doubt_about(decision, report))


def doubt_about(decision: Decision, report: Report, said: Collection[Caveat] = frozenset()) -> str:
    """What the outcome depends on; "" if nothing."""
    concerns = about_pod(decision)
    return qualifier(report, lambda caveat: caveat not in said and concerns(caveat))


def fate(decision: Decision, report: Report) -> str:
    """The outcome of the pod."""
    said = _fate(decision, report)
    return f"runs on {decision.runs_on}; started again, it {said}" if decision.runs_on else said


def _fate(decision: Decision, report: Report) -> str:
    match decision.outcome:
        case "Placed":
            return _placed(decision, report)
        case "Preempts":
            return _preempts(decision, report)
        case "Gated":
            gate = decision.pre_enqueue
            return f"is not queued: {gate.message}" if gate else "is not queued"
        case "Denied":
            return f"is refused by the API server: {decision.message}{did_you_mean(decision)}"
        case "Ignored":
            return f"is ignored: {decision.message}"
        case "Waits":
            return f"is not created: it waits for {decision.waits_for}"
        case _:
            return _stuck(decision, report)


def _placed(decision: Decision, report: Report) -> str:
    feasible, nodes, is_full = len(decision.feasible), report.snapshot.nodes, decision.detail == "full"
    of_all = f"of {plural(feasible, 'feasible node')} ({nodes:,} in all)"
    if len(decision.ties) > 1:
        known = f", {of_all}" if is_full else ""
        return f"lands on one of {len(decision.ties)} nodes that score equally{known}: {some(decision.ties, 5)}"
    best = f"the only one of {plural(nodes, 'node')} that it fits on" if feasible == 1 else f"the best {of_all}"
    return f"lands on {decision.node}{f', {best}' if is_full else ''}"


def _preempts(decision: Decision, report: Report) -> str:
    preemption = decision.preemption
    chosen = preemption.chosen if preemption else None
    if preemption is None or chosen is None:
        return f"fits on no node{earlier(decision.after)}; it would be nominated to {decision.node}"
    others = [node for node in preemption.ties if node != chosen.node]
    tied = f" (or equally well {some(others)})" if others else ""
    would_evict = f"would evict {victims_by_owner(evicted(chosen.victims))} on {chosen.node}{tied}"
    return f"fits only by preemption{earlier(decision.after)}: {would_evict}, {_cost(chosen, report)}"


def _cost(chosen: CandidateRow, report: Report) -> str:
    broken = sorted({budget for victim in chosen.victims for budget in victim.violates})
    if broken:
        return f"violating {plural(len(broken), 'budget')}: {some(broken)}"
    if report.snapshot.pod_disruption_budgets is None or any(
        isinstance(caveat, NoBudgets) for caveat in report.caveat_details
    ):
        return "and no budget is known, so whether that violates one is unknown"
    return "no budget violated"


def _stuck(decision: Decision, report: Report) -> str:
    if report.snapshot.nodes == 0:
        return "stays pending: the cluster has no nodes"
    return f"stays pending{earlier(decision.after)}: {why(decision)}"


# --- why a pod stays pending -----------------------------------------------------------------------------------------


_KINDS: dict[NameKind, str] = {
    "persistentVolumeClaim": "PersistentVolumeClaim",
    "storageClass": "StorageClass",
    "resourceClaim": "ResourceClaim",
    "namespace": "namespace",
    "priorityClass": "PriorityClass",
    "runtimeClass": "RuntimeClass",
}

#: The scheduler's message about nodes that a plugin excluded before any filter.
_NOT_ASKED = "node(s) didn't satisfy plugin(s)"


def why(decision: Decision) -> str:
    """`no node has label acelerator=a10g (did you mean accelerator? 4 nodes)`; else the scheduler's words."""
    near = decision.near
    if near is None:
        return decision.message
    said = [unknown(row) for row in near.unknown if row.kind != "toleration"]
    said += [
        f"asks for {amount(row.resource, row.requested)} {row.resource}, the largest node has"
        f" {amount(row.resource, row.largest)}"
        for row in near.too_large
    ]
    if said:
        return _few(said)
    return _misses(decision, near) if near.misses else decision.message


def unknown(row: UnknownNameRow) -> str:
    """A name that does not exist, and similar ones."""
    match row.kind:
        case "label" | "resource":
            said = f"no node has {row.kind} {row.name}"
        case "toleration":
            said = f"toleration {row.name} matches no taint"
        case _:
            said = f"{_KINDS[row.kind]} {row.name} does not exist"
    return said + _nearest(row)


def did_you_mean(decision: Decision) -> str:
    """` (did you mean high?)`, for the first unknown name in the pod with a similar one."""
    rows = decision.near.unknown if decision.near else ()
    return next(filter(None, map(_nearest, rows)), "")


def _nearest(row: UnknownNameRow) -> str:
    if not row.near:
        return ""
    nearest = row.near[0]
    nodes = "" if nearest.nodes is None else f" {plural(nearest.nodes, 'node')}"
    return f" (did you mean {nearest.name}?{nodes})"


def _few(said: Sequence[str]) -> str:
    """The first two names."""
    more = len(said) - 2
    return "; ".join(said[:2]) + (f"; and {more} more" if more > 0 else "")


def _misses(decision: Decision, near: NearRow) -> str:
    first, *others = near.misses
    lasting = _lasting(first)
    if len(first.obstacles) == 1 and isinstance(first.obstacles[0].evidence, UnboundClaim | None):
        # Obstacles of the pod, not of nodes: a claim that does not exist or is not bound, a conflict within the pod.
        return obstacle(first.obstacles[0], first)
    obstacles = " and ".join(obstacle(item, first) for item in lasting)
    if len(lasting) > 1:
        nearest = "the nearest node fails" if first.nodes == 1 else f"the nearest {first.nodes:,} nodes fail"
        return f"{nearest} by {len(lasting)} things: {obstacles}{_room(first)}{_eviction(decision, first)}"
    fail = "fails" if first.nodes == 1 else "fail"
    said = f"{plural(first.nodes, 'node')} {fail} by one thing only: {obstacles}{_room(first)}"
    one_thing = (miss for miss in others if len(_lasting(miss)) == 1 and not _is_too_small(miss))
    second = next((miss for miss in one_thing if not _is_elsewhere(miss)), None)
    if second is not None:
        said += f"; {second.nodes:,} by {obstacle(_lasting(second)[0], second)}{_room(second)}"
    tolerations = [unknown(row) for row in near.unknown if row.kind == "toleration"]
    return "; ".join([said, *tolerations[:1]]) + _eviction(decision, first)


def _is_too_small(miss: MissRow) -> bool:
    """Whether the nodes would be too small even if they were empty: this cannot be changed."""
    short = [item.evidence for item in miss.obstacles if isinstance(item.evidence, InsufficientResource)]
    return any(evidence.requested > evidence.allocatable for evidence in short)


def _is_elsewhere(miss: MissRow) -> bool:
    """Whether the pod is not meant for these nodes, such as a DaemonSet's pod for another node."""
    return any(item.evidence is None and item.reason.startswith(_NOT_ASKED) for item in miss.obstacles)


def _lasting(miss: MissRow) -> list[ObstacleRow]:
    """The obstacles that eviction would not remove."""
    return [item for item in miss.obstacles if not item.evictable]


def _room(miss: MissRow) -> str:
    freed = [item.evidence for item in miss.obstacles if item.evictable]
    names = [evidence.resource for evidence in freed if isinstance(evidence, InsufficientResource)]
    return f" (evicting pods would free {some(names)} there)" if names else ""


def _eviction(decision: Decision, miss: MissRow) -> str:
    """If other pods are the obstacle, why they are not evicted."""
    if all(item.evictable or item.code != "Unschedulable" for item in miss.obstacles):
        return ""
    preemption = decision.preemption
    if preemption is None:
        return ""
    if preemption.eligible:
        return "; evicting pods does not help"
    never = decision.preemption_policy == "Never"
    return "; it may not evict pods" + (" (preemptionPolicy: Never)" if never else "")


def obstacle(row: ObstacleRow, miss: MissRow) -> str:
    """One obstacle of these nodes; for a resource, the largest free amount on any of them."""
    evidence = row.evidence
    if row.differs and evidence is not None:
        return _in_several_domains(evidence)
    match evidence:
        case InsufficientResource(resource=name, requested=requested, used=used, allocatable=allocatable):
            has = free_on(name, allocatable - used, row.node, only=miss.nodes == 1)
            if allocatable == 0:
                has = f"{'it has' if miss.nodes == 1 else 'they have'} none"
            elif requested > allocatable:
                has = f"{row.node} has {amount(name, allocatable)} in all"
            return f"{name} (needs {amount(name, requested)}, {has})"
        case UntoleratedTaint():
            return f"taint {taint_text(evidence)}"
        case UnmatchedSelector(terms=terms):
            return f"no label {terms[0]}" if _is_pair(evidence) else f"node affinity {' or '.join(terms)}"
        case CordonedNode():
            return "cordoned (spec.unschedulable)"
        case None:
            return row.reason
        case _:
            return sentence(evidence)


def _in_several_domains(evidence: Evidence) -> str:
    """For pods that differ by node: `pods matching app=db in the same zone`."""
    match evidence:
        case PodAntiAffinityMatched(topology_key=key, selector=selector):
            return f"pods matching {selector} in the same {key}"
        case ExistingAntiAffinity(topology_key=key):
            return f"pods in the same {key}, by their own anti-affinity"
        case PodAffinityUnmatched(topology_key=key, selector=selector):
            return f"no pod matches {selector} in the same {key}"
        case SpreadSkew(topology_key=key, max_skew=most):
            return f"too many pods in the same {key} already (maxSkew {most})"
        case _:
            return sentence(evidence)


def _is_pair(evidence: UnmatchedSelector) -> bool:
    key, _, value = evidence.terms[0].partition("=") if evidence.terms else ("", "", "")
    return bool(value) and key in evidence.labels and " " not in evidence.terms[0]
