"""Nodes that may be disrupted, and how many of a pool (`disruption/types.go`, `helpers.go`, `utils/disruption`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from kwhatif.autoscaler.karpenter.instance_types import InstanceType
from kwhatif.autoscaler.karpenter.nodes import DO_NOT_DISRUPT, StateNode, World, is_true
from kwhatif.autoscaler.karpenter.pods import is_daemon, is_disruptable, is_reschedulable
from kwhatif.autoscaler.karpenter.requirements import CAPACITY_TYPE, INSTANCE_TYPE, NODE_POOL
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
#: What each node costs to drain, whatever runs on it.
NODE_COST = 1.0
_MOST_COST = 10.0
_UNBOUNDED = 2**31 - 1


class Events:
    """What Karpenter says about nodes, once each."""

    def __init__(self) -> None:
        self.by_node: dict[str, dict[str, None]] = {}

    def add(self, node: StateNode, reason: str, message: str) -> None:
        """Say it of the node."""
        name = node.name if node.node is None else node.node.metadata.name
        self.by_node.setdefault(name, {})[f"{reason}: {message}"] = None


def eviction_cost(pod: Pod) -> float:
    """What it costs to evict the pod, between -10 and 10 (`EvictionCost`)."""
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
        #: What an hour costs; 0 where that is not known.
        self.price = _price(node, type_)
        self.cost = NODE_COST + sum(max(0.0, eviction_cost(pod)) for pod in self.pods)

    @property
    def is_empty(self) -> bool:
        """Whether no pod on it counts."""
        return self.cost <= NODE_COST

    @property
    def savings_ratio(self) -> float:
        """What is saved for what is disturbed."""
        return self.price / self.cost


def _price(node: StateNode, type_: InstanceType | None) -> float:
    if type_ is None:
        return 0.0
    return type_.price_at(node.labels.get(ZONE, ""), node.labels.get(CAPACITY_TYPE, "")) or 0.0


def is_static(pool: NodePool) -> bool:
    """Whether the pool has a fixed number of nodes."""
    return pool.spec.replicas is not None


class Candidates:
    """Finds candidates, and says why nodes are none (`NewCandidate`)."""

    def __init__(self, world: World, events: Events) -> None:
        self._world = world
        self._events = events
        self._pools = world.cluster.all(NodePool)
        self._types = {type_.name: type_ for type_ in world.catalogue.types}

    def find(self, now: int, is_wanted: Callable[[Candidate], bool], *, eventual: bool = False) -> list[Candidate]:
        """Those that are wanted, by name; `eventual`: pods block only as long as the node's grace period."""
        return [each for each in self.all(now, eventual=eventual) if is_wanted(each)]

    def all(self, now: int, *, eventual: bool = False) -> list[Candidate]:
        """All nodes that could be disrupted."""
        found = [self._candidate(node, now, eventual=eventual) for node in self._world.nodes]
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
            keys = self._world.budgets.blocking(pod, now)
            if keys is not None:
                shown = " ".join(keys)
                if len(keys) > 1:
                    return f"eviction does not support multiple PDBs (PodDisruptionBudget(s)=[{shown}])"
                return f"pdb prevents pod evictions (PodDisruptionBudget=[{shown}])"
        return ""


def _node_objection(node: StateNode) -> str:
    """Why the node itself is not to be disrupted (`ValidateNodeDisruptable`)."""
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
    """Those that save the most for what they disturb first (`sortCandidates`)."""
    ordered = list(candidates)
    go_sort(ordered, lambda one, other: one.savings_ratio > other.savings_ratio)
    return ordered


def interwoven(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The first of each pool, then the second, and so on (`shuffleCandidates`); pools by name."""
    rank: dict[str, int] = {}
    placed = []
    for each in candidates:
        rank[each.pool_name] = rank.get(each.pool_name, -1) + 1
        placed.append((rank[each.pool_name], each.pool_name, each))
    return [each for _, _, each in sorted(placed, key=lambda entry: entry[:2])]


# --- budgets ---------------------------------------------------------------------------------------------------------


def allowed(world: World, reason: str, now: int) -> dict[str, int]:
    """How many nodes of each pool may go now for that reason (`BuildDisruptionBudgetMapping`)."""
    total: dict[str, int] = {}
    disrupted: dict[str, int] = {}
    for node in world.nodes:
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
        for name, pool in world.cluster.all(NodePool).items()
    }


def _is_ready(node: StateNode) -> bool:
    conditions = node.node.status.conditions if node.node is not None else ()
    return next((each.status == "True" for each in conditions if each.type == "Ready"), False)


def _of_budgets(budgets: Iterable[DisruptionBudget], nodes: int, reason: str, now: int) -> int:
    """The least that any active budget allows; a budget that cannot be read allows nothing for any reason."""
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
    """How many it allows.

    Raises:
        ValueError: its number, or its duration, cannot be read.
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
    """What a pool costs, and what draining all of it would disturb (`NodePoolTotals`)."""

    price: float
    cost: float


def pool_totals(world: World, candidates: Iterable[Candidate]) -> dict[str, Totals]:
    """The totals of pools that have candidates: nodes that are none count to what would be disturbed."""
    by_name = {each.name: each for each in candidates}
    prices: dict[str, float] = {}
    costs: dict[str, float] = {}
    for each in by_name.values():
        prices[each.pool_name] = prices.get(each.pool_name, 0.0) + each.price
    for node in world.nodes:
        if node.pool is not None:
            known = by_name.get(node.name)
            cost = _node_cost(node) if known is None else known.cost
            costs[node.pool] = costs.get(node.pool, 0.0) + cost
    return {name: Totals(price, costs.get(name, 0.0)) for name, price in prices.items()}


def _node_cost(node: StateNode) -> float:
    return NODE_COST + sum(max(0.0, eviction_cost(pod)) for pod in node.pods if not is_daemon(pod))
