"""Victims on one node: evict all, then put back all pods that still fit (`SelectVictimsOnNode`).

Follows `pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.extender import ExtenderVictims
from kwhatif.scheduler.framework.status import Verdict, error, unresolvable
from kwhatif.scheduler.preemption.budgets import Budgets, Split
from kwhatif.scheduler.preemption.candidate import NOT_TRIED, Candidate, Reprieval
from kwhatif.scheduler.preemption.dry_run import DryRun
from kwhatif.scheduler.preemption.emptied_node import EmptiedNode, Emptying
from kwhatif.scheduler.preemption.policy import Policy
from kwhatif.scheduler.preemption.sole_filter import sole_filter_of
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo

NO_VICTIMS = Verdict(unresolvable("No preemption victims found for incoming pod"))


class VictimSearch:
    """Finds the victims of one pod, one node at a time."""

    def __init__(self, cycle: Cycle, policy: Policy, budgets: Budgets) -> None:
        self._cycle = cycle
        self._policy = policy
        self._budgets = budgets
        self._emptying = Emptying(cycle, policy, budgets)
        self._sole_filter = sole_filter_of(cycle)

    def on(self, node: NodeInfo) -> Candidate | Verdict:
        """The victims on the node, or why evicting pods there does not help."""
        emptied = self._emptying.of(node)
        if emptied is None:
            return NO_VICTIMS
        found = self._sole_filter and self._sole_filter.on(emptied, self._settle)
        return found or self._try(emptied)

    def _try(self, emptied: EmptiedNode) -> Candidate | Verdict:
        dry_run = DryRun(self._cycle, emptied)
        objection = dry_run.objection()
        if objection is not None:
            return objection
        refused = dry_run.reprieve(emptied.tried.pods)
        return self._settle(emptied, Reprieval(emptied.tried.pods, list(refused), partial(dict, refused)))

    def _settle(self, emptied: EmptiedNode, reprieval: Reprieval) -> Candidate | Verdict:
        victims, split = reprieval.refused, emptied.split
        if not victims:
            return Verdict(error(f'expected at least one victim pod on node "{emptied.whole.name}"'))
        violations = sum([pod in split.broken for pod in victims]) if split.violating else 0
        if split.violating and split.others:
            victims = self._policy.by_importance(victims)
        return self._candidate(emptied.whole, victims, violations, split, reprieval)

    def adopt(self, node: NodeInfo, proposal: ExtenderVictims, found: Candidate | None) -> Candidate:
        """The candidate by an extender's proposal, based on the one found on the node, if any."""
        if found is not None and (tuple(found.pods), found.pdb_violations) == (proposal.pods, proposal.pdb_violations):
            return found
        split = self._budgets.split(proposal.pods)
        reprieval = NOT_TRIED if found is None else found.reprieval
        return self._candidate(node, proposal.pods, proposal.pdb_violations, split, reprieval)

    def _candidate(
        self, node: NodeInfo, victims: Sequence[PodInfo], violations: int, split: Split, reprieval: Reprieval
    ) -> Candidate:
        rank = self._policy.rank(node, victims, violations)
        return Candidate(node.name, victims, violations, rank, split, reprieval)
