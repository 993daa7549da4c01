"""Pools of devices: the slices of one generation that a node can use, and the allocated devices.

Follows `pools_incubating.go`, `plugins/dynamicresources/allocateddevices.go`, and `calculateDRAResourceTotals` in
`noderesources`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from functools import cache
from itertools import chain

import msgspec

from kwhatif.cel import CelError, compile_device_selector
from kwhatif.dra.devices import CounterSets, DeviceId, PoolDevice, Slice, device_view, rules_count, taint_rules
from kwhatif.dra.requests import BASE_RULES, AllocationError, AllocatorRules, CelSelector
from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.matching.nodes import SelectedNode
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.quantity import parse_quantity
from kwhatif.kube.model.resource import (
    DeviceClass,
    DeviceRequestAllocationResult,
    DeviceTaintRule,
    ResourceClaim,
    ResourceSlice,
)

PoolId = tuple[str, str]


class Pool(msgspec.Struct, frozen=True):
    """The part of a pool that a node can use; since 1.35 an incomplete or invalid pool has no devices."""

    driver: str
    name: str
    #: Whether slices of the pool are missing, because its driver is still publishing them.
    incomplete: bool = False
    #: Why the pool is invalid; "" if it is valid.
    problem: str = ""
    #: The devices that the node can use, in the order in which they are tried.
    devices: tuple[PoolDevice, ...] = ()
    #: Other devices of the pool, which also consume its counters.
    elsewhere: tuple[PoolDevice, ...] = ()
    counter_sets: CounterSets = {}

    def __str__(self) -> str:
        """The pool, as in the scheduler's messages."""
        return f"{self.driver}/{self.name}"


class DeviceInventory:
    """All slices of a cluster, and the pools that each node can use."""

    def __init__(self, cluster: Cluster, gates: Gates, rules: AllocatorRules) -> None:
        self._by_node, self._counters_everywhere = rules.pools_by_node, rules.counters_everywhere
        self._local: dict[str, list[Slice]] = {}
        self._common: list[Slice] = []
        self._by_pool: dict[PoolId, list[Slice]] = {}
        self._pools: dict[str, tuple[Pool, ...]] = {}
        tainting = taint_rules(cluster, gates)
        for model in cluster.all(ResourceSlice).values():
            made = Slice(model, gates, tainting)
            left_out = "DRAPartitionableDevices" not in gates and (
                made.per_device or (bool(made.counter_sets) and rules.leaves_counters_out)
            )
            home = self._local.setdefault(made.node_name, []) if made.node_name else self._common
            if not left_out:
                (self._common if made.counter_sets and rules.counters_everywhere else home).append(made)
            self._by_pool.setdefault((made.driver, made.pool), []).append(made)

    def slices(self, node: SelectedNode) -> Iterable[Slice]:
        """All slices that the node may use, of any generation."""
        return chain(self._local.get(node.name, ()), self._common)

    def pools(self, node: SelectedNode) -> tuple[Pool, ...]:
        """The pools that the node can use, in the order in which they are tried (`GatherPools`)."""
        pools = self._pools.get(node.name)
        if pools is None:
            pools = self._pools[node.name] = tuple(self._gather(node))
        return pools

    def _gather(self, node: SelectedNode) -> list[Pool]:
        groups: dict[PoolId, list[Slice]] = {}
        for candidate in self.slices(node):
            if (candidate.counter_sets and self._counters_everywhere) or candidate.concerns(node):
                _add(groups.setdefault((candidate.driver, candidate.pool), []), candidate)
        pools = (self._pool(pool_id, group) for pool_id, group in groups.items())
        return sorted((pool for pool in pools if pool is not None), key=_order)

    def _pool(self, pool_id: PoolId, slices: Sequence[Slice]) -> Pool | None:
        """The pool; None if there is a newer generation without slices for the node."""
        size, generation = slices[0].pool_size, slices[0].generation
        if self._by_node:
            return _build_of_node(pool_id, slices, incomplete=len(slices) != size)
        if len(slices) == size:
            return _build(pool_id, slices, ())
        everything = self._by_pool[pool_id]
        if any(other.generation > generation for other in everything):
            return None
        current = [other for other in everything if other.generation == generation]
        if len(current) != size:
            return Pool(*pool_id, incomplete=True)
        here = {one.name for one in slices}
        return _build(pool_id, slices, [other for other in current if other.name not in here])


def inventory(
    cluster: Cluster,
    gates: Gates = BASE_GATES,
    rules: AllocatorRules = BASE_RULES,
) -> DeviceInventory:
    """The cluster's devices; cached as long as slices, DeviceTaintRules and nodes do not change."""
    build = _inventory_under(frozenset(gates), rules, rules_count(gates, cluster.facts.minor))
    return cluster.derived(build, ResourceSlice, DeviceTaintRule, Node)


