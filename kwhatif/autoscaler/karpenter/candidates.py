"""Nodes that may be disrupted, how many of each pool, and whether the savings justify the disruption.

(`disruption/types.go`, `helpers.go`, `consolidation.go`, `balanced.go`, `utils/disruption`.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from math import inf
from typing import NamedTuple

from kwhatif.autoscaler.karpenter.claims import NewClaim
from kwhatif.autoscaler.karpenter.instance_types import InstanceType
from kwhatif.autoscaler.karpenter.nodes import DO_NOT_DISRUPT, ClusterState, StateNode, is_true
from kwhatif.autoscaler.karpenter.pods import is_daemon, is_disruptable, is_reschedulable
from kwhatif.autoscaler.karpenter.requirements import CAPACITY_TYPE, INSTANCE_TYPE, NODE_POOL, ON_DEMAND, SPOT
from kwhatif.kube.matching.cron import is_due
from kwhatif.kube.model.bystanders import DisruptionBudget, NodePool
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.go_sort import go_sort
from kwhatif.kube.model.meta import SECOND
from kwhatif.kube.model.node import ZONE
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.quantity import parse_duration

BLOCKED, UNCONSOLIDATABLE = "DisruptionBlocked", "Unconsolidatable"
EMPTY, DRIFTED, UNDERUTILIZED = "Empty", "Drifted", "Underutilized"
#: The disruption cost of a node, in addition to that of its pods.
NODE_COST = 1.0
_MOST_COST = 10.0
_UNBOUNDED = 2**31 - 1


class Events:
    """Karpenter's events about nodes, without duplicates."""

    def __init__(self) -> None:
        self.by_node: dict[str, dict[str, None]] = {}

    def add(self, node: StateNode, reason: str, message: str) -> None:
        """Record an event about the node."""
        name = node.name if node.node is None else node.node.metadata.name
        self.by_node.setdefault(name, {})[f"{reason}: {message}"] = None


def eviction_cost(pod: Pod) -> float:
    """The cost of evicting the pod, between -10 and 10 (`EvictionCost`)."""
    cost = NODE_COST
    text = pod.metadata.annotations.deletion_cost
    if text:
        with suppress(ValueError):
            cost += float(text) / 2**27
    cost += (pod.spec.priority or 0) / 2**25
    return min(max(cost, -_MOST_COST), _MOST_COST)


class Candidate:
    """A node that may be disrupted (`Candidate`)."""

    def __init__(self, node: StateNode, pool: NodePool, type_: InstanceType | None) -> None:
        self.node = node
        self.name = node.name
        self.pool = pool
        self.pool_name = pool.metadata.name
        self.type = type_
        self.capacity_type = node.labels.get(CAPACITY_TYPE, "")
        self.pods = [pod for pod in node.pods if is_reschedulable(pod)]
        #: Price per hour; 0 if not known.
        self.price = _price(node, type_)
        self.cost = _node_cost(self.pods)

    @property
    def is_empty(self) -> bool:
        """Whether it has no pods with a disruption cost."""
        return self.cost <= NODE_COST

    @property
    def savings_ratio(self) -> float:
        """The savings per disruption cost."""
        return self.price / self.cost


def _price(node: StateNode, type_: InstanceType | None) -> float:
    if type_ is None:
        return 0.0
    return type_.price_at(node.labels.get(ZONE, ""), node.labels.get(CAPACITY_TYPE, "")) or 0.0


def is_static(pool: NodePool) -> bool:
    """Whether the pool has a fixed number of nodes."""
    return pool.spec.replicas is not None


class Candidates:
    """Finds candidates, and records why other nodes are none (`NewCandidate`)."""

    def __init__(self, cluster_state: ClusterState, events: Events) -> None:
        self._state = cluster_state
        self._events = events
        self._pools = cluster_state.cluster.all(NodePool)
        self._types = {type_.name: type_ for type_ in cluster_state.catalogue.types}

    def find(self, now: int, is_wanted: Callable[[Candidate], bool], *, eventual: bool = False) -> list[Candidate]:
        """The wanted candidates, by name; `eventual`: pods block only for the node's termination grace period."""
        return [each for each in self.all(now, eventual=eventual) if is_wanted(each)]

    def all(self, now: int, *, eventual: bool = False) -> list[Candidate]:
        """All nodes that could be disrupted."""
        found = [self._candidate(node, now, eventual=eventual) for node in self._state.nodes]
        return sorted(filter(None, found), key=lambda each: each.name)

    def _candidate(self, node: StateNode, now: int, *, eventual: bool) -> Candidate | None:
        wrong = _node_objection(node)
        if wrong:
            if node.claim is not None:
                self._block(node, wrong)
            return None
        name = node.pool or ""
        pool = self._pools.get(name)
        if pool is None or not self._types:
            self._events.add(node, BLOCKED, f"NodePool not found (NodePool={name})")
            return None
        wrong = self._pods_objection(node, now)
        assert node.claim is not None
        if wrong and not (eventual and node.claim.spec.termination_grace_period is not None):
            self._block(node, wrong)
            return None
        return Candidate(node, pool, self._types.get(node.labels.get(INSTANCE_TYPE, "")))

    def _block(self, node: StateNode, words: str) -> None:
        self._events.add(node, BLOCKED, words[:1].upper() + words[1:])

    def _pods_objection(self, node: StateNode, now: int) -> str:
        for pod in node.pods:
            if not is_disruptable(pod, now):
                return f'pod has "{DO_NOT_DISRUPT}" annotation (Pod={key_of(pod)})'
        for pod in node.pods:
            keys = self._state.budgets.blocking(pod, now)
            if keys is not None:
                shown = " ".join(keys)
                if len(keys) > 1:
                    return f"eviction does not support multiple PDBs (PodDisruptionBudget(s)=[{shown}])"
                return f"pdb prevents pod evictions (PodDisruptionBudget=[{shown}])"
        return ""


