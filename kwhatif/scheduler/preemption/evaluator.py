"""`Evaluator`: all candidates for a pod, and the best one (`pkg/scheduler/framework/preemption/preemption.go`).

kube-scheduler starts at a random node and stops after some candidates. Here every node is tried; among equally good
nodes, the first by name is chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from operator import itemgetter

import msgspec

from kwhatif.kube.matching.field_errors import aggregate
from kwhatif.kube.model.caveat.scheduling import ExtenderOddity
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.extender import Extender, ExtenderCalls, ExtenderError, ExtenderVictims, Oddity
from kwhatif.scheduler.framework.plugin import PostFilterResult
from kwhatif.scheduler.framework.status import (
    SUCCESS,
    Code,
    Status,
    Verdict,
    error,
    fit_error,
    reasons_histogram,
    unresolvable,
    unschedulable,
)
from kwhatif.scheduler.preemption.budgets import Budgets
from kwhatif.scheduler.preemption.candidate import Candidate, Preemption
from kwhatif.scheduler.preemption.policy import Policy
from kwhatif.scheduler.preemption.victims import VictimSearch, victim_search
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo

Proposals = Mapping[str, ExtenderVictims]


def ask_extenders(cycle: Cycle, candidates: Iterable[Candidate]) -> Proposals:
    """The candidates that remain after all extenders (`callExtenders`), by node name.

    Each extender gets the result of the previous extender.

    Raises:
        ExtenderError: an extender that is not ignorable failed, or returned a node without victims.
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


NOT_HELPFUL = unresolvable("Preemption is not helpful for scheduling")
NO_CANDIDATE = "no candidate node for preemption"


class Evaluator:
    """Preemption by the rules of a policy."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def preempt(self, cycle: Cycle) -> PostFilterResult:
        """Look for pods to evict so that the cycle's pod fits; the result has a `Preemption`."""
        refusal = self._policy.why_not_eligible(cycle)
        if refusal:
            return _nowhere(unschedulable(refusal), Preemption(eligible=False))
        search = victim_search(cycle, self._policy, Budgets(cycle.state.cluster))
        candidates, rejected = _dry_run(search, potential_nodes(cycle))
        outcome = Preemption(rungs=self._policy.rungs, rejected=rejected)
        if not candidates:
            failure = _failure(rejected)
            if failure:
                return _nowhere(error(failure), outcome)
            return _nowhere(unschedulable(_not_helpful(cycle, rejected)), outcome, nominated="")
        if cycle.profile.extenders:
            try:
                candidates = _ask_extenders(cycle, search, candidates)
            except ExtenderError as failed:
                return _nowhere(error(str(failed)), outcome)
            if not candidates:
                return _nowhere(unschedulable(NO_CANDIDATE), outcome)
        return _choose(cycle, candidates, outcome)


def potential_nodes(cycle: Cycle) -> list[NodeInfo]:
    """The nodes whose verdict says that evicting pods may help."""
    absent, verdicts, state = cycle.absent, cycle.verdicts, cycle.state
    return [
        node
        for node, name in zip(state.nodes, state.names_and_shapes[0], strict=True)
        if (verdict := verdicts.get(name, absent)) is not None and verdict.status.code is Code.UNSCHEDULABLE
    ]


def _dry_run(search: VictimSearch, nodes: Iterable[NodeInfo]) -> tuple[list[Candidate], dict[str, Verdict]]:
    candidates: list[Candidate] = []
    rejected: dict[str, Verdict] = {}
    for node in nodes:
        found = search.on(node)
        if isinstance(found, Candidate):
            candidates.append(found)
        else:
            rejected[node.name] = found
    return candidates, rejected


def _ask_extenders(cycle: Cycle, search: VictimSearch, candidates: Sequence[Candidate]) -> list[Candidate]:
    found = {candidate.node: candidate for candidate in candidates}
    proposals = ask_extenders(cycle, candidates)
    nodes = cycle.state.by_name
    return [search.adopt(nodes[name], proposal, found.get(name)) for name, proposal in proposals.items()]


def _choose(cycle: Cycle, candidates: Sequence[Candidate], outcome: Preemption) -> PostFilterResult:
    ranked = tuple(sorted(candidates, key=lambda candidate: (*candidate.rank, candidate.node)))
    best = ranked[0]
    outcome = msgspec.structs.replace(
        outcome,
        node=best.node,
        ties=tuple([candidate.node for candidate in takewhile(lambda one: one.rank == best.rank, ranked)]),
        candidates=ranked,
        cleared_nominations=cleared_nominations(cycle, best),
    )
    return PostFilterResult(SUCCESS, best.node, outcome)


def cleared_nominations(cycle: Cycle, best: Candidate) -> tuple[PodInfo, ...]:
    """Pods of lower priority nominated to the node: they may no longer fit (`prepareCandidateAsync`)."""
    # QUIRK: (executor.go) if all victims are already terminating, upstream does nothing, so the nominations stay.
    if all(pod.terminating for pod in best.pods):
        return ()
    priority = cycle.pod.priority
    return tuple(pod for pod in cycle.state.nominated.get(best.node, ()) if pod.priority < priority)


def _nowhere(status: Status, outcome: Preemption, nominated: str | None = None) -> PostFilterResult:
    return PostFilterResult(status, nominated, msgspec.structs.replace(outcome, message=status.message))


def _not_helpful(cycle: Cycle, rejected: Mapping[str, Verdict]) -> str:
    total = len(cycle.state.nodes)
    statuses = [verdict.status for verdict in rejected.values()]
    return fit_error(total, reasons_histogram(statuses, NOT_HELPFUL, total - len(statuses)))


def _failure(rejected: Mapping[str, Verdict]) -> str:
    """The errors of all nodes, if any (`utilerrors.Aggregate`); upstream lists them in the order of occurrence."""
    failed = [(name, verdict.status) for name, verdict in rejected.items() if verdict.status.code is Code.ERROR]
    return aggregate(status.message for _, status in sorted(failed, key=itemgetter(0)))