@cache
def _inventory_under(
    gates: frozenset[str],
    rules: AllocatorRules,
    taint_rules_count: bool,  # noqa: FBT001, ARG001 - what the inventory depends on besides the objects
) -> Callable[[Cluster], DeviceInventory]:
    return lambda cluster: DeviceInventory(cluster, gates, rules)


def _add(group: list[Slice], candidate: Slice) -> None:
    """Add the slice, keeping only the newest generation."""
    if group and candidate.generation < group[0].generation:
        return
    if group and candidate.generation > group[0].generation:
        group.clear()
    group.append(candidate)


def _order(pool: Pool) -> tuple[bool, str, str]:
    """Sort key: pools with devices that need preparation come last."""
    return any(device.model.binding_conditions for device in pool.devices), pool.driver, pool.name


def _build(pool_id: PoolId, slices: Sequence[Slice], elsewhere: Sequence[Slice]) -> Pool:
    in_order = sorted(slices, key=lambda one: one.name)
    devices = tuple(device for one in in_order if not one.counter_sets for device in one.devices)
    sets = [shared for one in (*in_order, *elsewhere) for shared in one.counter_sets]
    counter_sets = dict(sets)
    others = tuple(device for one in elsewhere if not one.counter_sets for device in one.devices)
    problem = (
        _duplicate("device name", (device.model.name for device in devices))
        or _duplicate("counter set name", (name for name, _ in sets))
        or _bad_consumption(counter_sets, chain((device for one in in_order for device in one.devices), others))
    )
    if problem:
        return Pool(*pool_id, problem=problem)
    return Pool(*pool_id, devices=devices, elsewhere=others, counter_sets=counter_sets)


def _build_of_node(pool_id: PoolId, slices: Sequence[Slice], *, incomplete: bool) -> Pool:
    """Up to 1.34: a pool is invalid only if device names are not unique; a search that reaches the pool then fails."""
    in_order = sorted(slices, key=lambda one: one.name)
    devices = tuple(device for one in in_order for device in one.devices)
    problem = _duplicate("device name", (device.model.name for device in devices))
    return Pool(*pool_id, incomplete, problem, devices)


def _duplicate(what: str, names: Iterable[str]) -> str:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return f"duplicate {what} {name}"
        seen.add(name)
    return ""


def _bad_consumption(counter_sets: CounterSets, devices: Iterable[PoolDevice]) -> str:
    for device in devices:
        for name, counters in device.counters:
            shared = counter_sets.get(name)
            if shared is None:
                return f"counter set {name} not found"
            unknown = next((counter for counter in counters if counter not in shared), None)
            if unknown is not None:
                return f"counter {unknown} not found in counter set {name}"
    return ""


#: Nano-units by counter set and counter.
_Amounts = dict[str, dict[str, int]]


class AvailableCounters:
    """Each pool's counters minus those of allocated devices (`checkAvailableCounters`).

    Up to 1.34 each slice has its own counters, only for its own devices.

    QUIRK: (allocator_incubating.go) up to 1.36 counters are stored by the pool's name only. If pools of two drivers
    have the same name, the counters of the first pool that is used apply to both.
    """

    def __init__(self, allocated: Container[DeviceId], rules: AllocatorRules) -> None:
        self._allocated = allocated
        self._by_driver, self._by_slice = rules.keeps_books, rules.counters_by_slice
        self._owners: dict[str, _Amounts] = {}

    def owner(self, pool: Pool, device: PoolDevice) -> str:
        """The pool or slice whose counters the device uses."""
        if self._by_slice:
            return device.slice.name
        return str(pool) if self._by_driver else pool.name

    def of(self, pool: Pool, device: PoolDevice) -> _Amounts:
        """The available counters; negative if too much is allocated."""
        owner = self.owner(pool, device)
        found = self._owners.get(owner)
        if found is None:
            home = device.slice
            found = self._owners[owner] = (
                self._count(dict(home.counter_sets), home.devices)
                if self._by_slice
                else self._count(pool.counter_sets, (*pool.devices, *pool.elsewhere))
            )
        return found

    def _count(self, counter_sets: CounterSets, devices: Iterable[PoolDevice]) -> _Amounts:
        """The counters minus the consumption of allocated `devices`.

        Unknown counters are ignored: a slice may have them, a pool with unknown counters is invalid.
        """
        left = {name: dict(counters) for name, counters in counter_sets.items()}
        for device in devices:
            if device.counters and device.id in self._allocated:
                for name, counters in device.counters:
                    known = left.get(name, {})
                    for counter in counters.keys() & known.keys():
                        known[counter] -= counters[counter]
        return left