def _node_objection(node: StateNode) -> str:
    """Why the node itself must not be disrupted; "" if it may be (`ValidateNodeDisruptable`)."""
    if node.claim is None:
        return "node isn't managed by karpenter"
    if node.node is None:
        return "nodeclaim does not have an associated node"
    if not node.initialized:
        return "node isn't initialized"
    if node.is_going:
        return "node is deleting or marked for deletion"
    if node.annotations.get(DO_NOT_DISRUPT) == "true":
        return f'disruption is blocked through the "{DO_NOT_DISRUPT}" annotation'
    if node.pool is None:
        return f"node doesn't have required label (label={NODE_POOL})"
    return ""


def by_savings(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates, the one with the largest savings ratio first (`sortCandidates`)."""
    ordered = list(candidates)
    go_sort(ordered, lambda one, other: one.savings_ratio > other.savings_ratio)
    return ordered


def interwoven(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The first candidate of each pool, then the second ones, and so on (`shuffleCandidates`); pools by name."""
    rank: dict[str, int] = {}
    placed = []
    for each in candidates:
        rank[each.pool_name] = rank.get(each.pool_name, -1) + 1
        placed.append((rank[each.pool_name], each.pool_name, each))
    return [each for _, _, each in sorted(placed, key=lambda entry: entry[:2])]


# --- budgets ---------------------------------------------------------------------------------------------------------


def allowed(cluster_state: ClusterState, reason: str, now: int) -> dict[str, int]:
    """How many nodes of each pool may be disrupted now for this reason (`BuildDisruptionBudgetMapping`)."""
    total: dict[str, int] = {}
    disrupted: dict[str, int] = {}
    for node in cluster_state.nodes:
        if node.claim is None or not node.initialized or is_true(node.claim, "InstanceTerminating"):
            continue
        pool = node.pool or ""
        total[pool] = total.get(pool, 0) + 1
        if node.is_going or not _is_ready(node):
            disrupted[pool] = disrupted.get(pool, 0) + 1
    return {
        name: max(
            _of_budgets(pool.spec.disruption.budgets, total.get(name, 0), reason, now) - disrupted.get(name, 0), 0
        )
        for name, pool in cluster_state.cluster.all(NodePool).items()
    }


def _is_ready(node: StateNode) -> bool:
    conditions = node.node.status.conditions if node.node is not None else ()
    return next((each.status == "True" for each in conditions if each.type == "Ready"), False)


def _of_budgets(budgets: Iterable[DisruptionBudget], nodes: int, reason: str, now: int) -> int:
    """The smallest number that any active budget allows; an invalid budget allows nothing, for any reason."""
    least = _UNBOUNDED
    for budget in budgets:
        try:
            found = _of_budget(budget, nodes, now)
        except ValueError:
            return 0
        if budget.reasons is None or reason in budget.reasons:
            least = min(least, found)
    return least


def _of_budget(budget: DisruptionBudget, nodes: int, now: int) -> int:
    """The number of nodes that the budget allows.

    Raises:
        ValueError: its number or its duration is not valid.
    """
    if budget.schedule is not None or budget.duration is not None:
        if budget.schedule is None:
            raise ValueError("a duration has no beginning")
        duration = parse_duration(budget.duration or "0s") // SECOND
        now //= SECOND
        if not is_due(budget.schedule, "", now - duration, now):
            return _UNBOUNDED
    text = str(budget.nodes)
    if text.endswith("%"):
        return -(-int(text[:-1]) * nodes // 100)
    return int(text)


# --- balanced --------------------------------------------------------------------------------------------------------


class Totals(NamedTuple):
    """The price of a pool, and the disruption cost of draining all of it (`NodePoolTotals`)."""

    price: float
    cost: float


def pool_totals(cluster_state: ClusterState, candidates: Iterable[Candidate]) -> dict[str, Totals]:
    """The totals of pools that have candidates. Other nodes only count for the disruption cost."""
    by_name = {each.name: each for each in candidates}
    prices: dict[str, float] = {}
    costs: dict[str, float] = {}
    for each in by_name.values():
        prices[each.pool_name] = prices.get(each.pool_name, 0.0) + each.price
    for node in cluster_state.nodes:
        if node.pool is not None:
            known = by_name.get(node.name)
            cost = _node_cost(pod for pod in node.pods if not is_daemon(pod)) if known is None else known.cost
            costs[node.pool] = costs.get(node.pool, 0.0) + cost
    return {name: Totals(price, costs.get(name, 0.0)) for name, price in prices.items()}


def _node_cost(pods: Iterable[Pod]) -> float:
    return NODE_COST + sum(max(0.0, eviction_cost(pod)) for pod in pods)


#: With the policy Balanced, the share of the disruption cost may be at most twice the share of the price that is saved.
_BALANCE = 2
#: A single spot node is replaced by another one only if there are this many cheaper types: otherwise it would be
#: replaced again and again.
_CHEAPER_SPOT_TYPES = 15


class Command(NamedTuple):
    """Nodes that are removed together, and the NodeClaim that replaces them, if any."""

    candidates: list[Candidate]
    replacements: list[NewClaim]

    @property
    def savings(self) -> float:
        """The savings per hour, as far as prices are known (`EstimatedSavings`)."""
        return prices_of(self.candidates) - sum(claim.cheapest_price or 0.0 for claim in self.replacements)


def prices_of(candidates: Iterable[Candidate]) -> float:
    """The total price of the nodes per hour."""
    return sum(each.price for each in candidates)


def replaced(candidates: list[Candidate], claim: NewClaim, *, spot_to_spot: bool) -> Command | str:
    """The command that replaces the nodes by this NodeClaim, or why there is none.

    Args:
        candidates: the nodes that would be removed.
        claim: the NodeClaim for their pods; types that are not cheaper are removed from it.
        spot_to_spot: the feature gate SpotToSpotConsolidation.
    """
    claim.order_by_price()
    capacity = claim.requirements.want(CAPACITY_TYPE)
    from_spot = capacity.has(SPOT) and all(each.capacity_type == SPOT for each in candidates)
    if from_spot:
        if not spot_to_spot:
            return "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node"
        claim.only_spot()
        claim.keep_offered()
    few = claim.keep_cheaper(prices_of(candidates))
    if few is not None:
        return f"Filtering by price: {few.text}"
    if not claim.types:
        return "Can't replace with a cheaper node"
    if from_spot and len(candidates) == 1:
        if len(claim.types) < _CHEAPER_SPOT_TYPES:
            return (
                f"SpotToSpotConsolidation requires {_CHEAPER_SPOT_TYPES} cheaper instance type options than the current"
                f" candidate to consolidate, got {len(claim.types)}"
            )
        claim.keep_cheapest(_CHEAPER_SPOT_TYPES)
    elif capacity.has(SPOT) and capacity.has(ON_DEMAND):
        # It is only cheaper as spot, so it must not be launched on demand.
        claim.only_spot()
    return Command(candidates, [claim])


def is_sensible(command: Command) -> bool:
    """Whether the replacement is not just one of the removed nodes again (`filterOutSameInstanceType`)."""
    if not command.replacements:
        return True
    claim = command.replacements[0]
    prices: dict[str, float] = {}
    for each in command.candidates:
        assert each.type is not None
        prices.setdefault(each.type.name, 0.0)
        own = [offering.cost for offering in each.type.offerings if _is_of(each, offering.zone, offering.capacity_type)]
        if own:
            prices[each.type.name] = min(*own, prices[each.type.name] or inf)
    price = min((prices[type_.name] for type_ in claim.types if type_.name in prices), default=inf)
    return claim.keep_cheaper(price) is None and bool(claim.types)


def _is_of(candidate: Candidate, zone: str, capacity_type: str) -> bool:
    labels = candidate.node.labels
    return (labels.get(ZONE), labels.get(CAPACITY_TYPE)) == (zone, capacity_type)


def is_balanced(savings: float, cost: float, totals: Totals) -> bool:
    """Whether a pool with the policy Balanced saves enough per hour for the disruption cost (`balanced.go`)."""
    if totals.price <= 0 or totals.cost <= 0 or savings <= 0:
        return False
    disturbed = cost / totals.cost
    return disturbed == 0 or savings / totals.price / disturbed >= 1 / _BALANCE
