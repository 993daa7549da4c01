"""DynamicResources: the node must have the devices that the pod's claims request (`plugins/dynamicresources`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kwhatif.dra.devices import BINDING_GATES
from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.meta import Model
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.quantity import parse_duration
from kwhatif.kube.model.resource import AllocationResult, DeviceClass, DeviceRequest, ResourceClaim
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.events import ActionType, EventResource
from kwhatif.scheduler.framework.hints import (
    QUEUE,
    QUEUE_SKIP,
    ClusterEventWithHint,
    QueueingHint,
    builtin,
    is_same_pod,
    queue_if,
)
from kwhatif.scheduler.framework.incremental import NormalizesByRange
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer, PostFilterKind, PostFilterResult, Reads, always
from kwhatif.scheduler.framework.scoring import default_normalize
from kwhatif.scheduler.framework.signers import Fragments
from kwhatif.scheduler.framework.status import SKIP, SUCCESS, Code, Status, error, unresolvable
from kwhatif.scheduler.plugins.dynamic_resources.claims import RULES, ClaimRules, extended_resources, user_claims
from kwhatif.scheduler.plugins.dynamic_resources.filtering import ClaimFilter, ClaimLimits
from kwhatif.scheduler.preemption.budgets import Budgets
from kwhatif.scheduler.preemption.evaluator import potential_nodes
from kwhatif.scheduler.preemption.policy import Policy
from kwhatif.scheduler.preemption.victims import VictimSearch
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


def what_is_done(claims: ClaimFilter, cycle: Cycle) -> str:
    """The scheduler's message about the claims that it deallocates for the next attempt; "" if there are none."""
    if claims.idle and claims.idle.isdisjoint(claims.unavailable):
        _look_where_eviction_makes_room(claims, cycle)
    if not claims.idle.isdisjoint(claims.unavailable):
        return "deallocation of ResourceClaim completed"
    if claims.extended is not None and claims.extended.left_over is not None:
        return "deletion of ResourceClaim completed"
    return ""


def _look_where_eviction_makes_room(claims: ClaimFilter, cycle: Cycle) -> None:
    """Also run the filter on nodes that other filters reject, unless pods are evicted there.

    kube-scheduler runs this PostFilter before preemption. A claim may be the only obstacle that remains after
    evictions; kube-scheduler then reports in every attempt that no deallocation helps. Here such claims count.
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


#: The maximum number of alternatives of a request (`FirstAvailableDeviceRequestMaxSize`).
_MAX_ALTERNATIVES = 8


def prefers(claims: Sequence[ResourceClaim]) -> bool:
    """Whether any request has alternatives."""
    return any(request.first_available for claim in claims for request in claim.spec.devices.requests)


class Preference(NormalizesByRange, NodeScorer):
    """8 points for each request that gets its first alternative, 7 for the second, and so on."""

    reads = Reads.NODE

    def __init__(self, claims: ClaimFilter) -> None:
        self._claims = claims

    def score(self, node: NodeInfo) -> int:
        """The sum over all claims, including those that were already allocated."""
        new = self._claims.allocations(node)
        if new is None:
            return 0
        pending = iter(new)
        return sum(_points(claim, claim.status.allocation or next(pending)) for claim in self._claims.claims)

    def normalize(self, scores: list[int], nodes: Sequence[NodeInfo]) -> list[int]:
        """100 for the best node."""
        return default_normalize(scores)


def _points(claim: ResourceClaim, allocation: AllocationResult) -> int:
    given = {result.request for result in allocation.devices.results}
    return sum(
        _MAX_ALTERNATIVES - index
        for request in claim.spec.devices.requests
        for index, alternative in enumerate(request.first_available)
        if f"{request.name}/{alternative.name}" in given
    )


#: Events of nodes: added, labels changed, and since 1.34 allocatable changed.
NODE = ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
NODE_UNTIL_133 = ActionType.ADD | ActionType.UPDATE_NODE_LABEL
#: Events of claims: added, changed, and since 1.37 deleted.
CLAIM = ActionType.ADD | ActionType.UPDATE
CLAIM_SINCE_137 = CLAIM | ActionType.DELETE


def events_to_register(node: ActionType = NODE, claim: ActionType = CLAIM) -> Sequence[ClusterEventWithHint]:
    """Changes of nodes and of claims; a class or a slice is added or changes."""
    change = ActionType.ADD | ActionType.UPDATE
    return (
        builtin(EventResource.NODE, node),
        builtin(EventResource.RESOURCE_CLAIM, claim, _after_claim_change),
        builtin(EventResource.POD, ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM, _after_pod_change),
        builtin(EventResource.DEVICE_CLASS, change),
        builtin(EventResource.RESOURCE_SLICE, change),
    )


def _after_claim_change(
    pod: PodInfo, old: ResourceClaim | None, new: ResourceClaim | None, cluster: Cluster
) -> QueueingHint:
    """One of the pod's claims changed, or any claim was deallocated; and all claims of the pod exist."""
    was_allocated = old is not None and old.status.allocation is not None
    if new is None:
        return queue_if(was_allocated)
    claims = user_claims(pod, cluster)
    if isinstance(claims, Status):
        return QUEUE_SKIP
    if was_allocated and new.status.allocation is None:
        return QUEUE
    if not any(_is_same(claim, new) for claim in claims):
        return QUEUE_SKIP
    return queue_if(old is None or old.status != new.status)


