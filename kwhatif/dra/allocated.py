"""The devices that are allocated to claims (`plugins/dynamicresources/allocateddevices.go`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from kwhatif.dra.devices import DeviceId
from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.quantity import parse_quantity
from kwhatif.kube.model.resource import DeviceRequestAllocationResult, ResourceClaim

#: Nano-units by capacity.
Capacities = dict[str, int]


class AllocatedDevices:
    """Devices that are allocated as a whole, and devices whose capacity is shared."""

    def __init__(self, cluster: Cluster, gates: Gates = BASE_GATES) -> None:
        self._knows_shares = "DRAConsumableCapacity" in gates
        self.whole: set[DeviceId] = set()
        #: The consumption of all shares of a device; every device with shares has an entry.
        self.shared: dict[DeviceId, Capacities] = {}
        #: Devices whose shares state their consumption.
        self.consumed: set[DeviceId] = set()
        for claim in cluster.all(ResourceClaim).values():
            allocation = claim.status.allocation
            for result in allocation.devices.results if allocation else ():
                if not result.admin_access:  # admin access does not allocate a device
                    self._add(result)

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> AllocatedDevices | None:
        """Itself if the change does not affect the allocated devices."""
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
