"""Builders of devices and claims: `slice_("n1", device("gpu-0", model="a100"))`, `claim("mine", request(count=2))`.

There is one driver, `gpu.example.com`, unless a test says otherwise; a slice on a node is the whole pool of its name.
"""

from collections.abc import Mapping
from typing import Any

from kwhatif.kube.model.meta import AnnotatedMeta, ObjectMeta, OwnerReference, Requirement
from kwhatif.kube.model.pod import PodResourceClaim, PodResourceClaimStatus
from kwhatif.kube.model.pod_spec import NodeSelector, NodeSelectorTerm, Toleration
from kwhatif.kube.model.resource import (
    ALL,
    EXACT_COUNT,
    AllocatedDeviceStatus,
    AllocationResult,
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    CapacityRequirements,
    CELDeviceSelector,
    Counter,
    CounterSet,
    Device,
    DeviceAllocationResult,
    DeviceAttribute,
    DeviceCapacity,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceCondition,
    DeviceConstraint,
    DeviceCounterConsumption,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSelector,
    DeviceSubRequest,
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintSelector,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from tests.builders import PodBuilder, pod, requirement

GPU = "gpu.example.com"
NIC = "nic.example.com"
Counters = dict[str, dict[str, Any]]

# --- what there is ---------------------------------------------------------------------------------------------


def _attribute(value: object) -> DeviceAttribute:
    match value:
        case bool():
            return DeviceAttribute(bool_value=value)
        case int():
            return DeviceAttribute(int_value=value)
        case str():
            return DeviceAttribute(string_value=value)
        case DeviceAttribute():
            return value
    raise AssertionError(value)


def version(text: str) -> DeviceAttribute:
    """An attribute that is a semantic version."""
    return DeviceAttribute(version_value=text)


def capacity(value: str, policy: CapacityRequestPolicy | None = None) -> DeviceCapacity:
    """A capacity with a policy for requests."""
    return DeviceCapacity(value=value, request_policy=policy)


def policy(
    default: str | None = None,
    *,
    values: tuple[str, ...] = (),
    least: str | None = None,
    most: str | None = None,
    step: str | None = None,
) -> CapacityRequestPolicy:
    """A request policy; a range if any of its ends is given."""
    valid_range = CapacityRequestPolicyRange(min=least, max=most, step=step) if least or most else None
    return CapacityRequestPolicy(default=default, valid_values=values, valid_range=valid_range)


def device(
    name: str,
    attributes: dict[str, Any] | None = None,
    /,
    *,
    amounts: dict[str, str | DeviceCapacity] | None = None,
    uses: Counters | None = None,
    taint: tuple[str, str] | None = None,
    shared: bool = False,
    fields: dict[str, Any] | None = None,
    **more: Any,
) -> Device:
    """A device; other keyword arguments are attributes."""
    found = {**(attributes or {}), **more}
    return Device(
        name=name,
        attributes={key: _attribute(value) for key, value in found.items()},
        capacity={key: capacity(value) if isinstance(value, str) else value for key, value in (amounts or {}).items()},
        consumes_counters=tuple(
            DeviceCounterConsumption(counter_set=key, counters=_counters(used)) for key, used in (uses or {}).items()
        ),
        taints=(DeviceTaint(key=taint[0], effect=taint[1]),) if taint else (),
        allow_multiple_allocations=shared,
        **(fields or {}),
    )


def _counters(amounts: dict[str, Any]) -> dict[str, Counter]:
    return {name: Counter(value=value) for name, value in amounts.items()}


def slice_(
    where: str,
    *devices: Device,
    name: str = "",
    driver: str = GPU,
    pool: str = "",
    generation: int = 1,
    count: int = 1,
    counters: Counters | None = None,
    **spec: Any,
) -> ResourceSlice:
    """A slice on a node; where it is "" on those that `spec` says (`all_nodes`, `node_selector`, …)."""
    return ResourceSlice(
        metadata=ObjectMeta(name=name or f"{pool or where}-{driver}"),
        spec=ResourceSliceSpec(
            driver=driver,
            node_name=where,
            pool=ResourcePool(name=pool or where, generation=generation, resource_slice_count=count),
            devices=devices,
            shared_counters=tuple(
                CounterSet(name=key, counters=_counters(amounts)) for key, amounts in (counters or {}).items()
            ),
            **spec,
        ),
    )


def taint_rule(
    name: str,
    selector: Mapping[str, Any] | None = None,
    *,
    key: str = "broken",
    value: str = "",
    effect: str = "NoSchedule",
    since: str | None = None,
) -> DeviceTaintRule:
    """A rule that taints the devices for which all of the selector holds; None selects none."""
    chosen = None if selector is None else DeviceTaintSelector(**selector)
    taint = DeviceTaint(key=key, value=value, effect=effect, time_added=since)
    return DeviceTaintRule(
        metadata=ObjectMeta(name=name), spec=DeviceTaintRuleSpec(device_selector=chosen, taint=taint)
    )


def gpus(where: str, number: int, /, **options: Any) -> ResourceSlice:
    """A slice of so many equal devices, `gpu-0` and so on."""
    return slice_(where, *(device(f"gpu-{index}", index=index) for index in range(number)), **options)


def nodes_where(*expressions: Requirement) -> NodeSelector:
    """A node selector with one term."""
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=expressions),))


def only_on(*names: str) -> NodeSelector:
    """A node selector by names, as allocations have it."""
    fields = (requirement("metadata.name", "In", *names),)
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=fields),))


