"""The devices that one attempt has taken (`allocateDevice` in `allocator_incubating.go`).

Shared capacity follows `consumable_capacity.go`; constraints between devices follow `constraint.go`. All amounts are in
nano-units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kwhatif.dra.devices import DeviceId, PoolDevice
from kwhatif.dra.pools import AllocatedDevices, AvailableCounters, ConsumedCounters, Pool
from kwhatif.dra.requests import BASE_RULES, AllocationError, AllocatorRules, ClaimToAllocate, Request
from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.matching.nodes import first_untolerated
from kwhatif.kube.model.quantity import NANO, parse_quantity, value
from kwhatif.kube.model.resource import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    DeviceAttribute,
    DeviceCapacity,
    DeviceConstraint,
)

_Amounts = Mapping[str, int]


def has_capacity(
    capacities: Mapping[str, DeviceCapacity], requested: _Amounts, used: _Amounts, taken: _Amounts
) -> bool:
    """Whether a device has the requested capacity, beside the amounts `used` by others and `taken` by this attempt.

    If the device is not shared, no capacity is in use, and the request is a minimum size.
    """
    if not requested.keys() <= capacities.keys():
        return False
    for name, capacity in capacities.items():
        amount = consumption(capacity, requested.get(name))
        if _violates(amount, capacity.request_policy):
            return False
        if used.get(name, 0) + taken.get(name, 0) + amount > parse_quantity(capacity.value):
            return False
    return True


def consumed_by(capacities: Mapping[str, DeviceCapacity], requested: _Amounts) -> dict[str, int]:
    """The amount of each capacity of the device that a share for the request consumes."""
    return {name: consumption(capacity, requested.get(name)) for name, capacity in capacities.items()}


def consumption(capacity: DeviceCapacity, requested: int | None) -> int:
    """The consumed amount: the requested amount, rounded up by the policy; without a request, the whole capacity."""
    policy = capacity.request_policy
    if requested is None:
        default = policy.default if policy is not None else None
        return parse_quantity(capacity.value if default is None else default)
    if policy is None:
        return requested
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _round_up(requested, policy.valid_range, parse_quantity(policy.valid_range.min))
    valid = (parse_quantity(text) for text in policy.valid_values)
    return next((amount for amount in valid if requested <= amount), requested)


def _round_up(requested: int, valid_range: CapacityRequestPolicyRange, minimum: int) -> int:
    if requested < minimum:
        return minimum
    if valid_range.step is None:
        return requested
    # Steps are counted in whole units: fractions are rounded up first.
    step, start = value(parse_quantity(valid_range.step)), value(minimum)
    # QUIRK: (consumable_capacity.go) upstream does not check for overflow.
    steps = -(-(value(requested) - start) // step)
    return (start + steps * step) * NANO


def _violates(amount: int, policy: CapacityRequestPolicy | None) -> bool:
    if policy is None or (policy.default is not None and amount == parse_quantity(policy.default)):
        return False
    if policy.valid_range is not None:
        return _out_of_range(amount, policy.valid_range)
    return bool(policy.valid_values) and all(amount != parse_quantity(text) for text in policy.valid_values)


def _out_of_range(amount: int, valid_range: CapacityRequestPolicyRange) -> bool:
    if valid_range.max is not None and amount > parse_quantity(valid_range.max):
        return True
    if valid_range.step is None or valid_range.min is None:
        return False
    step, start = value(parse_quantity(valid_range.step)), value(parse_quantity(valid_range.min))
    return (value(amount) - start) % step != 0


#: The type of an attribute and its value; versions are equal if their texts are equal.
TypedValue = tuple[str, str | int | bool]


class AttributeConstraint:
    """Tracks the devices that are taken; every successful `add` is followed by at most one `remove`."""

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        self._requests = frozenset(requests)
        self._attribute = attribute
        self._devices = 0

    def add(self, request: Request, device: PoolDevice) -> bool:
        """Add the device; False if it does not have the attribute, or has a wrong value."""
        if not self._concerns(request):
            return True
        found = find_attribute(device, self._attribute)
        if found is None or not self._takes(_typed(found), request, device):
            return False
        self._devices += 1
        return True

    def remove(self, request: Request) -> None:
        """Remove the last added device of the request."""
        if self._concerns(request):
            self._devices -= 1
            self._forget(request)

    def _concerns(self, request: Request) -> bool:
        """Whether the constraint applies to the request; a constraint without request names applies to all requests."""
        names = self._requests
        return not names or (request.parent or request.name) in names or request.path in names

    def _takes(self, value: TypedValue | None, request: Request, device: PoolDevice) -> bool:
        """Store the value, if it is compatible with the values of the other devices."""
        raise NotImplementedError

    def _forget(self, request: Request) -> None:
        """Remove the value of the request's last device."""


class MatchAttribute(AttributeConstraint):
    """All devices have the attribute, with the value of the first device."""

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._value: TypedValue | None = None

    def _takes(self, value: TypedValue | None, request: Request, device: PoolDevice) -> bool:
        del request, device
        if self._devices == 0:
            self._value = value
            return True
        return value is not None and value == self._value


