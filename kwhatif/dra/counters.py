"""Counters that partitions of a device share (partitionable devices, `checkAvailableCounters`)."""

from __future__ import annotations

from collections.abc import Container

from kwhatif.dra.devices import DeviceId, PoolDevice
from kwhatif.dra.pools import Pool
from kwhatif.dra.rules import AllocatorRules

#: Nano-units by counter set and counter.
_Amounts = dict[str, dict[str, int]]


class AvailableCounters:
    """What allocated devices leave of each pool's counters.

    QUIRK: (allocator_incubating.go) up to 1.36 kept by the bare name of the pool. Of two pools that two drivers call
    the same, the one that is asked about first counts for both.
    """

    def __init__(self, allocated: Container[DeviceId], rules: AllocatorRules) -> None:
        self._allocated = allocated
        self._by_driver = rules.keeps_books
        self._pools: dict[str, _Amounts] = {}

    def name(self, pool: Pool) -> str:
        """What the pool is known by."""
        return str(pool) if self._by_driver else pool.name

    def of(self, pool: Pool) -> _Amounts:
        """What is left; less than nothing where too much is allocated."""
        found = self._pools.get(self.name(pool))
        if found is None:
            found = self._pools[self.name(pool)] = self._count(pool)
        return found

    def _count(self, pool: Pool) -> _Amounts:
        left = {name: dict(counters) for name, counters in pool.counter_sets.items()}
        for device in (*pool.devices, *pool.elsewhere):
            if device.counters and device.id in self._allocated:
                for name, counters in device.counters:
                    for counter, amount in counters.items():
                        left[name][counter] -= amount
        return left


class ConsumedCounters:
    """What the devices consume that one attempt has taken so far; by the name of the pool, as above."""

    def __init__(self, available: AvailableCounters) -> None:
        self._available = available
        self._pools: dict[str, _Amounts] = {}

    def consume(self, pool: Pool, device: PoolDevice) -> bool:
        """Count the device, if then no counter of the pool is exceeded; of counters that it does not use, too."""
        consumed = self._pools.setdefault(self._available.name(pool), {})
        _add(consumed, device, 1)
        for name, counters in self._available.of(pool).items():
            used = consumed.get(name, {})
            if any(left < used.get(counter, 0) for counter, left in counters.items()):
                _add(consumed, device, -1)
                return False
        return True

    def give_back(self, pool: Pool, device: PoolDevice) -> None:
        """The device is not taken after all."""
        _add(self._pools[self._available.name(pool)], device, -1)


def _add(consumed: _Amounts, device: PoolDevice, sign: int) -> None:
    for name, counters in device.counters:
        amounts = consumed.setdefault(name, {})
        for counter, amount in counters.items():
            amounts[counter] = amounts.get(counter, 0) + sign * amount