def _is_same(claim: ResourceClaim, other: ResourceClaim) -> bool:
    one, two = claim.metadata, other.metadata
    return one.uid == two.uid if one.uid or two.uid else (one.namespace, one.name) == (two.namespace, two.name)


def _after_pod_change(pod: PodInfo, _old: Pod | None, new: Pod, cluster: Cluster) -> QueueingHint:
    """The pod itself now has all its claims."""
    return queue_if(is_same_pod(pod, new) and not isinstance(user_claims(PodInfo(new), cluster), Status))


__all__ = ["DynamicResources", "DynamicResourcesArgs"]

#: Search steps per nanosecond: 200,000 per second, about the speed of kwhatif. kube-scheduler is twice as fast.
_STEPS_PER_NANOSECOND = 200_000 / 1_000_000_000


class DynamicResourcesArgs(Model):
    """`DynamicResourcesArgs`: two Go durations.

    The defaults are 10 s and 10 min if their feature gates are on (`defaults.go`). kwhatif does not measure time:
    `filter_timeout` (0: no timeout) becomes a maximum number of search steps on one node. Beyond it the search ends
    with kube-scheduler's error. `binding_timeout` is compared with the time at which the cluster was read.
    """

    filter_timeout: str | None = None
    binding_timeout: str | None = None


