"""The requests of claims, compiled once per cycle, and the differences between the allocators of the releases.

Since 1.34 there are three allocators (`structured/allocator.go`): upstream uses the most stable allocator that supports
all enabled features. The defaults of `AllocatorRules` describe "incubating" in 1.36, the choice of its default gates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.cel import CelCompileError, CelRuntimeError, compile_device_selector
from kwhatif.dra.devices import PoolDevice
from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.matching.nodes import SelectedNode
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.pod_spec import Toleration
from kwhatif.kube.model.quantity import parse_quantity
from kwhatif.kube.model.resource import (
    ALL,
    EXACT_COUNT,
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
)


class AllocatorRules(NamedTuple):
    """The behavior of an allocator, independent of feature gates."""

    #: `distinctAttribute` is supported; otherwise it is an error.
    knows_distinct: bool = True
    #: Requests for capacity are an error without their feature gate; otherwise they are ignored.
    refuses_capacity: bool = True
    #: The message for a node without a solution reports its invalid pools.
    reports_invalid_pools: bool = True
    #: The error for too many devices names the request that exceeds the limit; otherwise it names the total.
    counts_request_by_request: bool = False
    #: The error of a failing selector names the device.
    names_devices: bool = False
    #: Without the feature gate for partitions, slices with counters are ignored.
    leaves_counters_out: bool = True
    #: A pool consists only of slices for the node, and devices are also taken from an incomplete pool.
    pools_by_node: bool = False
    #: If a request for capacity is an error, the message names the alternative.
    names_alternative: bool = True
    #: `distinctAttribute` compares pointers: only values of the same device are equal.
    distinct_by_device: bool = False
    #: After the first device of an alternative that requests all devices, the search continues with alternative 0.
    forgets_alternative: bool = False
    #: Slices with counters are used on every node, even on nodes that they do not select.
    counters_everywhere: bool = True
    #: A device consumes only counters of its own slice, and consumes them again for each share.
    counters_by_slice: bool = False
    #: Counters of a rejected device are given back; counters of pools are stored also by driver; all distinct values
    #: are stored; a share without capacity counts as a share.
    keeps_books: bool = False
    #: A request for all devices includes all devices that are large enough; it fails if one of them is in use.
    all_by_size: bool = False


BASE_RULES = AllocatorRules()

#: The rules of a release's allocator, by the feature gates that are on.
RulesOf = Callable[[Gates], AllocatorRules]


def base_rules(_gates: Gates) -> AllocatorRules:
    """The rules of 1.36, for any feature gates."""
    return BASE_RULES


class AllocationError(Exception):
    """The claim, its class or the devices are invalid: the whole scheduling attempt fails with this message."""


class AllocationTimeout(AllocationError):
    """The search on one node took too long."""


#: The hint that 1.37 adds if an expression reads an attribute that the device does not have (`EnhanceRuntimeError`).
_ADVICE = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional"
    " fields"
)


class CelSelector(NamedTuple):
    """A CEL selector, compiled when the first device is tested."""

    #: The owner of the selector: `class gpu: selector #0`.
    where: str
    expression: str
    #: Whether error messages name the device.
    names_device: bool = False

    def matches(self, device: PoolDevice) -> bool:
        """Whether the device is selected; the result is cached with the device.

        Raises:
            AllocationError: the expression does not compile, or fails for this device.
        """
        try:
            return compile_device_selector(self.expression).matches(device.view)
        except CelCompileError as failure:
            raise AllocationError(f"{self.where}: CEL compile error: {failure.message}") from failure
        except CelRuntimeError as failure:
            where, what = self.where, failure.message
            if self.names_device:
                where = f"{where} on device {device.id}"
                what += _ADVICE if "no such key:" in what else ""
            raise AllocationError(f"{where}: CEL runtime error: {what}") from failure


#: (claim, path) of a request.
RequestKey = tuple[str, str]


class Request(msgspec.Struct, frozen=True):
    """A request, or one alternative of a request."""

    #: `namespace/name` of the claim.
    claim: str
    name: str
    #: The name of the request, if this is one of its alternatives; "" for a request without alternatives.
    parent: str
    #: The number of devices; None: all.
    count: int | None
    admin: bool
    #: The selectors of the class, then the selectors of the request.
    selectors: tuple[CelSelector, ...]
    tolerations: tuple[Toleration, ...]
    #: Nano-units by capacity.
    capacity: Mapping[str, int]
    #: Why the request is invalid; "" if it is valid.
    problem: str

    @property
    def path(self) -> str:
        """`request` or `request/alternative`."""
        return f"{self.parent}/{self.name}" if self.parent else self.name

    @property
    def key(self) -> RequestKey:
        """The key of the request, unique within a pod."""
        return self.claim, self.path

    def selects(self, device: PoolDevice, node: SelectedNode) -> bool:
        """Whether the device matches the request and can be used from the node.

        Raises:
            AllocationError: a selector is invalid or fails.
        """
        if not device.selectable:
            return False
        if not all(selector.matches(device) for selector in self.selectors):
            return False
        return device.nodes is None or device.nodes.matches(node)


class ClaimToAllocate(NamedTuple):
    """A claim without an allocation. Every request is a tuple of alternatives, usually with a single element."""

    key: str
    requests: tuple[tuple[Request, ...], ...]
    constraints: tuple[DeviceConstraint, ...]


def compile_claim(
    claim: ResourceClaim,
    cluster: Cluster,
    gates: Gates = BASE_GATES,
    rules: AllocatorRules = BASE_RULES,
) -> ClaimToAllocate:
    """Compile the claim for allocation."""
    key = key_of(claim)
    devices = claim.spec.devices
    requests = tuple(_alternatives(key, request, _Context(cluster, gates, rules)) for request in devices.requests)
    return ClaimToAllocate(key, requests, devices.constraints)


class _Context(NamedTuple):
    cluster: Cluster
    gates: Gates
    rules: AllocatorRules


def _alternatives(claim: str, request: DeviceRequest, context: _Context) -> tuple[Request, ...]:
    if request.exactly is not None:
        made: tuple[Request, ...] = (_compile(claim, "", request.name, request.exactly, context),)
    else:
        made = tuple(_compile(claim, request.name, sub.name, sub, context) for sub in request.first_available)
    problem = _without_gate(claim, request, context)  # reported before all other problems
    return tuple(replace(each, problem=problem) for each in made) if problem else made


def _compile(
    claim: str, parent: str, name: str, asked: ExactDeviceRequest | DeviceSubRequest, context: _Context
) -> Request:
    class_name = asked.device_class_name
    found = context.cluster.get(DeviceClass, class_name)
    class_selectors = found.spec.selectors if found is not None else ()
    capacity = asked.capacity.requests if asked.capacity is not None else {}
    return Request(
        claim=claim,
        name=name,
        parent=parent,
        count=None if asked.allocation_mode == ALL else asked.count,
        admin=isinstance(asked, ExactDeviceRequest) and asked.admin_access,
        selectors=(
            *_selectors(f"class {class_name}", class_selectors, context.rules),
            *_selectors(f"claim {claim}", asked.selectors, context.rules),
        ),
        tolerations=asked.tolerations,
        capacity={capacity_name: parse_quantity(text) for capacity_name, text in capacity.items()},
        problem=_problem(f"claim {claim}, request {name}", asked, context.gates),
    )


def _selectors(owner: str, selectors: Sequence[DeviceSelector], rules: AllocatorRules) -> list[CelSelector]:
    return [
        CelSelector(f"{owner}: selector #{index}", selector.cel.expression if selector.cel else "", rules.names_devices)
        for index, selector in enumerate(selectors)
    ]


def _without_gate(claim: str, request: DeviceRequest, context: _Context) -> str:
    """Why a request for capacity is invalid without `DRAConsumableCapacity`; "" for any other request."""
    if "DRAConsumableCapacity" in context.gates or not context.rules.refuses_capacity:
        return ""
    asking = next((sub.name for sub in request.first_available if sub.capacity is not None), "")
    if request.exactly is not None and request.exactly.capacity is not None:
        asking = request.name
    if not asking:
        return ""
    is_named = asking != request.name and context.rules.names_alternative
    where = f"subrequest {asking}" if is_named else f"request {request.name}"
    return f"claim {claim}, {where}: has capacity requests, but the DRAConsumableCapacity feature is disabled"


def _problem(where: str, asked: ExactDeviceRequest | DeviceSubRequest, gates: Gates) -> str:
    for index, selector in enumerate(asked.selectors):
        if selector.cel is None:
            return f"{where}, selector #{index}: CEL expression empty (unsupported selector type?)"
    if isinstance(asked, ExactDeviceRequest) and asked.admin_access and "DRAAdminAccess" not in gates:
        return f"{where}: admin access is requested, but the feature is disabled"
    if asked.allocation_mode not in (EXACT_COUNT, ALL):
        return f"{where}: unsupported count mode {asked.allocation_mode}"
    return ""
