"""The one line that a tired person reads."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.lacking import NoBudgets
from kwhatif.render.blocks import Verdict, exact
from kwhatif.render.outcomes import sign_of
from kwhatif.render.qualifiers import about_pod, about_workload, qualifier
from kwhatif.render.why import did_you_mean, why
from kwhatif.report import Report
from kwhatif.report.decision import Decision
from kwhatif.report.preemption import CandidateRow
from kwhatif.report.workload import WorkloadRow
from kwhatif.words.amounts import but, plural, some
from kwhatif.words.victims import after, victims_by_owner


def verdict(decision: Decision, report: Report, said: Collection[Caveat] = frozenset()) -> Verdict:
    """Sign, pod, and what becomes of it; caveats that are `said` elsewhere only make the sign a warning."""
    is_doubted = decision.outcome == "Placed" and qualifier(report, about_pod(decision))
    sentence = sentence_about(decision, report, said)
    return Verdict((exact(decision.pod, "strong"), f" {sentence}"), "doubtful" if is_doubted else decision.outcome)


def workload_verdict(
    row: WorkloadRow, report: Report, decisions: Sequence[Decision], said: Collection[Caveat] = frozenset()
) -> Verdict:
    """Sign, workload, what becomes of its pods, what that depends on; where some stay pending, why."""
    sign = sign_of(row)
    concerns = about_workload(row, decisions)
    is_doubted = sign == "Placed" and qualifier(report, concerns)
    doubt = qualifier(report, lambda caveat: caveat not in said and concerns(caveat))
    sentence = but(workload_sentence(row, decisions), doubt)
    return Verdict((exact(row.name, "strong"), f": {sentence}"), "doubtful" if is_doubted else sign)


def workload_sentence(row: WorkloadRow, decisions: Sequence[Decision]) -> str:
    """What becomes of the workload's pods; where some stay pending or are refused, why."""
    stuck = next((why(each) for each in decisions if each.outcome == "Unschedulable" and each.near), "")
    refused = next((f"{each.message}{did_you_mean(each)}" for each in decisions if each.outcome == "Denied"), "")
    reasons = "; ".join(filter(None, (stuck, refused)))
    return f"{row.message}: {reasons}" if reasons else row.message


def sentence_about(decision: Decision, report: Report, said: Collection[Caveat] = frozenset()) -> str:
    """What becomes of the pod, and what that depends on."""
    concerns = about_pod(decision)
    doubt = qualifier(report, lambda caveat: caveat not in said and concerns(caveat))
    return but(_fate(decision, report), doubt)


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
    ties = list(decision.ties)
    feasible = len(decision.feasible)
    is_full = decision.detail == "full"
    known = f", the best of {plural(feasible, 'feasible node')} ({report.snapshot.nodes:,} in all)" if is_full else ""
    if len(ties) > 1:
        known = known.replace("the best of ", "of ", 1)
        return f"lands on one of {len(ties)} nodes that score equally{known}: {some(ties, 5)}"
    if is_full and feasible == 1:
        known = f", the only one of {plural(report.snapshot.nodes, 'node')} that it fits on"
    return f"lands on {decision.node}{known}"


def _preempts(decision: Decision, report: Report) -> str:
    preemption = decision.preemption
    chosen = preemption.chosen if preemption else None
    if preemption is None or chosen is None:
        return f"fits on no node{after([decision])}; it would be nominated to {decision.node}"
    others = [node for node in preemption.ties if node != chosen.node]
    tied = f" (or equally well {some(others)})" if others else ""
    evicted = f"would evict {victims_by_owner(chosen.victims)} on {chosen.node}{tied}"
    return f"fits only by preemption{after([decision])}: {evicted}, {_cost(chosen, report)}"


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
    return f"stays pending{after([decision])}: {why(decision)}"
