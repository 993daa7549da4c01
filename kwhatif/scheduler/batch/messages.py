"""Messages for pods that fit on no node, from the verdicts of node classes, as in a full attempt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kwhatif.scheduler.batch.node_class import ClassVerdicts
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.diagnosis import fit_error, histogram
from kwhatif.scheduler.framework.guard import unguarded
from kwhatif.scheduler.framework.plugin import PostFilterKind, post_filter_kind
from kwhatif.scheduler.framework.status import Code, Status
from kwhatif.scheduler.preemption.evaluator import NOT_HELPFUL
from kwhatif.scheduler.preemption.policy import EvictsByPolicy


def fit_error_of(cycle: Cycle, current: Sequence[ClassVerdicts], known: int) -> str:
    """Why no node is feasible; `known` nodes have a separate verdict."""
    reasons: Counter[str] = Counter()
    for verdicts in current:
        verdicts.count_reasons(reasons)
    total = len(cycle.state.nodes)
    for reason in cycle.absent.status.reasons if cycle.absent else ():
        reasons[reason] += total - known
    return fit_error(total, histogram(+reasons))


def post_filter_message(cycle: Cycle, why: str) -> str | None:
    """The message of PostFilter plugins if no pods can be evicted; None if another plugin may help."""
    said: list[str] = []
    own = f"preemption: {why}"
    for plugin in cycle.profile.post_filter:
        evicts = isinstance(unguarded(plugin), EvictsByPolicy)
        if evicts and own not in said:
            said.append(own)
            continue
        if evicts or post_filter_kind(plugin) is not PostFilterKind.REPORTS:
            return None
        status = plugin.post_filter(cycle).status
        if status.code is not Code.UNSCHEDULABLE:
            return None
        said.extend(status.reasons)
    return Status(Code.UNSCHEDULABLE, tuple(said)).message


def not_helpful(current: Sequence[ClassVerdicts], total: int) -> str:
    """Why evicting pods does not help on any of the nodes, with the evaluator's message."""
    refusals: Counter[str] = Counter()
    tried = sum(verdicts.count_refusals(refusals) for verdicts in current)
    for reason in NOT_HELPFUL.reasons:
        refusals[reason] += total - tried
    return fit_error(total, histogram(+refusals))
