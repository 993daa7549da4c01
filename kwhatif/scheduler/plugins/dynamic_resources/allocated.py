"""An allocated claim: where it can be used, and whether other pods use it."""

from __future__ import annotations

from typing import NamedTuple

from kwhatif.kube.matching.node_selector import any_matches, compile_terms
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import parse_time
from kwhatif.kube.model.resource import (
    AllocatedDeviceStatus,
    AllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from kwhatif.scheduler.framework.evidence import BindingFailed, BindingTimedOut, ClaimElsewhere
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo

_SECOND = 1_000_000_000


class BindingClock(NamedTuple):
    """The time of the cluster, and how long devices may take to become ready; in nanoseconds."""

    #: Since the epoch; None if the input does not say when it was taken.
    now: int | None
    #: None: pods do not wait for devices, because the feature gates for that are off.
    binding_timeout: int | None


class AllocatedClaim:
    """An allocated claim of the pod (`Filter` in `dynamicresources.go`)."""

    def __init__(self, claim: ResourceClaim, allocation: AllocationResult, pod: PodInfo, clock: BindingClock) -> None:
        self.key = key_of(claim)
        selector = allocation.node_selector
        self._terms = None if selector is None else compile_terms(selector.node_selector_terms)
        self._devices = allocation.devices.results
        timeout = clock.binding_timeout
        waiting = None if timeout is None else _unready(claim, self._devices)
        since = allocation.allocation_timestamp
        #: Whether its devices are not ready, and it is not known how long the pod has waited for them.
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
    """Whether the scheduler has stopped waiting (`isClaimTimeout`)."""
    if waited <= timeout:
        return None
    return BindingTimedOut(claim, device, waited // _SECOND, timeout // _SECOND)


def _name(result: DeviceRequestAllocationResult) -> str:
    return f"{result.driver}/{result.pool}/{result.device}"


def _is_about(status: AllocatedDeviceStatus, result: DeviceRequestAllocationResult) -> bool:
    return (status.driver, status.pool, status.device) == (result.driver, result.pool, result.device)
