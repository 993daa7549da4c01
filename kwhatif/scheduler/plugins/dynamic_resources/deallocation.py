"""DynamicResources' PostFilter: would giving up devices help (`PostFilter` in `dynamicresources.go`)?"""

from __future__ import annotations

from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.plugins.dynamic_resources.filtering import ClaimFilter
from kwhatif.scheduler.preemption.budgets import Budgets
from kwhatif.scheduler.preemption.evaluator import potential_nodes
from kwhatif.scheduler.preemption.policy import Policy
from kwhatif.scheduler.preemption.victims import VictimSearch


def what_is_done(claims: ClaimFilter, cycle: Cycle) -> str:
    """What the scheduler does so that the next attempt may succeed; "" for nothing."""
    if claims.idle and claims.idle.isdisjoint(claims.unavailable):
        _look_where_eviction_makes_room(claims, cycle)
    if not claims.idle.isdisjoint(claims.unavailable):
        return "deallocation of ResourceClaim completed"
    if claims.extended is not None and claims.extended.left_over is not None:
        return "deletion of ResourceClaim completed"
    return ""


def _look_where_eviction_makes_room(claims: ClaimFilter, cycle: Cycle) -> None:
    """Ask nodes, too, that other filters turn down as long as nobody is evicted.

    kube-scheduler's PostFilter runs before eviction is tried: of claims that are only in the way after that it says
    that nothing helps, in vain, attempt after attempt. Here they count, since to give them up is what helps.
    """
    policies = [getattr(plugin, "policy", None) for plugin in cycle.profile.post_filter]
    for policy in policies:
        if not isinstance(policy, Policy) or policy.why_not_eligible(cycle):
            continue
        search = VictimSearch(cycle, policy, Budgets(cycle.state.cluster))
        for node in potential_nodes(cycle):
            search.on(node)
            if not claims.idle.isdisjoint(claims.unavailable):
                return