class DynamicResources:
    """Finds or allocates the devices that a pod claims; a pod waits until all its claims exist."""

    name: ClassVar[str] = "DynamicResources"
    #: Score fails if PreFilter is disabled, and has nothing to score if Filter is disabled.
    scores_what_filter_found: ClassVar[bool] = True
    post_filter_kind: ClassVar[PostFilterKind] = PostFilterKind.REPORTS

    #: Differences of the release.
    rules: ClassVar[ClaimRules] = RULES
    #: Which changes of nodes and of claims queue the pod.
    events: ClassVar[tuple[ActionType, ActionType]] = (NODE, CLAIM)

    def __init__(self, args: DynamicResourcesArgs | None = None, *, gates: Gates = BASE_GATES) -> None:
        self.args = args = args or DynamicResourcesArgs()
        self._gates = gates
        self._binding_timeout = parse_duration(args.binding_timeout or "600s") if gates >= BINDING_GATES else None
        limit = parse_duration(args.filter_timeout or "10s") if "DRASchedulerFilterTimeout" in gates else 0
        self._tries = int(limit * _STEPS_PER_NANOSECOND) or None

    def pre_enqueue(self, pod: PodInfo, state: State) -> Status:
        """The pod waits until all its claims exist."""
        found = user_claims(pod, state.cluster, self.rules)
        return found if isinstance(found, Status) else SUCCESS

    def pre_filter(self, pod: PodInfo, state: State) -> NodeFilter | Status:
        """Find the claims, and check that their device classes exist."""
        cluster = state.cluster
        claims = user_claims(pod, cluster, self.rules)
        if isinstance(claims, Status):
            return claims
        extended = extended_resources(pod, cluster, self._gates, self.rules)
        if not claims and extended is None:
            return SKIP
        for claim in claims:
            problem = _problem(claim, cluster, self._gates) if claim.status.allocation is None else None
            if problem is not None:
                return problem
        limits = ClaimLimits(self._tries, self._binding_timeout)
        return ClaimFilter(pod, claims, extended, state, limits, self._gates, self.rules)

    #: Filter fails, because it needs PreFilter's state.
    without_pre_filter = always(error("not found"))

    def post_filter(self, cycle: Cycle) -> PostFilterResult:
        """Report the claims of earlier attempts that the scheduler would deallocate: it helps only the next attempt."""
        if self.name not in cycle.asked:
            # QUIRK: (dynamicresources.go) without PreFilter's state PostFilter fails.
            return PostFilterResult(error("not found"))
        compiled = cycle.compiled.get(self.name)
        if not isinstance(compiled, ClaimFilter):
            said = self.rules.no_claims
        else:
            said = what_is_done(compiled, cycle) or self.rules.no_help
        return PostFilterResult(Status(Code.UNSCHEDULABLE, (said,) if said else ()))

    def sign(self, pod: PodInfo, state: State) -> Fragments | None:
        """Pods with claims cannot be signed."""
        return None if pod.pod.spec.resource_claims else {}

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """The events of this release."""
        return events_to_register(*self.events)

    def pre_score(self, pod: PodInfo, state: State, nodes: Sequence[NodeInfo]) -> NodeScorer | Status:
        """SKIP unless a request has alternatives: upstream then gives every node the score 0."""
        compiled = self.pre_filter(pod, state) if pod.pod.spec.resource_claims else SKIP
        if not isinstance(compiled, ClaimFilter) or not compiled.allocates or not prefers(compiled.claims):
            return SKIP
        return Preference(compiled)


class DynamicResourcesDisabled:
    """The plugin up to 1.36, if a configuration enables it by name while its feature gate is off."""

    name: ClassVar[str] = "DynamicResources"

    #: No pod waits, no node is rejected, and all nodes have the same score.
    pre_enqueue = without_pre_filter = always(SUCCESS)
    pre_filter = pre_score = always(SKIP)

    def post_filter(self, cycle: Cycle) -> PostFilterResult:
        """The message of a plugin that does nothing."""
        return PostFilterResult(Status(Code.UNSCHEDULABLE, ("plugin disabled",)))

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """It rejects no pod."""
        return ()


def _problem(claim: ResourceClaim, cluster: Cluster, gates: Gates) -> Status | None:
    for request in claim.spec.devices.requests:
        if request.exactly is None and request.first_available and "DRAPrioritizedList" not in gates:
            why = "has subrequests, but the DRAPrioritizedList feature is disabled"
            return unresolvable(f"resource claim {key_of(claim)}, request {request.name}: {why}")
        if request.exactly is None and not request.first_available:
            return unresolvable(f"resource claim {key_of(claim)}, request {request.name}: unknown request type")
        for path, class_name in _classes(request):
            if not class_name:
                return error(f"request {path}: unsupported request type")
            if cluster.get(DeviceClass, class_name) is None:
                return unresolvable(f"request {path}: device class {class_name} does not exist")
    return None


def _classes(request: DeviceRequest) -> list[tuple[str, str]]:
    """(path, class) of the request, or of each of its alternatives."""
    if request.exactly is not None:
        return [(request.name, request.exactly.device_class_name)]
    return [(f"{request.name}/{sub.name}", sub.device_class_name) for sub in request.first_available]
