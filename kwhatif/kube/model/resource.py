"""Dynamic resource allocation (`resource.k8s.io/v1`): devices, claims, templates, classes and DeviceTaintRules."""

from __future__ import annotations

from typing import Any

from msgspec import field

from kwhatif.kube.model.meta import AnnotatedMeta, ApiObject, Int64, Model
from kwhatif.kube.model.node import Taint
from kwhatif.kube.model.pod_spec import NodeSelector, Toleration
from kwhatif.kube.model.quantity import QuantityText


class CapacityRequestPolicyRange(Model):
    """The amounts that a request may consume: from `min` to `max` in steps."""

    min: QuantityText | None = None
    max: QuantityText | None = None
    step: QuantityText | None = None


class CapacityRequestPolicy(Model):
    """The rounding of requests for a shared capacity, and the valid requests."""

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
        """Whether the attribute is a list (gate `DRAListTypeAttributes`)."""
        return bool(self.ints or self.bools or self.strings or self.versions)


class Counter(Model):
    """An amount that devices of a pool share."""

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
    """`taints[]` of a device; if the time is not set, the API server sets the time when it stores the object."""

    time_added: str | None = None


class BasicDevice(Model):
    """The properties of a device; fields that select nodes apply only with `perDeviceNodeSelection`."""

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
    #: In v1beta1 this has all fields except the name; `sources` moves them.
    basic: BasicDevice | None = None


class ResourcePool(Model):
    """The pool of a slice, and the number of slices of the pool in this generation."""

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


EXACT_COUNT = "ExactCount"
ALL = "All"

#: Capacities by name; a name without a domain is in the driver's domain.
Quantities = dict[str, QuantityText]


class CELDeviceSelector(Model):
    """`cel` of a selector."""

    expression: str = ""


class DeviceSelector(Model):
    """One selector; `cel` None means an unknown type of selector."""

    cel: CELDeviceSelector | None = None


class CapacityRequirements(Model):
    """`capacity` of a request."""

    requests: Quantities = {}


class ExactDeviceRequest(Model):
    """`exactly` of a request; a `count` of 0 means that it is not set."""

    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: Int64 = 0
    admin_access: bool = False
    tolerations: tuple[Toleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceSubRequest(Model):
    """One alternative in `firstAvailable`."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: Int64 = 0
    tolerations: tuple[Toleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceRequest(ExactDeviceRequest):
    """One request: either `exactly`, or the first available alternative.

    In v1beta1, the request itself has the fields of `exactly`; `sources` moves them.
    """

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceConstraint(Model):
    """An attribute that the devices of several requests must share, or must not share."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaim(Model):
    """`spec.devices` of a claim, without the configuration for drivers, which no scheduling rule reads."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()


class ResourceClaimSpec(Model):
    """`spec` of a claim."""

    devices: DeviceClaim = DeviceClaim()


class DeviceRequestAllocationResult(Model):
    """One allocated device; `share_id` distinguishes the shares of one device."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool = False
    #: The tolerations of the request.
    tolerations: tuple[Toleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = field(name="shareID", default=None)
    consumed_capacity: Quantities = {}


class DeviceAllocationResult(Model):
    """The devices of an allocation."""

    results: tuple[DeviceRequestAllocationResult, ...] = ()


class AllocationResult(Model):
    """`status.allocation`: the devices, and the nodes that can use them (None: all nodes)."""

    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class ResourceClaimConsumerReference(Model):
    """`status.reservedFor[]`: a consumer that may use the claim."""

    resource: str = ""
    name: str = ""
    uid: str = ""


class DeviceCondition(Model):
    """A condition that a driver sets on an allocated device."""

    type: str = ""
    status: str = ""


class AllocatedDeviceStatus(Model):
    """`status.devices[]`."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    conditions: tuple[DeviceCondition, ...] = ()


class ResourceClaimStatus(Model):
    """`status` of a claim."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(ApiObject):
    """`resource.k8s.io/v1 ResourceClaim`."""

    metadata: AnnotatedMeta = AnnotatedMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceClaimTemplateSpec(Model):
    """`spec` of a template: the claims that are created from it."""

    metadata: AnnotatedMeta = AnnotatedMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(ApiObject):
    """`resource.k8s.io/v1 ResourceClaimTemplate`."""

    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()


class DeviceClassSpec(Model):
    """`spec` of a class."""

    selectors: tuple[DeviceSelector, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(ApiObject):
    """`resource.k8s.io/v1 DeviceClass`."""

    spec: DeviceClassSpec = DeviceClassSpec()


class DeviceTaintSelector(Model):
    """The selector of a rule: a device must match all fields that are not None."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None
    #: Up to 1.34; later releases do not have these two fields.
    device_class_name: str | None = None
    selectors: tuple[DeviceSelector, ...] = ()


class DeviceTaintRuleSpec(Model):
    """`spec` of a rule; without a selector the rule selects no device."""

    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(ApiObject):
    """`resource.k8s.io/v1 DeviceTaintRule` (since 1.37): taints devices independently of their driver.

    Its status (the progress of the eviction) is left out, because no scheduling rule reads it.
    """

    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()
