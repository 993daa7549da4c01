"""The caveats of one attempt."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.scheduling import (
    BindingNotDated,
    NodeNameSet,
    PreemptionSampling,
    Sampling,
)
from kwhatif.scheduler.framework.attempt import Attempt
from kwhatif.scheduler.framework.guard import unguarded
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.plugins.dynamic_resources import DynamicResources
from kwhatif.scheduler.plugins.dynamic_resources.filtering import ClaimFilter
from kwhatif.scheduler.preemption.candidate import Preemption
from kwhatif.scheduler.preemption.policy import EvictsByPolicy

_MIN_FEASIBLE_NODES = 100


def nodes_looked_for(profile: Profile, nodes: int) -> int:
    """After how many feasible nodes kube-scheduler stops looking (`numFeasibleNodesToFind`)."""
    if nodes < _MIN_FEASIBLE_NODES:
        return nodes
    percentage = profile.percentage_of_nodes_to_score or max(5, 50 - nodes // 125)
    return max(nodes * percentage // 100, _MIN_FEASIBLE_NODES) if percentage < 100 else nodes


def caveats_of(result: Attempt) -> Iterator[Caveat]:
    """Caveats about one attempt."""
    cycle = result.cycle
    pod = cycle.pod
    if pod.pod.spec.node_name:
        yield NodeNameSet(pods=(pod.key,))
    looked_for = nodes_looked_for(cycle.profile, len(cycle.state.nodes))
    if len(cycle.feasible) > looked_for:
        yield Sampling(looked_for=looked_for, nodes=len(cycle.state.nodes))
    yield from (replace(remark, pods=(pod.key,)) for remark in cycle.extenders.remarks)
    devices = cycle.compiled.get(DynamicResources.name)
    for claim in devices.undated if isinstance(devices, ClaimFilter) else ():
        yield BindingNotDated(claim=claim, pods=(pod.key,))
    yield from _preemption_caveats(result)


def _preemption_caveats(result: Attempt) -> Iterator[Caveat]:
    outcome = result.post_filter.outcome if result.post_filter else None
    if not isinstance(outcome, Preemption):
        return
    tried = len(outcome.candidates) + len(outcome.rejected)
    for plugin in map(unguarded, result.cycle.profile.post_filter):
        if isinstance(plugin, EvictsByPolicy):
            enough = plugin.sufficient_candidates(tried)
            if len(outcome.candidates) > enough:
                yield PreemptionSampling(enough=enough, candidates=len(outcome.candidates))
