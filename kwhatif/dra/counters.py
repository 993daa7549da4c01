"""Counters that partitions of a device share (partitionable devices, `checkAvailableCounters`)."""

from __future__ import annotations

from collections.abc import Container, Iterable

from kwhatif.dra.devices import CounterSets, DeviceId, PoolDevice
from kwhatif.dra.pools import Pool
from kwhatif.dra.rules import AllocatorRules

#: Nano-units by counter set and counter.
_Amounts = dict[str, dict[str, int]]


class AvailableCounters:
    """The rest of each pool's counters, without allocated devices; up to 1.34 per slice, for its own devices.

    QUIRK: (allocator_incubating.go) up to 1.36 they are stored by the pool's name alone. If pools of two drivers have
    the same name, the first one that is used counts for both.
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
        """Unknown counters are ignored (in a slice; a pool would be invalid)."""
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
        """Count the device, unless a counter of the owner is then exceeded, even one that the device does not use."""
        consumed = self._owners.setdefault(self._available.owner(pool, device), {})
        _add(consumed, device, 1)
        for name, counters in self._available.of(pool, device).items():
            used = consumed.get(name, {})
            if any(left < used.get(counter, 0) for counter, left in counters.items()):
                _add(consumed, device, -1)
                return False
        return True

    def give_back(self, pool: Pool, device: PoolDevice) -> None:
        """Uncount the device."""
        _add(self._owners[self._available.owner(pool, device)], device, -1)


def _add(consumed: _Amounts, device: PoolDevice, sign: int) -> None:
    for name, counters in device.counters:
        amounts = consumed.setdefault(name, {})
        for counter, amount in counters.items():
            amounts[counter] = amounts.get(counter, 0) + sign * amount
