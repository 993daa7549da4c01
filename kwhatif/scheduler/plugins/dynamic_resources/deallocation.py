"""DynamicResources' PostFilter: deallocates claims if that may help (`PostFilter` in `dynamicresources.go`)."""

from __future__ import annotations

from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.plugins.dynamic_resources.filtering import ClaimFilter
from kwhatif.scheduler.preemption.budgets import Budgets
from kwhatif.scheduler.preemption.evaluator import potential_nodes
from kwhatif.scheduler.preemption.policy import Policy
from kwhatif.scheduler.preemption.victims import VictimSearch


def what_is_done(claims: ClaimFilter, cycle: Cycle) -> str:
    """The scheduler's message about what it deallocates for the next attempt; "" for nothing."""
    if claims.idle and claims.idle.isdisjoint(claims.unavailable):
        _look_where_eviction_makes_room(claims, cycle)
    if not claims.idle.isdisjoint(claims.unavailable):
        return "deallocation of ResourceClaim completed"
    if claims.extended is not None and claims.extended.left_over is not None:
        return "deletion of ResourceClaim completed"
    return ""


def _look_where_eviction_makes_room(claims: ClaimFilter, cycle: Cycle) -> None:
    """Also run the filter on nodes that other filters reject, unless pods are evicted there.

    kube-scheduler's PostFilter runs before preemption: if claims are in the way only after evictions, it reports in
    every attempt that nothing helps. Here such claims count, because deallocating them helps.
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