class DistinctAttribute(AttributeConstraint):
    """All devices have the attribute, each with a different value.

    QUIRK: (constraint.go) up to 1.36 only one value is stored per request, the value of its last device; when that
    device is removed, the request's earlier values are lost too. Up to 1.34 the values of two devices are never equal
    (`by_device`).
    """

    def __init__(
        self, requests: tuple[str, ...], attribute: str, *, by_device: bool = False, keeps_all: bool = False
    ) -> None:
        super().__init__(requests, attribute)
        self._by_device = by_device
        self._keeps_all = keeps_all
        self._values: dict[str | int, TypedValue | None] = {}

    def _takes(self, value: TypedValue | None, request: Request, device: PoolDevice) -> bool:
        if self._by_device and value is not None:
            value = "device", str(device.id)
        if self._devices and self._values and (value is None or value in self._values.values()):
            return False
        self._values[self._key(request)] = value
        return True

    def _forget(self, request: Request) -> None:
        self._values.pop(self._key(request), None)

    def _key(self, request: Request) -> str | int:
        return self._devices if self._keeps_all else request.parent or request.name


def make_constraints(constraints: tuple[DeviceConstraint, ...], rules: AllocatorRules) -> list[AttributeConstraint]:
    """The constraints of a claim, without any device."""
    return [
        MatchAttribute(constraint.requests, constraint.match_attribute)
        if constraint.match_attribute is not None
        else DistinctAttribute(
            constraint.requests,
            constraint.distinct_attribute or "",
            by_device=rules.distinct_by_device,
            keeps_all=rules.keeps_books,
        )
        for constraint in constraints
    ]


def find_attribute(device: PoolDevice, name: str) -> DeviceAttribute | None:
    """The attribute with this full name; a name without a domain is in the driver's domain (`lookupAttribute`)."""
    attributes = device.model.attributes
    found = attributes.get(name)
    if found is None:
        domain, slash, identifier = name.partition("/")
        if slash and domain == device.id.driver:
            return attributes.get(identifier)
    return found


def _typed(attribute: DeviceAttribute) -> TypedValue | None:
    values = (attribute.string_value, attribute.int_value, attribute.bool_value, attribute.version_value)
    kinds = ("string", "int", "bool", "version")
    return next(((kind, value) for kind, value in zip(kinds, values, strict=True) if value is not None), None)


#: A device and the pool that it is taken from.
PooledDevice = tuple[Pool, PoolDevice]


class Taken(NamedTuple):
    """A device taken for a request and, if it is shared, the consumed capacity."""

    request: Request
    pool: Pool
    device: PoolDevice
    consumed: Mapping[str, int]
    #: Whether counters were consumed for it, and whether this attempt had already taken another share of the device.
    counted: bool
    beside: bool


class PartialAllocation:
    """The devices taken for claims so far; the search takes devices and gives them back.

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
        self._given = allocated, available, gates, rules
        self._counters = ConsumedCounters(available)
        self._constraints = [make_constraints(claim.constraints, rules) for claim in claims]
        #: Device -> the claims that have taken the whole device.
        self._whole: dict[DeviceId, set[int]] = {}
        #: The consumption of the taken shares; every device with shares has an entry.
        self._shares: dict[DeviceId, dict[str, int]] = {}
        #: The taken devices by claim, in the order in which they were taken.
        self.taken: list[list[Taken]] = [[] for _ in claims]

    def for_one(self, claim: ClaimToAllocate) -> PartialAllocation:
        """An allocation for this claim alone, without any taken device."""
        return PartialAllocation((claim,), *self._given)

    def in_use(self, claim: int, request: Request, device: PoolDevice) -> bool:
        """Whether the request cannot take the device; admin access can share any device, but only once per claim."""
        if request.admin:
            return claim in self._whole.get(device.id, ())
        return device.id in self._allocated.whole or bool(self._whole.get(device.id))

    def is_among_all(self, request: Request, device: PoolDevice) -> bool:
        """Whether a request for all devices includes the device."""
        if not self._counts_capacity or not self._rules.all_by_size:
            return self.has_room(request, device)
        return has_capacity(device.model.capacity, request.capacity, {}, {})

    def has_room(self, request: Request, device: PoolDevice) -> bool:
        """Whether the device has enough capacity for the request, beside its current users."""
        if not self._counts_capacity:
            return True
        used, sharing = self._allocated.shared.get(device.id, {}), self._shares.get(device.id, {})
        return has_capacity(device.model.capacity, request.capacity, used, sharing)

    def take(self, claim: int, request: Request, pool: Pool, device: PoolDevice) -> bool:
        """Take the device if possible; returns whether it was taken.

        QUIRK: (allocator_incubating.go, allocateDevice) up to 1.36, if a later check rejects the device, upstream does
        not undo earlier checks: its counters stay consumed if it is tainted or violates a constraint, and constraints
        keep its value if it has too little capacity.

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
        """Whether the device's counters must be checked; a shared device consumes counters only for its first share."""
        if not device.counters or self._rules.counters_by_slice:
            return bool(device.counters)
        known = self._allocated.shared if self._rules.keeps_books else self._allocated.consumed
        return not (device.shared and (device.id in known or device.id in self._shares))

    def _take_back(self, pool: Pool, device: PoolDevice, *, counted: bool) -> None:
        """Give back the counters of a device that was rejected after its counters were consumed."""
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
        consumed = consumed_by(device.model.capacity, request.capacity)
        total = self._shares.setdefault(device.id, {})
        for name, amount in consumed.items():
            total[name] = total.get(name, 0) + amount
        return consumed

    def give_back(self, claim: int) -> None:
        """Undo the last `take` of the claim.

        QUIRK: (allocator_incubating.go, allocateDevice) up to 1.36 the counters of a shared device stay consumed, and a
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
