"""The devices that one attempt has taken (`allocateDevice` in `allocator_incubating.go`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kwhatif.dra import capacity
from kwhatif.dra.allocated import AllocatedDevices
from kwhatif.dra.constraints import make_constraints
from kwhatif.dra.counters import AvailableCounters, ConsumedCounters
from kwhatif.dra.devices import DeviceId, PoolDevice
from kwhatif.dra.pools import Pool
from kwhatif.dra.requests import AllocationError, ClaimToAllocate, Request
from kwhatif.dra.rules import BASE_RULES, AllocatorRules
from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.matching.tolerations import first_untolerated

#: A device and the pool that it is taken from.
PooledDevice = tuple[Pool, PoolDevice]


class Taken(NamedTuple):
    """A device taken for a request and, if it is shared, the consumed capacity."""

    request: Request
    pool: Pool
    device: PoolDevice
    consumed: Mapping[str, int]
    #: Whether its pool's counters were counted, and whether this attempt had already taken another share of it.
    counted: bool
    beside: bool


class PartialAllocation:
    """The devices taken for claims; the search takes more, and gives some back.

    Claims are identified by their index among the claims of the pod.
    """

    def __init__(
        self,
        claims: Sequence[ClaimToAllocate],
        allocated: AllocatedDevices,
        available: AvailableCounters,
        gates: Gates = BASE_GATES,
        rules: AllocatorRules = BASE_RULES,
    ) -> None:
        self._counts_capacity = "DRAConsumableCapacity" in gates
        self._rules = rules
        self._allocated = allocated
        self._counters = ConsumedCounters(available)
        self._constraints = [make_constraints(claim.constraints, rules) for claim in claims]
        #: Device -> the claims that have taken it as a whole.
        self._whole: dict[DeviceId, set[int]] = {}
        #: The consumption of the taken shares; every device with shares has an entry.
        self._shares: dict[DeviceId, dict[str, int]] = {}
        #: By claim, in the order in which devices were taken.
        self.taken: list[list[Taken]] = [[] for _ in claims]

    def in_use(self, claim: int, request: Request, device: PoolDevice) -> bool:
        """Whether the request cannot take the device; admin access can share any device, but only once per claim."""
        if request.admin:
            return claim in self._whole.get(device.id, ())
        return device.id in self._allocated.whole or bool(self._whole.get(device.id))

    def is_among_all(self, request: Request, device: PoolDevice) -> bool:
        """Whether a request for all devices includes the device."""
        if not self._counts_capacity or not self._rules.all_by_size:
            return self.has_room(request, device)
        return capacity.fits(device.model.capacity, request.capacity, {}, {})

    def has_room(self, request: Request, device: PoolDevice) -> bool:
        """Whether the device has enough capacity for the request, beside its current users."""
        if not self._counts_capacity:
            return True
        used, sharing = self._allocated.shared.get(device.id, {}), self._shares.get(device.id, {})
        return capacity.fits(device.model.capacity, request.capacity, used, sharing)

    def take(self, claim: int, request: Request, pool: Pool, device: PoolDevice) -> bool:
        """Take the device if that is possible; returns whether it was taken.

        QUIRK: (allocator_incubating.go, allocateDevice) up to 1.36 what an earlier check has counted stays counted if a
        later check rejects the device: its counters if it is tainted or violates a constraint, its constraints if there
        is not enough capacity.

        Raises:
            AllocationError: a constraint rejects a device of a request for all devices.
        """
        if self.in_use(claim, request, device) or not device.takable:
            return False
        counts = self._counts(device)
        if counts and not self._counters.consume(pool, device):
            return False
        if first_untolerated(device.taints, request.tolerations) is not None or not self._constrain(
            claim, request, device
        ):
            self._take_back(pool, device, counted=counts)
            return False
        if not device.shared:
            self._whole.setdefault(device.id, set()).add(claim)
        if not self.has_room(request, device):
            if self._rules.keeps_books:
                self._forget(claim, request, device)
            self._take_back(pool, device, counted=counts)
            return False
        beside = device.id in self._shares
        consumed = self._share(request, device) if device.shared else {}
        self.taken[claim].append(Taken(request, pool, device, consumed, counts, beside))
        return True

    def _counts(self, device: PoolDevice) -> bool:
        """Whether its counters must be checked; a shared device is counted with its first share."""
        if not device.counters or self._rules.counters_by_slice:
            return bool(device.counters)
        known = self._allocated.shared if self._rules.keeps_books else self._allocated.consumed
        return not (device.shared and (device.id in known or device.id in self._shares))

    def _take_back(self, pool: Pool, device: PoolDevice, *, counted: bool) -> None:
        """Uncount a device that was rejected after it was counted."""
        if counted and self._rules.keeps_books:
            self._counters.give_back(pool, device)

    def _forget(self, claim: int, request: Request, device: PoolDevice) -> None:
        for constraint in self._constraints[claim]:
            constraint.remove(request)
        if not device.shared:
            self._whole[device.id].discard(claim)

    def _constrain(self, claim: int, request: Request, device: PoolDevice) -> bool:
        constraints = self._constraints[claim]
        for index, constraint in enumerate(constraints):
            if constraint.add(request, device):
                continue
            if request.count is None:
                raise AllocationError(
                    f"claim {request.claim}, request {request.name}: cannot add device {device.id} because a claim"
                    " constraint would not be satisfied"
                )
            for earlier in constraints[:index]:
                earlier.remove(request)
            return False
        return True

    def _share(self, request: Request, device: PoolDevice) -> Mapping[str, int]:
        consumed = capacity.consumed_by(device.model.capacity, request.capacity)
        total = self._shares.setdefault(device.id, {})
        for name, amount in consumed.items():
            total[name] = total.get(name, 0) + amount
        return consumed

    def give_back(self, claim: int) -> None:
        """Undo the last `take` of the claim.

        QUIRK: (allocator_incubating.go, allocateDevice) up to 1.36 the counters of a shared device stay counted, and a
        device without any capacity stays shared.
        """
        taken = self.taken[claim].pop()
        device = taken.device
        self._forget(claim, taken.request, device)
        if device.shared:
            self._unshare(taken)
        if taken.counted and (self._rules.keeps_books or not device.shared):
            self._counters.give_back(taken.pool, device)

    def _unshare(self, taken: Taken) -> None:
        device, keeps_books = taken.device, self._rules.keeps_books
        total = self._shares.get(device.id)
        if total is None or not (taken.consumed or keeps_books):
            return
        for name, amount in taken.consumed.items():
            total[name] -= amount
        if not any(total.values()):
            del self._shares[device.id]
            if keeps_books and taken.beside:
                self._shares[device.id] = {}
