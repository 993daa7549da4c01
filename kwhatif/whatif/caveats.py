"""What a decision leaves out: said in the report, never passed over in silence."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.framework.attempt import Attempt
from kwhatif.framework.guard import GuardedPlugin, unguarded
from kwhatif.framework.profile import Profile
from kwhatif.model.missing import Missing
from kwhatif.plugins.dynamic_resources import DynamicResources
from kwhatif.plugins.dynamic_resources.filtering import ClaimFilter
from kwhatif.plugins.pod_topology_spread import PodTopologySpread
from kwhatif.preemption.candidate import Preemption
from kwhatif.preemption.policy import EvictsByPolicy
from kwhatif.state.pod_info import PodInfo
from kwhatif.whatif.extender_caveats import extender_caveats

_MIN_FEASIBLE_NODES = 100


BATCHED = (
    "where spreading by default is off, kube-scheduler may place equal pods by the ranking that it made for the first"
    " of them (OpportunisticBatching, on by default); kwhatif ranks the nodes for each, so another one may be taken"
)


def may_be_batched(profile: Profile, pod: PodInfo) -> bool:
    """Whether pods like this one have a signature (`SignPod` of each plugin); with plugins of your own none has."""
    if pod.pod.spec.topology_spread_constraints or pod.pod.spec.resource_claims or pod.has_affinity:
        return False
    return not any(
        isinstance(plugin, GuardedPlugin) or (isinstance(plugin, PodTopologySpread) and plugin.has_defaults)
        for plugin in profile.plugins
    )


def nodes_looked_for(profile: Profile, nodes: int) -> int:
    """After how many feasible nodes kube-scheduler stops looking (`numFeasibleNodesToFind`)."""
    if nodes < _MIN_FEASIBLE_NODES:
        return nodes
    percentage = profile.percentage_of_nodes_to_score or max(5, 50 - nodes // 125)
    return max(nodes * percentage // 100, _MIN_FEASIBLE_NODES) if percentage < 100 else nodes


def caveats_of(result: Attempt) -> Iterator[str]:
    """Caveats about one attempt."""
    cycle = result.cycle
    pod = cycle.pod
    if pod.pod.spec.node_name:
        yield (f"{pod.key} sets spec.nodeName: applied so it never meets the scheduler; judged as if it were pending")
    looked_for = nodes_looked_for(cycle.profile, len(cycle.snapshot.nodes))
    if len(cycle.feasible) > looked_for:
        yield (
            f"kube-scheduler stops looking after {looked_for} feasible nodes of {len(cycle.snapshot.nodes)}"
            " (percentageOfNodesToScore); kwhatif looked at all, so a node that scores lower may be taken"
        )
    devices = cycle.compiled.get(DynamicResources.name)
    for claim in devices.undated if isinstance(devices, ClaimFilter) else ():
        yield Missing(
            f"ResourceClaim {claim} waits for its devices, and the input does not say when it was taken: whether"
            " bindingTimeout has passed, and the devices are given up, is not known"
        )
    yield from extender_caveats(pod.key, cycle.extenders.remarks)
    yield from _preemption_caveats(result)


def _preemption_caveats(result: Attempt) -> Iterator[str]:
    outcome = result.post_filter.outcome if result.post_filter else None
    if not isinstance(outcome, Preemption):
        return
    tried = len(outcome.candidates) + len(outcome.rejected)
    for plugin in map(unguarded, result.cycle.profile.post_filter):
        if isinstance(plugin, EvictsByPolicy):
            enough = plugin.sufficient_candidates(tried)
            if len(outcome.candidates) > enough:
                yield (
                    f"kube-scheduler stops after {enough} preemption candidates, from a random node on; kwhatif"
                    f" compared all {len(outcome.candidates)}, so a worse one may be taken"
                )
