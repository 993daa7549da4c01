"""Capacity that claims can share (`consumable_capacity.go`). All amounts are nano-units."""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.kube.model.quantity import NANO, parse_quantity, value
from kwhatif.kube.model.resource_slice import CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity

_Amounts = Mapping[str, int]


def fits(capacities: Mapping[str, DeviceCapacity], requested: _Amounts, used: _Amounts, taken: _Amounts) -> bool:
    """Whether a device has the requested capacity, beside what others use and what this attempt has taken.

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
    """The capacities of the device that a share for the request consumes."""
    return {name: consumption(capacity, requested.get(name)) for name, capacity in capacities.items()}


def consumption(capacity: DeviceCapacity, requested: int | None) -> int:
    """The consumed amount: the request, rounded up by the policy; all of the capacity without a request."""
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