def _selectors(expressions: tuple[str, ...]) -> tuple[DeviceSelector, ...]:
    return tuple(DeviceSelector(cel=CELDeviceSelector(expression=text)) for text in expressions)


def device_class(name: str = "gpu", *expressions: str, resource: str | None = None) -> DeviceClass:
    """A class with these selectors; `resource` is the extended resource that it stands for."""
    return DeviceClass(
        metadata=ObjectMeta(name=name),
        spec=DeviceClassSpec(selectors=_selectors(expressions), extended_resource_name=resource),
    )


# --- what is asked ---------------------------------------------------------------------------------------------


def _asked(*expressions: str, of: str, count: int | None, amounts: dict[str, str] | None) -> dict[str, Any]:
    return {
        "device_class_name": of,
        "selectors": _selectors(expressions),
        "allocation_mode": ALL if count is None else EXACT_COUNT,
        "count": count or 0,
        "capacity": CapacityRequirements(requests=dict(amounts)) if amounts is not None else None,
    }


def request(
    name: str = "r",
    *expressions: str,
    of: str = "gpu",
    count: int | None = 1,
    amounts: dict[str, str] | None = None,
    **fields: Any,
) -> DeviceRequest:
    """A request for exactly so many devices of a class; None: all."""
    asked = _asked(*expressions, of=of, count=count, amounts=amounts)
    return DeviceRequest(name=name, exactly=ExactDeviceRequest(**{**asked, **fields}))


def alternative(
    name: str,
    *expressions: str,
    of: str = "gpu",
    count: int | None = 1,
    amounts: dict[str, str] | None = None,
    **fields: Any,
) -> DeviceSubRequest:
    """One alternative of `first_of`."""
    return DeviceSubRequest(name=name, **_asked(*expressions, of=of, count=count, amounts=amounts), **fields)


def first_of(name: str, *alternatives: DeviceSubRequest) -> DeviceRequest:
    """A request for the first of these that is available."""
    return DeviceRequest(name=name, first_available=alternatives)


def match(attribute: str, *requests: str) -> DeviceConstraint:
    """All devices of these requests (none: of all) agree in the attribute."""
    return DeviceConstraint(match_attribute=attribute, requests=requests)


def distinct(attribute: str, *requests: str) -> DeviceConstraint:
    """No two devices of these requests agree in the attribute."""
    return DeviceConstraint(distinct_attribute=attribute, requests=requests)


def claim(
    name: str,
    *requests: DeviceRequest,
    constraints: tuple[DeviceConstraint, ...] = (),
    owner: str = "",
    meta: dict[str, Any] | None = None,
) -> ResourceClaim:
    """A claim of namespace `default`; `owner` is the UID of the pod that controls it."""
    owners = (OwnerReference(kind="Pod", name="pod", uid=owner, controller=True),) if owner else ()
    return ResourceClaim(
        metadata=AnnotatedMeta(**{"name": name, "namespace": "default", "owner_references": owners, **(meta or {})}),
        spec=ResourceClaimSpec(devices=DeviceClaim(requests=requests, constraints=constraints)),
    )


def result(request: str, path: str, **fields: Any) -> DeviceRequestAllocationResult:
    """An allocated device: `result("r", "gpu.example.com/n1/gpu-0")`."""
    driver, pool, name = path.split("/")
    return DeviceRequestAllocationResult(request=request, driver=driver, pool=pool, device=name, **fields)


def allocated(
    found: ResourceClaim,
    *results: DeviceRequestAllocationResult,
    only: str = "",
    users: tuple[str, ...] = (),
    conditions: dict[str, str] | None = None,
) -> ResourceClaim:
    """The claim with these devices, used by pods of these UIDs; `conditions` are those of its first device."""
    states: tuple[AllocatedDeviceStatus, ...] = ()
    if conditions is not None:
        first = results[0]
        met = tuple(DeviceCondition(type=key, status=value) for key, value in conditions.items())
        states = (AllocatedDeviceStatus(driver=first.driver, pool=first.pool, device=first.device, conditions=met),)
    return ResourceClaim(
        metadata=found.metadata,
        spec=found.spec,
        status=ResourceClaimStatus(
            allocation=AllocationResult(
                devices=DeviceAllocationResult(results=results), node_selector=only_on(only) if only else None
            ),
            reserved_for=tuple(ResourceClaimConsumerReference(resource="pods", name=uid, uid=uid) for uid in users),
            devices=states,
        ),
    )


def held(*paths: str) -> ResourceClaim:
    """A claim of somebody else that has these devices."""
    results = (result("r", path) for path in paths)
    return allocated(claim(f"of-{'-'.join(paths).replace('/', '-')}"), *results, users=("somebody",))


def asking(*names: str, **statuses: str | None) -> PodBuilder:
    """A pod that uses the claims of these names; `statuses` are claims generated from templates, by entry."""
    entries = [PodResourceClaim(name=name, resource_claim_name=name) for name in names]
    entries += [PodResourceClaim(name=name, resource_claim_template_name="template") for name in statuses]
    generated = tuple(PodResourceClaimStatus(name=name, resource_claim_name=made) for name, made in statuses.items())
    return pod().spec(resource_claims=tuple(entries)).status(resource_claim_statuses=generated)


def tolerating(key: str, effect: str = "") -> tuple[Toleration, ...]:
    """A toleration of any value."""
    return (Toleration(key=key, operator="Exists", effect=effect),)
