"""The disruption controller: which nodes are removed now, and what replaces them (`pkg/controllers/disruption`).

The methods run in order, and the first one with a command decides. A command that is no longer valid 15 seconds later
is not executed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from kwhatif.autoscaler.contract import DisruptionCommand, KeptNode, ScalingPlan
from kwhatif.autoscaler.karpenter.amounts import NODES, parsed
from kwhatif.autoscaler.karpenter.candidates import (
    BLOCKED,
    DRIFTED,
    EMPTY,
    UNCONSOLIDATABLE,
    UNDERUTILIZED,
    Candidate,
    Candidates,
    Command,
    Events,
    Totals,
    allowed,
    by_savings,
    interwoven,
    is_balanced,
    is_sensible,
    is_static,
    pool_totals,
    prices_of,
    replaced,
)
from kwhatif.autoscaler.karpenter.claims import NewClaim, NodeClaimTemplate, Reservations
from kwhatif.autoscaler.karpenter.existing_nodes import SchedulerInputs
from kwhatif.autoscaler.karpenter.nodes import NEVER, ClusterState, StateNode, is_going, is_true, nanos_of
from kwhatif.autoscaler.karpenter.pods import is_provisionable
from kwhatif.autoscaler.karpenter.provisioning import PendingPods, claim_row, moving_pods
from kwhatif.autoscaler.karpenter.requirements import CAPACITY_TYPE, NODE_POOL, Refusal
from kwhatif.autoscaler.karpenter.scheduling import Results, Scheduler
from kwhatif.kube.model.bystanders import karpenter_condition
from kwhatif.kube.model.go_sort import go_sort
from kwhatif.kube.model.meta import SECOND
from kwhatif.kube.model.node import ZONE
from kwhatif.kube.model.quantity import value

#: After this time a command must still be valid.
_VALIDATION = 15 * SECOND
_MOST_AT_ONCE = 100
_SHOWN_ERRORS = 5
_BALANCED, _WHEN_EMPTY = "Balanced", "WhenEmpty"


class Disruption:
    """One run of the controller; the cluster is not changed."""

    def __init__(self, cluster_state: ClusterState) -> None:
        self._state = cluster_state
        self._inputs = SchedulerInputs(cluster_state)
        self._pending = PendingPods(cluster_state)
        self._moving = moving_pods(cluster_state)
        self.events = Events()
        self._candidates = Candidates(cluster_state, self.events)
        self._totals: dict[str, Totals] = {}

    def run(self) -> tuple[str, list[Command]]:
        """The reason and the commands of the first method that has any; none: nothing is disrupted."""
        for reason, method in (
            (EMPTY, self._emptiness),
            (DRIFTED, self._static_drift),
            (DRIFTED, self._drift),
            (UNDERUTILIZED, self._several),
            (UNDERUTILIZED, self._single),
        ):
            commands = method()
            if commands:
                return reason, commands
        return "", []

    # --- the methods -----------------------------------------------------------------------------------------------

    def _emptiness(self) -> list[Command]:
        candidates = self._candidates.find(self._state.now, self._is_empty)
        if not candidates:
            return []
        chosen = self._within_budgets(by_savings(candidates), EMPTY, self._state.now)
        later = self._state.now + _VALIDATION
        still = {each.name for each in self._candidates.find(later, self._is_empty)}
        chosen = self._within_budgets([each for each in chosen if each.name in still], EMPTY, later)
        return [Command(chosen, [])] if chosen else []

    def _is_empty(self, candidate: Candidate) -> bool:
        if is_static(candidate.pool) or self._is_disabled(candidate):
            return False
        return candidate.is_empty and self._is_consolidatable(candidate)

    def _is_disabled(self, candidate: Candidate) -> bool:
        if candidate.pool.spec.disruption.consolidate_after != NEVER:
            return False
        self._keep(candidate, f'NodePool "{candidate.pool_name}" has consolidation disabled')
        return True

    def _is_consolidatable(self, candidate: Candidate) -> bool:
        return candidate.node.claim is not None and is_true(candidate.node.claim, "Consolidatable")

    def _static_drift(self) -> list[Command]:
        """Drifted nodes of pools with a fixed size, as many as budgets and limits allow (`staticdrift.go`)."""
        found = self._candidates.find(
            self._state.now, lambda each: is_static(each.pool) and _drifted(each), eventual=True
        )
        if not found:
            return []
        budgets = allowed(self._state, DRIFTED, self._state.now)
        commands = []
        for name in sorted({each.pool_name for each in found}):
            own = [each for each in found if each.pool_name == name]
            pool = own[0].pool
            claims = [claim for claim in self._state.claims if claim.metadata.labels.get(NODE_POOL) == name]
            if sum(not is_going(claim) for claim in claims) > (pool.spec.replicas or 0):
                continue  # the pool is still being scaled down
            limit = parsed(pool.spec.limits).get(NODES)
            room = inf if limit is None else value(limit) - len(claims)
            template = NodeClaimTemplate(pool, self._state.catalogue)
            count = int(max(min(budgets.get(name, 0), len(own), room), 0))
            commands += [Command([each], [self._claim_of(template)]) for each in own[:count]]
        return commands

    def _claim_of(self, template: NodeClaimTemplate) -> NewClaim:
        topology = Scheduler(self._inputs, ()).topology
        claim = NewClaim(template, (), "new", topology, Reservations(()), strictly_reserved=False)
        claim.finish()
        return claim

    def _drift(self) -> list[Command]:
        candidates = self._candidates.find(
            self._state.now, lambda each: not is_static(each.pool) and _drifted(each), eventual=True
        )
        go_sort(candidates, lambda one, other: _drifted_since(one) < _drifted_since(other))
        budgets = self._allowed(DRIFTED) if candidates else {}
        for each in sorted(candidates, key=lambda candidate: bool(candidate.pods)):
            if not budgets.get(each.pool_name):
                continue
            results = self._simulate([each])
            errors = self._errors(results)
            if not errors:
                return [Command([each], results.claims)]
            self.events.add(each.node, BLOCKED, errors)
        return []

    def _several(self) -> list[Command]:
        """The longest prefix of the candidates that a binary search finds (`firstNConsolidationOption`)."""
        candidates = self._consolidatable()
        candidates = self._within_budgets(by_savings(candidates), UNDERUTILIZED, self._state.now)
        candidates = candidates if self._state.pools else []
        low, high = 1, min(len(candidates) - 1, _MOST_AT_ONCE)
        found: Command | None = None
        while low <= high:
            middle = (low + high) // 2
            command = self._consolidate(candidates[: middle + 1])
            if command is not None and is_sensible(command) and self._is_approved(command):
                found, low = command, middle + 1
            else:
                high = middle - 1
        return [found] if found is not None and self._holds(found) else []

    def _single(self) -> list[Command]:
        candidates = self._consolidatable()
        budgets = self._allowed(UNDERUTILIZED) if candidates else {}
        for each in interwoven(by_savings(candidates)):
            if not budgets.get(each.pool_name) or not self._can_pass(each):
                continue
            command = self._consolidate([each])
            if command is not None and self._is_approved(command):
                # A command that is no longer valid ends the search: Karpenter starts a new one later.
                return [command] if self._holds(command) else []
        return []

    def _allowed(self, reason: str) -> dict[str, int]:
        """The allowed disruptions by pool. Without a pool for new nodes nothing is simulated, so nothing is removed."""
        return allowed(self._state, reason, self._state.now) if self._state.pools else {}

    # --- consolidation ---------------------------------------------------------------------------------------------

    def _consolidatable(self) -> list[Candidate]:
        every = self._candidates.all(self._state.now)
        self._totals = pool_totals(self._state, every)
        return [each for each in every if self._is_wanted(each)]

    def _is_wanted(self, candidate: Candidate) -> bool:
        """Whether consolidation considers the node (`ShouldDisrupt`)."""
        if is_static(candidate.pool):
            return False
        labels = candidate.node.labels
        if candidate.type is None:
            name = labels.get("node.kubernetes.io/instance-type", "")
            self._keep(candidate, f'Instance Type "{name}" not found')
            return False
        for label in (CAPACITY_TYPE, ZONE):
            if label not in labels:
                self._keep(candidate, f'Node does not have label "{label}"')
                return False
        if self._is_disabled(candidate) or candidate.is_empty:
            return False
        if candidate.pool.spec.disruption.consolidation_policy == _WHEN_EMPTY:
            policy = "has consolidation policy WhenEmpty, but node is not empty"
            self._keep(candidate, f'NodePool "{candidate.pool_name}" {policy}')
            return False
        return self._is_consolidatable(candidate)

    def _consolidate(self, candidates: list[Candidate]) -> Command | None:
        """The command that removes these nodes, if any; for a single node that stays, an event says why."""
        found = self._computed(candidates)
        if isinstance(found, Command):
            return found
        if len(candidates) == 1:
            self._keep(candidates[0], found)
        return None

    def _computed(self, candidates: list[Candidate]) -> Command | str:
        """The command, or why there is none (`computeConsolidation`)."""
        results = self._simulate(candidates, consolidates=True)
        errors = self._errors(results)
        if errors:
            return errors
        claims = results.claims
        if not claims:
            return Command(candidates, [])
        if len(claims) > 1:
            return f"Can't remove without creating {len(claims)} candidates"
        return replaced(candidates, claims[0], spot_to_spot=self._state.settings.spot_to_spot)

    def _keep(self, candidate: Candidate, words: str) -> None:
        self.events.add(candidate.node, UNCONSOLIDATABLE, words)

    def _holds(self, command: Command) -> bool:
        """Whether the nodes may still be removed when the command is validated (`ConsolidationValidator`).

        The cluster has not changed since, so pods land as before; but annotations and budgets depend on the time.
        """
        later = self._state.now + _VALIDATION
        still = {each.name for each in self._candidates.find(later, self._is_wanted)}
        chosen = [each for each in command.candidates if each.name in still]
        return len(self._within_budgets(chosen, UNDERUTILIZED, later)) == len(command.candidates)

    def _within_budgets(self, candidates: Sequence[Candidate], reason: str, now: int) -> list[Candidate]:
        """The candidates that the budgets of their pools allow, in order."""
        budgets = allowed(self._state, reason, now) if candidates else {}
        found = []
        for each in candidates:
            if budgets.get(each.pool_name):
                budgets[each.pool_name] -= 1
                found.append(each)
        return found

    # --- the policy Balanced ---------------------------------------------------------------------------------------

    def _can_pass(self, candidate: Candidate) -> bool:
        """Whether removing the node without a replacement would save enough."""
        totals = self._totals.get(candidate.pool_name)
        if candidate.pool.spec.disruption.consolidation_policy != _BALANCED or totals is None or totals.price <= 0:
            return True
        return is_balanced(candidate.price, candidate.cost, totals)

    def _is_approved(self, command: Command) -> bool:
        """Whether each pool with the policy Balanced saves enough for the disruption (`EvaluateBalancedMove`)."""
        pools = {each.pool_name: each.pool for each in command.candidates}
        savings, total = command.savings, prices_of(command.candidates)
        for name, pool in pools.items():
            if pool.spec.disruption.consolidation_policy != _BALANCED:
                continue
            own = [each for each in command.candidates if each.pool_name == name]
            part = savings * prices_of(own) / total if total > 0 and len(pools) > 1 else savings
            totals = self._totals.get(name, Totals(0.0, 0.0))
            if not is_balanced(part, sum(each.cost for each in own), totals):
                return False
        return True

    # --- simulations -----------------------------------------------------------------------------------------------

    def _simulate(self, candidates: Sequence[Candidate], *, consolidates: bool = False) -> Results:
        """Where all pods would run without these nodes (`SimulateScheduling`)."""
        cluster_state = self._state
        moved = [
            cluster_state.pod_data(pod)
            for each in candidates
            for pod in each.pods
            if cluster_state.budgets.reschedules(pod, cluster_state.now)
        ]
        pods = [*self._pending.pods, *moved, *self._moving]
        without = frozenset(each.name for each in candidates)
        results = Scheduler(self._inputs, pods, without=without, consolidates=consolidates).solve()
        going = {pod.uid for pod in self._moving}
        for existing in results.existing:
            if not existing.start.node.initialized:
                refusal = _uninitialized(existing.start.node)
                results.refused.update({pod.uid: (pod, refusal) for pod in existing.pods if pod.uid not in going})
        return results

    def _errors(self, results: Results) -> str:
        """Which running pods would fit nowhere; "" if there are none (`NonPendingPodSchedulingErrors`)."""
        lost = [(pod, refusal) for pod, refusal in results.refused.values() if not is_provisionable(pod.pod)]
        if not lost:
            return ""
        shown = "".join(f"{pod.key} => {refusal.text} " for pod, refusal in lost[:_SHOWN_ERRORS])
        more = f" and {len(lost) - _SHOWN_ERRORS} other(s)" if len(lost) >= _SHOWN_ERRORS else ""
        return f"Not all pods would schedule, {shown}{more}"


def _uninitialized(node: StateNode) -> Refusal:
    """The refusal for pods on a node that is not initialized: it may never be."""
    parts = [f"nodeclaim/{node.claim.metadata.name}"] if node.claim is not None else []
    parts += [f"node/{node.node.metadata.name}"] if node.node is not None else []
    return Refusal(lambda: f"would schedule against uninitialized {', '.join(parts)}")


def _drifted(candidate: Candidate) -> bool:
    return candidate.node.claim is not None and is_true(candidate.node.claim, DRIFTED)


def _drifted_since(candidate: Candidate) -> int:
    claim = candidate.node.claim
    condition = karpenter_condition(claim, DRIFTED) if claim is not None else None
    return (nanos_of(condition.last_transition_time) or 0) if condition is not None else 0


def disruption_plan(cluster_state: ClusterState) -> tuple[ScalingPlan, list[Command]]:
    """What the controller would do now, and its events about nodes that stay."""
    disruption = Disruption(cluster_state)
    reason, commands = disruption.run()
    rows = tuple(
        DisruptionCommand(
            reason=reason,
            nodes=tuple(sorted(each.name for each in command.candidates)),
            replacements=tuple(claim_row(claim) for claim in command.replacements),
            saved=round(command.savings, 6) if cluster_state.catalogue.has_prices else None,
        )
        for command in commands
    )
    events = sorted(disruption.events.by_node.items())
    kept = tuple(KeptNode(node=name, messages=tuple(sorted(messages))) for name, messages in events)
    return ScalingPlan(commands=rows, kept=kept), commands