class ConsumedCounters:
    """The counters consumed by the devices that one attempt has taken, by the owner of the counters."""

    def __init__(self, available: AvailableCounters) -> None:
        self._available = available
        self._owners: dict[str, _Amounts] = {}

    def consume(self, pool: Pool, device: PoolDevice) -> bool:
        """Consume the device's counters; False if any counter of the owner, even an unused one, would be exceeded."""
        consumed = self._owners.setdefault(self._available.owner(pool, device), {})
        _count(consumed, device, 1)
        for name, counters in self._available.of(pool, device).items():
            used = consumed.get(name, {})
            if any(left < used.get(counter, 0) for counter, left in counters.items()):
                _count(consumed, device, -1)
                return False
        return True

    def give_back(self, pool: Pool, device: PoolDevice) -> None:
        """Give back the device's counters."""
        _count(self._owners[self._available.owner(pool, device)], device, -1)


def _count(consumed: _Amounts, device: PoolDevice, sign: int) -> None:
    for name, counters in device.counters:
        amounts = consumed.setdefault(name, {})
        for counter, amount in counters.items():
            amounts[counter] = amounts.get(counter, 0) + sign * amount


#: Nano-units by name of a capacity.
Capacities = dict[str, int]


class AllocatedDevices:
    """Devices that are allocated as a whole, and devices whose capacity is shared."""

    def __init__(self, cluster: Cluster, gates: Gates = BASE_GATES) -> None:
        self._knows_shares = "DRAConsumableCapacity" in gates
        self.whole: set[DeviceId] = set()
        #: The consumption of all shares of a device; every device with shares has an entry.
        self.shared: dict[DeviceId, Capacities] = {}
        #: Devices with shares that record their consumed capacity.
        self.consumed: set[DeviceId] = set()
        for claim in cluster.all(ResourceClaim).values():
            allocation = claim.status.allocation
            for result in allocation.devices.results if allocation else ():
                if not result.admin_access:  # admin access does not allocate a device
                    self._add(result)

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> AllocatedDevices | None:
        """This object, if the change does not affect the allocated devices; otherwise None."""
        was, now = (claim.status.allocation if isinstance(claim, ResourceClaim) else None for claim in (before, after))
        return self if was == now else None

    def _add(self, result: DeviceRequestAllocationResult) -> None:
        device = DeviceId(result.driver, result.pool, result.device)
        if result.share_id is None or not self._knows_shares:
            self.whole.add(device)
            return
        total = self.shared.setdefault(device, {})
        for name, text in result.consumed_capacity.items():
            total[name] = total.get(name, 0) + parse_quantity(text)
        if result.consumed_capacity:
            self.consumed.add(device)

    def __contains__(self, device: object) -> bool:
        """Whether the device or a share of it is allocated (`IsDeviceAllocated`)."""
        return device in self.whole or device in self.shared


def allocated_devices(cluster: Cluster, gates: Gates = BASE_GATES) -> AllocatedDevices:
    """The cluster's allocated devices; cached as long as no claim changes."""
    return cluster.derived(_allocated_under(frozenset(gates)), ResourceClaim)


@cache
def _allocated_under(gates: frozenset[str]) -> Callable[[Cluster], AllocatedDevices]:
    return lambda cluster: AllocatedDevices(cluster, gates)


class DeviceUsage:
    """Counts devices of one class, node by node.

    QUIRK: (resource_allocation.go) slices of outdated generations and of invalid pools count as well, and for selectors
    no device is shared.
    """

    def __init__(self, cluster: Cluster, device_class: DeviceClass, gates: Gates = BASE_GATES) -> None:
        self._inventory = inventory(cluster, gates)
        self._allocated = allocated_devices(cluster, gates)
        expressions = [selector.cel.expression for selector in device_class.spec.selectors if selector.cel is not None]
        self._selectors = [CelSelector(f"class {device_class.metadata.name}", text) for text in expressions]

    def on(self, node: SelectedNode) -> tuple[int, int]:
        """(all devices, devices allocated as a whole or in shares) of the class; (0, 0) if a selector fails."""
        total = held = 0
        try:
            for device in self._visible(node):
                if self._matches(device):
                    total += 1
                    held += device.id in self._allocated
        except (AllocationError, CelError):
            return 0, 0
        return total, held

    def _visible(self, node: SelectedNode) -> Iterable[PoolDevice]:
        return (device for one in self._inventory.slices(node) for device in _devices_on(one, node))

    def _matches(self, device: PoolDevice) -> bool:
        if not device.shared:
            return all(selector.matches(device) for selector in self._selectors)
        view = device_view(device, shared=False)
        return all(compile_device_selector(selector.expression).matches(view) for selector in self._selectors)


def _devices_on(one: Slice, node: SelectedNode) -> Iterable[PoolDevice]:
    if one.per_device:
        return (device for device in one.devices if device.nodes is not None and device.nodes.matches(node))
    return one.devices if one.nodes.matches(node) else ()
