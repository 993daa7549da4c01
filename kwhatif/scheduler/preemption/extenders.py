"""Extenders that take part in preemption (`callExtenders` in `pkg/scheduler/framework/preemption/preemption.go`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kwhatif.kube.model.caveat.scheduling import ExtenderOddity
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.extender import Extender, ExtenderError, ExtenderVictims, Oddity
from kwhatif.scheduler.framework.extender_calls import ExtenderCalls
from kwhatif.scheduler.preemption.candidate import Candidate

Proposals = Mapping[str, ExtenderVictims]


def ask_extenders(cycle: Cycle, candidates: Iterable[Candidate]) -> Proposals:
    """The candidates left by the extenders, each of which gets the answer of the previous one, by node name.

    Raises:
        ExtenderError: an extender that is not ignorable failed, or left a node without victims.
    """
    proposals: Proposals = {
        candidate.node: ExtenderVictims(tuple(candidate.pods), candidate.pdb_violations) for candidate in candidates
    }
    calls = cycle.extenders
    for extender in calls.interested:
        if not extender.preempts:
            continue
        try:
            answer = extender.preempt(cycle.pod, proposals, cycle.state)
            proposals = _with_victims(answer, extender, calls)
        except ExtenderError as failure:
            calls.failed(extender, "preempt", failure, ignored=extender.ignorable)
            if extender.ignorable:
                continue
            raise
        if not proposals:
            break
    return proposals


def _with_victims(answer: Proposals, extender: Extender, calls: ExtenderCalls) -> Proposals:
    empty = tuple(sorted(node for node, proposal in answer.items() if not proposal.pods))
    if not empty:
        return answer
    if not extender.ignorable:
        raise ExtenderError(f'expected at least one victim pod on node "{empty[0]}"')
    calls.remarks.append(
        ExtenderOddity(extender=extender.name, verb="preempt", oddity=Oddity.NO_VICTIMS.value, nodes=empty)
    )
    return {node: proposal for node, proposal in answer.items() if proposal.pods}
