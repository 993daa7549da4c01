"""The structured allocator (`Allocate` in `allocator_incubating.go`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kwhatif.dra.devices import PoolDevice
from kwhatif.dra.partial_allocation import PartialAllocation, PooledDevice, Taken
from kwhatif.dra.pools import AvailableCounters, Pool, allocated_devices, inventory
from kwhatif.dra.requests import BASE_RULES, AllocationError, AllocatorRules, ClaimToAllocate, Request, RequestKey
from kwhatif.dra.search import MAX_DEVICES, DeviceSearch, Task
from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.matching.nodes import NAME_FIELD, SelectedNode, first_untolerated
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import Requirement
from kwhatif.kube.model.node import Taint
from kwhatif.kube.model.pod_spec import NodeSelector, NodeSelectorTerm
from kwhatif.kube.model.quantity import to_text
from kwhatif.kube.model.resource import AllocationResult, DeviceAllocationResult, DeviceRequestAllocationResult


def allocation_result(claim: str, taken: Sequence[Taken], node_name: str) -> AllocationResult:
    """The claim's `status.allocation`: the devices, and the nodes that can use all of them (`createNodeSelector`).

    Raises:
        AllocationError: a slice has an invalid node selector.
    """
    results = tuple(_result(index, one) for index, one in enumerate(taken))
    return AllocationResult(
        devices=DeviceAllocationResult(results=results), node_selector=_node_selector(claim, taken, node_name)
    )


def _result(index: int, taken: Taken) -> DeviceRequestAllocationResult:
    device = taken.device
    return DeviceRequestAllocationResult(
        request=taken.request.path,
        driver=device.id.driver,
        pool=device.id.pool,
        device=device.id.device,
        admin_access=taken.request.admin,
        tolerations=taken.request.tolerations,
        binding_conditions=device.model.binding_conditions,
        binding_failure_conditions=device.model.binding_failure_conditions,
        # Upstream's share ID is random. It only distinguishes the shares of one device within one claim.
        share_id=str(index) if device.shared else None,
        consumed_capacity={name: to_text(nanos) for name, nanos in taken.consumed.items()},
    )


def _node_selector(claim: str, taken: Sequence[Taken], node_name: str) -> NodeSelector | None:
    """The requirements of all devices as one term; None: all nodes can use all devices."""
    fields: list[Requirement] = []
    expressions: list[Requirement] = []
    for device in (one.device for one in taken):
        home = device.slice
        where = device.model if home.per_device else home
        if where.node_name or device.model.binds_to_node:
            here = Requirement(key=NAME_FIELD, operator="In", values=(node_name,))
            return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(here,)),))
        for term in _term(claim, where.node_selector):
            _add(fields, term.match_fields)
            _add(expressions, term.match_expressions)
    if not fields and not expressions:
        return None
    term = NodeSelectorTerm(match_fields=tuple(fields), match_expressions=tuple(expressions))
    return NodeSelector(node_selector_terms=(term,))


def _term(claim: str, selector: NodeSelector | None) -> Iterator[NodeSelectorTerm]:
    terms = selector.node_selector_terms if selector is not None else ()
    if len(terms) > 1:
        raise AllocationError(
            f"create NodeSelector for claim {claim.rpartition('/')[2]}:"
            f" unsupported ResourceSlice.NodeSelector with {len(terms)} terms"
        )
    yield from terms


def _add(merged: list[Requirement], requirements: Iterable[Requirement]) -> None:
    for requirement in requirements:
        if not any(_same(requirement, other) for other in merged):
            merged.append(requirement)


def _same(left: Requirement, right: Requirement) -> bool:
    return (left.key, left.operator, set(left.values)) == (right.key, right.operator, set(right.values))


class UnsatisfiedRequest(NamedTuple):
    """Why the claims cannot be allocated: the first request that no search step could satisfy."""

    claim: str
    request: str
    #: The number of requested devices; None: all.
    wanted: int | None
    #: The number of devices on the node that match the request, and the number of free devices among them.
    matching: int
    free: int
    #: The number of other devices that are free, but have taints that the request does not tolerate.
    tainted: int = 0
    taints: tuple[Taint, ...] = ()


class InvalidPool(NamedTuple):
    """No devices were found, and a pool that might have had these devices is invalid."""

    pool: str
    problem: str


class Allocator:
    """Allocates claims on one node at a time; only data that does not depend on the node is shared."""

    def __init__(
        self,
        cluster: Cluster,
        tries: int | None = None,
        gates: Gates = BASE_GATES,
        rules: AllocatorRules = BASE_RULES,
    ) -> None:
        """`tries` is the maximum number of search steps per node; None: no limit."""
        self._inventory = inventory(cluster, gates, rules)
        self._rules = rules
        self._allocated = allocated_devices(cluster, gates)
        self._gates = gates
        self._available = AvailableCounters(self._allocated, rules)
        self._tries = tries

    def allocate(
        self, node: SelectedNode, claims: Sequence[ClaimToAllocate]
    ) -> tuple[AllocationResult, ...] | UnsatisfiedRequest | InvalidPool:
        """An allocation for each claim, or the reason why not all claims can be allocated.

        Raises:
            AllocationError: a claim, its class or the devices are invalid, which ends the whole attempt.
        """
        pools = self._inventory.pools(node)
        so_far = PartialAllocation(claims, self._allocated, self._available, self._gates, self._rules)
        devices_of: dict[RequestKey, Sequence[PooledDevice]] = {}
        for claim in claims:
            size = 0
            for request in claim.requests:
                least = _smallest(request, node, pools, so_far, devices_of)
                if self._rules.counts_request_by_request and least > MAX_DEVICES - size:
                    raise AllocationError(
                        f"claim {claim.key}, request {request[0].parent or request[0].name}: adding {least} devices"
                        f" exceeds the claim limit of {MAX_DEVICES}, with {size} already accounted for"
                    )
                size += least
            # QUIRK: (allocator_incubating.go) the sum is an int; upstream panics if it overflows below zero.
            _check(claim, size, self._rules)
        candidates = [(pool, device) for pool in pools for device in pool.devices]
        search = DeviceSearch(Task(node, candidates, claims, so_far, devices_of, self._rules))
        if search.run(self._tries):
            found = zip(claims, so_far.taken, strict=True)
            return tuple([allocation_result(claim.key, taken, node.name) for claim, taken in found])
        broken = next((pool for pool in pools if pool.problem), None)
        if broken is not None and self._rules.reports_invalid_pools:
            return InvalidPool(str(broken), broken.problem)
        claim_index, request_index = search.furthest
        return self._shortage(node, pools, claims[claim_index].requests[request_index])

    def _shortage(
        self, node: SelectedNode, pools: Sequence[Pool], alternatives: Sequence[Request]
    ) -> UnsatisfiedRequest:
        untouched = PartialAllocation((), self._allocated, self._available, self._gates)
        matching = free = tainted = 0
        taints: dict[Taint, None] = {}
        for device in (device for pool in pools for device in pool.devices):
            fitting = [request for request in alternatives if _selects(request, device, node)]
            matching += bool(fitting)
            roomy = [request for request in fitting if untouched.has_room(request, device)]
            if not roomy or device.id in self._allocated.whole:
                continue
            kept_away = [first_untolerated(device.taints, request.tolerations) for request in roomy]
            if None in kept_away:
                free += 1
            else:
                tainted += 1
                taints.update((taint, None) for taint in kept_away if taint is not None)
        request = alternatives[0]
        name = request.parent or request.name
        return UnsatisfiedRequest(request.claim, name, request.count, matching, free, tainted, tuple(taints))


def _selects(request: Request, device: PoolDevice, node: SelectedNode) -> bool:
    """Whether the request selects the device; False for a selector that fails: the search may not have evaluated it."""
    try:
        return request.selects(device, node)
    except AllocationError:
        return False


def _smallest(
    alternatives: Sequence[Request],
    node: SelectedNode,
    pools: Sequence[Pool],
    so_far: PartialAllocation,
    devices_of: dict[RequestKey, Sequence[PooledDevice]],
) -> int:
    """The minimum number of devices of the request; a request for all devices also fills `devices_of`.

    (`validateDeviceRequest`.)
    """
    sizes = []
    for request in alternatives:
        if request.problem:
            raise AllocationError(request.problem)
        if request.count is None:
            found = devices_of[request.key] = list(_all_devices(request, node, pools, so_far))
            sizes.append(len(found))
        else:
            sizes.append(request.count)
    return min(sizes)


def _all_devices(
    request: Request, node: SelectedNode, pools: Sequence[Pool], so_far: PartialAllocation
) -> Iterator[PooledDevice]:
    for pool in pools:
        state = "being updated" if pool.incomplete else "invalid" if pool.problem else ""
        if state:
            raise AllocationError(
                f"claim {request.claim}, request {request.name}: asks for all devices, but resource pool {pool}"
                f" is currently {state}"
            )
        for device in pool.devices:
            if request.selects(device, node) and so_far.is_among_all(request, device):
                yield pool, device


def _check(claim: ClaimToAllocate, size: int, rules: AllocatorRules) -> None:
    if size > MAX_DEVICES:
        raise AllocationError(
            f"claim {claim.key}: number of requested devices {size} exceeds the claim limit of {MAX_DEVICES}"
        )
    for index, constraint in enumerate(claim.constraints):
        distinct = constraint.distinct_attribute if rules.knows_distinct else None
        if constraint.match_attribute is None and distinct is None:
            raise AllocationError(
                f"claim {claim.key}, constraint #{index}: empty constraint (unsupported constraint type?)"
            )
