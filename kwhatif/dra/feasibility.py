"""Predicts that a search will fail, without searching.

Upstream tries every combination of devices before it gives up. If only the number of devices matters, the result
follows from that number. It is the same result, except that kube-scheduler may not find it within its `filterTimeout`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kwhatif.dra.devices import PoolDevice
from kwhatif.dra.partial_allocation import PartialAllocation, PooledDevice
from kwhatif.dra.requests import AllocationError, ClaimToAllocate, Request, RequestKey
from kwhatif.dra.rules import AllocatorRules
from kwhatif.kube.matching.node_selector import SelectedNode
from kwhatif.kube.matching.tolerations import first_untolerated

#: The most devices of a claim (`AllocationResultsMaxSize`).
MAX_DEVICES = 32

#: Index of a claim, and of a request in it.
RequestPlace = tuple[int, int]


class Task(NamedTuple):
    """The search: devices for claims on one node."""

    node: SelectedNode
    candidates: Sequence[PooledDevice]
    claims: Sequence[ClaimToAllocate]
    #: What is allocated, and what the search has taken; changes with every step.
    so_far: PartialAllocation
    #: The devices of each request for all devices.
    devices_of: Mapping[RequestKey, Sequence[PooledDevice]]
    rules: AllocatorRules


class FeasibilityBound:
    """Counts the devices that are left for each request during a search."""

    def __init__(self, task: Task) -> None:
        node, candidates, claims, so_far, devices_of, rules = task
        self._so_far = so_far
        self._requests = [
            (place, index, alternatives)
            for place, claim in enumerate(claims)
            for index, alternatives in enumerate(claim.requests)
        ]
        self._needed: dict[RequestKey, int] = {}
        self._usable: dict[RequestKey, list[PoolDevice]] = {}
        #: Whether devices are taken one by one, whole, and no error ends the search: its outcome can be foreseen.
        self.is_clear = not (rules.forgets_alternative and any(map(_has_later_all, claims))) and all(
            _is_plain(device) and not pool.problem for pool, device in candidates
        )
        for request in _all_requests(claims) if self.is_clear else ():
            fixed = devices_of.get(request.key)
            self._needed[request.key] = len(fixed) if fixed is not None else request.count or 0
            try:
                self._usable[request.key] = [
                    device for _, device in candidates if _can_serve(request, device, node, so_far)
                ]
            except AllocationError:
                self.is_clear = False
                break
        self.is_clear = self.is_clear and all(map(self._is_small_and_free, claims))

    def _is_small_and_free(self, claim: ClaimToAllocate) -> bool:
        """Whether neither the maximum size of a claim nor a failing constraint can end the search in another way."""
        largest = (max(self._needed[request.key] for request in alternatives) for alternatives in claim.requests)
        wants_all = any(request.count is None for alternatives in claim.requests for request in alternatives)
        return sum(largest) <= MAX_DEVICES and not (wants_all and claim.constraints)

    def hopeless(self, start: RequestPlace = (0, 0)) -> RequestPlace | None:
        """The first request from `start` on for which too few devices are left; None: there may be a solution."""
        if not self.is_clear:
            return None
        for claim, index, alternatives in self._requests:
            if (claim, index) >= start and not any(self._is_possible(claim, request) for request in alternatives):
                return claim, index
        return None

    def excludes(self, claim: int, request: Request) -> bool:
        """Whether too few devices are left for this request, or alternative."""
        return self.is_clear and not self._is_possible(claim, request)

    def _is_possible(self, claim: int, request: Request) -> bool:
        needed, usable, in_use = self._needed[request.key], self._usable[request.key], self._so_far.in_use
        if len(usable) < needed or not needed:
            return False
        return sum([not in_use(claim, request, device) for device in usable]) >= needed


def _has_later_all(claim: ClaimToAllocate) -> bool:
    """Whether an alternative other than the first one requests all devices."""
    return any(request.count is None for alternatives in claim.requests for request in alternatives[1:])


def _is_plain(device: PoolDevice) -> bool:
    """Whether the device is taken as a whole and independently of others, so that it can be counted."""
    return not device.shared and not device.counters


def _can_serve(request: Request, device: PoolDevice, node: SelectedNode, so_far: PartialAllocation) -> bool:
    return (
        request.selects(device, node)
        and so_far.has_room(request, device)
        and device.takable
        and first_untolerated(device.taints, request.tolerations) is None
    )


def _all_requests(claims: Sequence[ClaimToAllocate]) -> Iterator[Request]:
    return (request for claim in claims for alternatives in claim.requests for request in alternatives)
