"""Victims on one node: evict all, then put back whoever still fits (`SelectVictimsOnNode`).

Follows `pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from kwhatif.framework.cycle import Cycle
from kwhatif.framework.extender import ExtenderVictims
from kwhatif.framework.status import Verdict, error, unresolvable
from kwhatif.preemption.alone import alone_in
from kwhatif.preemption.budgets import Budgets, Split
from kwhatif.preemption.candidate import NOT_TRIED, Candidate, PutBack
from kwhatif.preemption.emptied import Emptied, Emptying
from kwhatif.preemption.policy import Policy
from kwhatif.preemption.trial import Trial
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo

NO_VICTIMS = Verdict(unresolvable("No preemption victims found for incoming pod"))


class VictimSearch:
    """Finds the victims of one pod, node by node."""

    def __init__(self, cycle: Cycle, policy: Policy, budgets: Budgets) -> None:
        self._cycle = cycle
        self._policy = policy
        self._budgets = budgets
        self._emptying = Emptying(cycle, policy, budgets)
        self._alone = alone_in(cycle)

    def on(self, node: NodeInfo) -> Candidate | Verdict:
        """The victims on the node, or why evicting pods there does not help."""
        without = self._emptying.of(node)
        if without is None:
            return NO_VICTIMS
        found = self._alone and self._alone.on(without, self._settle)
        return found or self._try(without)

    def _try(self, without: Emptied) -> Candidate | Verdict:
        trial = Trial(self._cycle, without)
        objection = trial.objection()
        if objection is not None:
            return objection
        refused = trial.put_back(without.tried.pods)
        return self._settle(without, PutBack(without.tried.pods, list(refused), partial(dict, refused)))

    def _settle(self, without: Emptied, put_back: PutBack) -> Candidate | Verdict:
        victims, split = put_back.refused, without.split
        if not victims:
            return Verdict(error(f'expected at least one victim pod on node "{without.whole.name}"'))
        violations = sum([pod in split.broken for pod in victims]) if split.violating else 0
        if split.violating and split.others:
            victims = self._policy.by_importance(victims)
        return self._candidate(without.whole, victims, violations, split, put_back)

    def adopt(self, node: NodeInfo, proposal: ExtenderVictims, found: Candidate | None) -> Candidate:
        """The candidate that an extender makes of the one that was found on the node, if any was."""
        if found is not None and (tuple(found.pods), found.pdb_violations) == (proposal.pods, proposal.pdb_violations):
            return found
        split = self._budgets.split(proposal.pods)
        put_back = NOT_TRIED if found is None else found.put_back
        return self._candidate(node, proposal.pods, proposal.pdb_violations, split, put_back)

    def _candidate(
        self, node: NodeInfo, victims: Sequence[PodInfo], violations: int, split: Split, put_back: PutBack
    ) -> Candidate:
        rank = self._policy.rank(node, victims, violations)
        return Candidate(node.name, victims, violations, rank, split, put_back)
