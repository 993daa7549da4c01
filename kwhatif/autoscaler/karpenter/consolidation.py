"""Whether it is worth it that nodes go, and what comes in their place (`consolidation.go`, `balanced.go`)."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import NamedTuple

from kwhatif.autoscaler.karpenter.candidates import Candidate, Totals
from kwhatif.autoscaler.karpenter.claims import NewClaim
from kwhatif.autoscaler.karpenter.requirements import CAPACITY_TYPE, ON_DEMAND, SPOT
from kwhatif.kube.model.node import ZONE

#: A balanced pool gives up at most twice as large a part of its pods as it saves of its cost.
_BALANCE = 2
#: A single spot node goes for another only where there are as many cheaper types: else it would go again and again.
_CHEAPER_SPOT_TYPES = 15


class Command(NamedTuple):
    """Nodes that go together, and the NodeClaim that comes in their place, if one does."""

    candidates: list[Candidate]
    replacements: list[NewClaim]

    @property
    def savings(self) -> float:
        """What is saved an hour, as far as prices are known (`EstimatedSavings`)."""
        return prices_of(self.candidates) - sum(claim.cheapest_price or 0.0 for claim in self.replacements)


def prices_of(candidates: Iterable[Candidate]) -> float:
    """What the nodes cost an hour, all together."""
    return sum(each.price for each in candidates)


def replaced(candidates: list[Candidate], claim: NewClaim, *, spot_to_spot: bool) -> Command | str:
    """The command that puts this one NodeClaim in the place of the nodes, or why it is not worth it.

    Args:
        candidates: the nodes that would go.
        claim: what takes their pods; types that do not cost less are taken from it.
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
        # Cheaper it is only as spot: rather than on demand it is not launched at all.
        claim.only_spot()
    return Command(candidates, [claim])


def is_sensible(command: Command) -> bool:
    """Whether a replacement is not just one of the nodes that go (`filterOutSameInstanceType`)."""
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
    most = min((prices[type_.name] for type_ in claim.types if type_.name in prices), default=inf)
    return claim.keep_cheaper(most) is None and bool(claim.types)


def _is_of(candidate: Candidate, zone: str, capacity_type: str) -> bool:
    labels = candidate.node.labels
    return (labels.get(ZONE), labels.get(CAPACITY_TYPE)) == (zone, capacity_type)


def is_balanced(savings: float, cost: float, totals: Totals) -> bool:
    """Whether a pool that balances saves enough, per hour, for what is disturbed (`balanced.go`)."""
    if totals.price <= 0 or totals.cost <= 0 or savings <= 0:
        return False
    disturbed = cost / totals.cost
    return disturbed == 0 or savings / totals.price / disturbed >= 1 / _BALANCE
