"""How many devices of a class a node has, and how many of them are allocated: for scoring.

(`calculateDRAResourceTotals` in `pkg/scheduler/framework/plugins/noderesources/resource_allocation.go`.)
"""

from __future__ import annotations

from collections.abc import Iterable

from kwhatif.cel import CelError, compile_device_selector
from kwhatif.dra.allocated import allocated_devices
from kwhatif.dra.devices import PoolDevice, Slice, device_view
from kwhatif.dra.pools import inventory
from kwhatif.dra.requests import AllocationError, CelSelector
from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.matching.node_selector import SelectedNode
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.resource import DeviceClass


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
