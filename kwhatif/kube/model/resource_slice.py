"""Dynamic resource allocation, the devices: slices of `resource.k8s.io/v1`."""

from __future__ import annotations

from typing import Any

from msgspec import field

from kwhatif.kube.model.affinity import NodeSelector
from kwhatif.kube.model.meta import ApiObject, Int64, Model
from kwhatif.kube.model.node import Taint
from kwhatif.kube.model.quantity import QuantityText


class CapacityRequestPolicyRange(Model):
    """What a request may consume: from `min` to `max` in steps."""

    min: QuantityText | None = None
    max: QuantityText | None = None
    step: QuantityText | None = None


class CapacityRequestPolicy(Model):
    """How requests for a shared capacity are rounded, and which of them are valid."""

    default: QuantityText | None = None
    valid_values: tuple[QuantityText, ...] = ()
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(Model):
    """One capacity of a device."""

    value: QuantityText = 0
    request_policy: CapacityRequestPolicy | None = None


class DeviceAttribute(Model):
    """The value of an attribute: exactly one field is set; lists are read, but not modelled."""

    int_value: Int64 | None = field(name="int", default=None)
    bool_value: bool | None = field(name="bool", default=None)
    string_value: str | None = field(name="string", default=None)
    version_value: str | None = field(name="version", default=None)
    ints: tuple[Int64, ...] = ()
    bools: tuple[bool, ...] = ()
    strings: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()

    @property
    def is_list(self) -> bool:
        """Whether it has more than one value (gate `DRAListTypeAttributes`)."""
        return bool(self.ints or self.bools or self.strings or self.versions)


class Counter(Model):
    """An amount of something that devices of a pool share."""

    value: QuantityText = 0


class CounterSet(Model):
    """`sharedCounters[]`."""

    name: str = ""
    counters: dict[str, Counter] = {}


class DeviceCounterConsumption(Model):
    """`consumesCounters[]` of a device."""

    counter_set: str = ""
    counters: dict[str, Counter] = {}


class DeviceTaint(Taint):
    """`taints[]` of a device; if the time is not set, the API server sets it when it stores the object."""

    time_added: str | None = None


class BasicDevice(Model):
    """The properties of a device; the fields about nodes count only with `perDeviceNodeSelection`."""

    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool = False
    #: Not modelled (gate `DRANodeAllocatableResources`).
    node_allocatable_resource_mappings: dict[str, Any] = {}


class Device(BasicDevice):
    """`devices[]` of a slice."""

    name: str = ""
    #: In v1beta1 everything but the name is in here; `sources` moves it.
    basic: BasicDevice | None = None


class ResourcePool(Model):
    """Which pool a slice belongs to, and how many slices the pool has in this generation."""

    name: str = ""
    generation: Int64 = 0
    resource_slice_count: Int64 = 0


class ResourceSliceSpec(Model):
    """`spec` of a slice."""

    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    devices: tuple[Device, ...] = ()
    per_device_node_selection: bool = False
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(ApiObject):
    """`resource.k8s.io/v1 ResourceSlice`."""

    spec: ResourceSliceSpec = ResourceSliceSpec()
