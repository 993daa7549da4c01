"""Devices that are allocated to claims, and how many of a class are allocated on a node.

(`plugins/dynamicresources/allocateddevices.go`, `calculateDRAResourceTotals` in `noderesources`.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from kwhatif.cel import CelError, compile_device_selector
from kwhatif.dra.devices import DeviceId, PoolDevice, Slice, device_view
from kwhatif.dra.pools import inventory
from kwhatif.dra.requests import AllocationError, CelSelector
from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.matching.nodes import SelectedNode
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.quantity import parse_quantity
from kwhatif.kube.model.resource import DeviceClass, DeviceRequestAllocationResult, ResourceClaim

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


class DeviceUsage:
    """Counts devices of one class, node by node.

    QUIRK: (resource_allocation.go) slices of outdated generations and of invalid pools count as well, and selectors do
    not see that a device is shared.
    """

    def __init__(self, cluster: Cluster, device_class: DeviceClass, gates: Gates = BASE_GATES) -> None:
        self._inventory = inventory(cluster, gates)
        self._allocated = allocated_devices(cluster, gates)
        expressions = [selector.cel.expression for selector in device_class.spec.selectors if selector.cel is not None]
        self._selectors = [CelSelector(f"class {device_class.metadata.name}", text) for text in expressions]

    def on(self, node: SelectedNode) -> tuple[int, int]:
        """All devices of the class, and those that are allocated, even as a share; (0, 0) if a selector fails."""
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
