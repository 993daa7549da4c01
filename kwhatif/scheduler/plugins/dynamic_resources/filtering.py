"""DynamicResources' Filter and Reserve (`dynamicresources.go`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.dra.allocator import Allocator, InvalidPool, UnsatisfiedRequest
from kwhatif.dra.requests import AllocationError, AllocationTimeout, ClaimToAllocate, compile_claim
from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.matching.nodes import any_matches, compile_terms
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import parse_time
from kwhatif.kube.model.resource import (
    AllocatedDeviceStatus,
    AllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
)
from kwhatif.scheduler.framework.evidence import (
    BindingFailed,
    BindingTimedOut,
    ClaimElsewhere,
    DeviceShortage,
    InvalidDevicePool,
    taint_text,
)
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.status import SUCCESS, Status, error, unresolvable
from kwhatif.scheduler.plugins.dynamic_resources.claims import RULES, ClaimRules, ExtendedResources
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

_SECOND = 1_000_000_000


class BindingClock(NamedTuple):
    """The time at which the cluster was read, and the timeout for devices to become ready; in nanoseconds."""

    #: Since the epoch; None if the input does not record when it was read.
    now: int | None
    #: None: pods do not wait for devices, because the feature gates for that are off.
    binding_timeout: int | None


class AllocatedClaim:
    """An allocated claim of the pod: where it can be used, and whether other pods use it (`Filter`)."""

    def __init__(self, claim: ResourceClaim, allocation: AllocationResult, pod: PodInfo, clock: BindingClock) -> None:
        self.key = key_of(claim)
        selector = allocation.node_selector
        self._terms = None if selector is None else compile_terms(selector.node_selector_terms)
        self._devices = allocation.devices.results
        timeout = clock.binding_timeout
        waiting = None if timeout is None else _unready(claim, self._devices)
        since = allocation.allocation_timestamp
        #: Whether its devices are not ready, and the time that the pod has waited for them is unknown.
        self.undated = isinstance(waiting, str) and since is not None and clock.now is None
        self._failure: BindingFailed | BindingTimedOut | None = None
        if isinstance(waiting, BindingFailed):
            self._failure = waiting
        elif waiting is not None and since is not None and clock.now is not None and timeout is not None:
            self._failure = _timed_out(self.key, waiting, clock.now - parse_time(since), timeout)
        #: Whether only this pod uses it, so that its devices can be exchanged for others.
        users = claim.status.reserved_for
        self.idle = not users or (len(users) == 1 and users[0].uid == pod.uid)

    def objection(self, node: NodeInfo) -> ClaimElsewhere | BindingFailed | BindingTimedOut | None:
        """Why the claim cannot be used on the node; None if it can."""
        if self._terms is not None and not any_matches(self._terms, node):
            return ClaimElsewhere(self.key, tuple(map(_name, self._devices)))
        return self._failure


def _unready(claim: ResourceClaim, results: tuple[DeviceRequestAllocationResult, ...]) -> BindingFailed | str | None:
    """The first device that is not ready, or has failed; None if all are ready (`isClaimReadyForBinding`)."""
    for result in results:
        if not result.binding_conditions:
            continue
        status = next((status for status in claim.status.devices if _is_about(status, result)), None)
        if status is None:
            return _name(result)
        holds = {condition.type: condition.status == "True" for condition in reversed(status.conditions)}
        for failure in result.binding_failure_conditions:
            if holds.get(failure):
                return BindingFailed(key_of(claim), _name(result), failure)
        if not all(holds.get(condition) for condition in result.binding_conditions):
            return _name(result)
    return None


def _timed_out(claim: str, device: str, waited: int, timeout: int) -> BindingTimedOut | None:
    """The timeout, if the scheduler has stopped waiting for the device; otherwise None (`isClaimTimeout`)."""
    if waited <= timeout:
        return None
    return BindingTimedOut(claim, device, waited // _SECOND, timeout // _SECOND)


def _name(result: DeviceRequestAllocationResult) -> str:
    return f"{result.driver}/{result.pool}/{result.device}"


def _is_about(status: AllocatedDeviceStatus, result: DeviceRequestAllocationResult) -> bool:
    return (status.driver, status.pool, status.device) == (result.driver, result.pool, result.device)


class ClaimLimits(NamedTuple):
    """Time limits."""

    #: The maximum number of search steps on one node; None: no limit.
    tries: int | None = None
    #: Nanoseconds that devices may take to become ready; None: pods do not wait for them.
    binding: int | None = None


class ClaimFilter(NodeFilter):
    """Checks the pod's claims against nodes.

    The result depends only on the node, and preemption needs it again, so each node is checked only once.
    """

    reads = Reads.NODE

    def __init__(
        self,
        pod: PodInfo,
        claims: Sequence[ResourceClaim],
        extended: ExtendedResources | None,
        state: State,
        limits: ClaimLimits,
        gates: Gates = BASE_GATES,
        rules: ClaimRules = RULES,
    ) -> None:
        """Compile.

        Args:
            pod: the pod.
            claims: its claims, in order.
            extended: its requests for extended resources that devices provide.
            state: the cluster.
            limits: the time limits.
            gates: the feature gates that are on.
            rules: the differences of the release.
        """
        self._rules = rules
        of_allocator = rules.allocator(gates)
        self._pod = pod
        self.claims = claims
        self.extended = extended
        clock = BindingClock(
            parse_time(taken_at) if (taken_at := state.cluster.facts.taken_at) else None, limits.binding
        )
        self._allocated = [
            AllocatedClaim(claim, claim.status.allocation, pod, clock)
            for claim in claims
            if claim.status.allocation is not None
        ]
        cluster = state.cluster
        self._pending = [
            compile_claim(claim, cluster, gates, of_allocator) for claim in claims if claim.status.allocation is None
        ]
        #: Whether the pod needs devices that it does not have yet.
        self.allocates = bool(self._pending) or extended is not None
        self._allocator = Allocator(cluster, limits.tries, gates, of_allocator) if self.allocates else None
        self._verdicts: dict[str, Status] = {}
        #: By node: the allocations of the pending claims; the one for extended resources is the last.
        self._allocations: dict[str, tuple[AllocationResult, ...]] = {}
        #: Keys of allocated claims that some node cannot use.
        self.unavailable: set[str] = set()

    @property
    def idle(self) -> frozenset[str]:
        """Keys of allocated claims that no other pod uses."""
        return frozenset(claim.key for claim in self._allocated if claim.idle)

    @property
    def undated(self) -> tuple[str, ...]:
        """Keys of claims whose devices are not ready, where the time that the pod has waited is unknown."""
        return tuple(claim.key for claim in self._allocated if claim.undated)

    def filter(self, node: NodeInfo) -> Status:
        """Allocated claims must be usable on the node; for all others the node must have devices."""
        verdict = self._verdicts.get(node.name)
        if verdict is None:
            verdict = self._verdicts[node.name] = self._judge(node)
        return verdict

    def _judge(self, node: NodeInfo) -> Status:
        claims = self._pending
        if self.extended is not None:
            names = self.extended.on(node)
            if isinstance(names, Status):
                return names
            if not names and not self.claims:
                return SUCCESS  # the node provides everything without devices
            claims = [*claims, self.extended.claim_for(names)]
        objections = [(claim, objection) for claim in self._allocated if (objection := claim.objection(node))]
        if self._allocator is not None:
            refusal = self._allocate(self._allocator, node, claims)
            if refusal is not None:
                return refusal
        if objections:
            self.unavailable.update(claim.key for claim, _ in objections)
            evidence = (objection for _, objection in objections)
            return unresolvable("resourceclaim not available on the node", *evidence)
        return SUCCESS

    def _allocate(self, allocator: Allocator, node: NodeInfo, claims: Sequence[ClaimToAllocate]) -> Status | None:
        try:
            found = allocator.allocate(node, claims)
        except AllocationTimeout as late:
            # Up to 1.35 only the node is rejected, and the attempt continues.
            return error(f"node {node.name}: {late}") if self._rules.timeout_is_error else unresolvable(str(late))
        except AllocationError as broken:
            return error(str(broken))
        if isinstance(found, UnsatisfiedRequest):
            return unresolvable("cannot allocate all claims", _shortage(found))
        if isinstance(found, InvalidPool):
            return unresolvable("invalid resource pools were encountered", InvalidDevicePool(*found))
        self._allocations[node.name] = found
        return None

    def allocations(self, node: NodeInfo) -> tuple[AllocationResult, ...] | None:
        """The allocations of the pending claims on the node; None if there are none."""
        self.filter(node)
        return self._allocations.get(node.name)

    def reserve(self, node: NodeInfo, state: State) -> Iterator[ResourceClaim]:
        """Allocate the claims, and reserve them for the pod, as Reserve and PreBind do.

        Upstream's PreBind waits for devices that must be prepared; here they are ready at once.
        """
        user = ResourceClaimConsumerReference(resource="pods", name=self._pod.name, uid=self._pod.uid)
        new = iter(self.allocations(node) or ())
        for claim in self.claims:
            if claim.status.allocation is None:
                yield _used(claim, next(new), user)
            elif all(other.uid != user.uid for other in claim.status.reserved_for):
                yield _used(claim, claim.status.allocation, user)
        names = self.extended.on(node) if self.extended is not None else ()
        if self.extended is not None and names and not isinstance(names, Status):
            made = self.extended.make_claim(f"{self._pod.name}-extended-resources", names)
            yield _used(made, next(new), user)


def _shortage(found: UnsatisfiedRequest) -> DeviceShortage:
    texts = dict.fromkeys(map(taint_text, found.taints))
    return DeviceShortage(
        found.claim, found.request, found.wanted, found.matching, found.free, found.tainted, tuple(texts)
    )


def _used(claim: ResourceClaim, allocation: AllocationResult, user: ResourceClaimConsumerReference) -> ResourceClaim:
    users = (*claim.status.reserved_for, user)
    return replace(claim, status=replace(claim.status, allocation=allocation, reserved_for=users))
