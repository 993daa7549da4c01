"""Dynamic resource allocation, the requests: claims, templates and classes of `resource.k8s.io/v1`."""

from __future__ import annotations

from msgspec import field

from kwhatif.kube.model.affinity import NodeSelector, Toleration
from kwhatif.kube.model.meta import AnnotatedMeta, ApiObject, Int64, Model
from kwhatif.kube.model.quantity import QuantityText

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
    """One of the alternatives of `firstAvailable`."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: Int64 = 0
    tolerations: tuple[Toleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceRequest(ExactDeviceRequest):
    """One request: either `exactly`, or the first available of some alternatives.

    In v1beta1, the fields of `exactly` stand here; `sources` moves them.
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
    """`status.allocation`: the devices, and the nodes from which they can be used (None: all)."""

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
