"""The one line that a tired person reads."""

from __future__ import annotations

from rich.text import Text

from kwhatif.render.amounts import plural, some
from kwhatif.render.gate import sign_of
from kwhatif.render.text import BAD, FAINT, GOOD, STRONG, WARN, text
from kwhatif.report import CandidateRow, Decision, Report, WorkloadRow

_SIGNS = {
    "Placed": ("✔", GOOD),
    "Preempts": ("!", WARN),
    "Unschedulable": ("✘", BAD),
    "Gated": ("⏸", WARN),
    "Denied": ("✘", BAD),
    "Ignored": ("-", FAINT),
    "Waits": ("-", FAINT),
}


def verdict(decision: Decision, report: Report) -> Text:
    """Sign, pod, and what becomes of it."""
    sign, style = _SIGNS[decision.outcome]
    return Text.assemble(
        (sign, style), " ", text(decision.pod, STRONG), " ", text(sentence_about(decision, report), style)
    )


def workload_verdict(row: WorkloadRow) -> Text:
    """Sign, workload, and what becomes of its pods."""
    sign, style = sign_of(row)
    return Text.assemble((sign, style), " ", text(row.name, STRONG), ": ", text(row.message, style))


def sentence_about(decision: Decision, report: Report) -> str:
    """What becomes of the pod."""
    match decision.outcome:
        case "Placed":
            return _placed(decision, report)
        case "Preempts":
            return _preempts(decision, report)
        case "Gated":
            gate = decision.pre_enqueue
            return f"is not queued: {gate.message}" if gate else "is not queued"
        case "Denied":
            return f"is refused by the API server: {decision.message}"
        case "Ignored":
            return f"is ignored: {decision.message}"
        case "Waits":
            return f"is not created: it waits for {decision.waits_for}"
        case _:
            return _stuck(decision, report)


def _placed(decision: Decision, report: Report) -> str:
    ties = list(decision.ties)
    feasible = len(decision.feasible)
    where = (
        f"lands on {ties[0]}"
        if len(ties) == 1
        else f"lands on one of {plural(len(ties), 'node')} that score equally: {some(ties, 5)}"
    )
    if decision.detail != "full":
        return where
    if feasible == 1:
        return f"{where}, the only one of {plural(report.snapshot.nodes, 'node')} that it fits on"
    best = "" if len(ties) > 1 else ", the best"
    return f"{where}{best} of {plural(feasible, 'feasible node')} ({report.snapshot.nodes:,} in all)"


def _preempts(decision: Decision, report: Report) -> str:
    preemption = decision.preemption
    chosen = preemption.chosen if preemption else None
    if preemption is None or chosen is None:
        return f"fits nowhere; it would be nominated to {decision.node}"
    others = [node for node in preemption.ties if node != chosen.node]
    tied = f" (or equally well {some(others)})" if others else ""
    evicted = f"it would evict {plural(len(chosen.victims), 'pod')} on {chosen.node}{tied}"
    return f"fits nowhere; {evicted}, {_cost(chosen, report)}"


def _cost(chosen: CandidateRow, report: Report) -> str:
    broken = sorted({budget for victim in chosen.victims for budget in victim.violates})
    if broken:
        return f"violating {plural(len(broken), 'budget')}: {some(broken)}"
    if report.snapshot.pod_disruption_budgets is None:
        return "whether that violates a budget is unknown"
    return "no budget violated"


def _stuck(decision: Decision, report: Report) -> str:
    if report.snapshot.nodes == 0:
        return "stays pending: the cluster has no nodes"
    if not decision.rejected:
        return f"stays pending: {decision.message}"
    fits = f"stays pending: none of {plural(report.snapshot.nodes, 'node')} fits"
    preemption = decision.preemption
    if preemption is None:
        return fits
    if not preemption.eligible:
        return f"{fits}, and it may not evict"
    return f"{fits}, and evicting pods does not help"
