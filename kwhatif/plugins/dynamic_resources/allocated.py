"""A claim that has its devices already: where it can be used, and whether anybody needs it there."""

from __future__ import annotations

from kwhatif.framework.evidence import BindingFailed, ClaimElsewhere
from kwhatif.matching.node_selector import any_matches, compile_terms
from kwhatif.model.cluster import key_of
from kwhatif.model.resource import (
    AllocatedDeviceStatus,
    AllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo


class AllocatedClaim:
    """An allocated claim of the pod (`Filter` in `dynamicresources.go`).

    Devices that are still being prepared are waited for, as long as `bindingTimeout` allows; kwhatif has no clock, and
    takes it that the time is not up.
    """

    def __init__(self, claim: ResourceClaim, allocation: AllocationResult, pod: PodInfo) -> None:
        self.key = key_of(claim)
        selector = allocation.node_selector
        self._terms = None if selector is None else compile_terms(selector.node_selector_terms)
        self._devices = allocation.devices.results
        self._failure = _failure(claim, self._devices)
        #: Nobody but this pod uses it: its devices can be exchanged for others.
        users = claim.status.reserved_for
        self.idle = not users or (len(users) == 1 and users[0].uid == pod.uid)

    def objection(self, node: NodeInfo) -> ClaimElsewhere | BindingFailed | None:
        """Why the claim cannot be used on the node, if so."""
        if self._terms is not None and not any_matches(self._terms, node):
            devices = tuple(f"{result.driver}/{result.pool}/{result.device}" for result in self._devices)
            return ClaimElsewhere(self.key, devices)
        return self._failure


def _failure(claim: ResourceClaim, results: tuple[DeviceRequestAllocationResult, ...]) -> BindingFailed | None:
    """The condition by which the driver gave up, unless a device before it is not ready (`isClaimReadyForBinding`)."""
    for result in results:
        if not result.binding_conditions:
            continue
        status = next((status for status in claim.status.devices if _is_about(status, result)), None)
        if status is None:
            return None
        holds = {condition.type: condition.status == "True" for condition in reversed(status.conditions)}
        for failure in result.binding_failure_conditions:
            if holds.get(failure):
                return BindingFailed(key_of(claim), f"{result.driver}/{result.pool}/{result.device}", failure)
        if not all(holds.get(condition) for condition in result.binding_conditions):
            return None
    return None


def _is_about(status: AllocatedDeviceStatus, result: DeviceRequestAllocationResult) -> bool:
    return (status.driver, status.pool, status.device) == (result.driver, result.pool, result.device)
