"""The result of a search as the `status.allocation` of a claim (`createNodeSelector` and its caller)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kwhatif.dra.partial_allocation import Taken
from kwhatif.dra.requests import AllocationError
from kwhatif.kube.matching.node_selector import NAME_FIELD
from kwhatif.kube.model.affinity import NodeSelector, NodeSelectorTerm
from kwhatif.kube.model.meta import Requirement
from kwhatif.kube.model.quantity import to_text
from kwhatif.kube.model.resource import AllocationResult, DeviceAllocationResult, DeviceRequestAllocationResult


def allocation_result(claim: str, taken: Sequence[Taken], node_name: str) -> AllocationResult:
    """The devices, and the nodes from which all of them can be used.

    Raises:
        AllocationError: a node selector has a form that slices must not have.
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
        # Upstream's is random. It only has to distinguish the shares of a device within one claim.
        share_id=str(index) if device.shared else None,
        consumed_capacity={name: to_text(nanos) for name, nanos in taken.consumed.items()},
    )


def _node_selector(claim: str, taken: Sequence[Taken], node_name: str) -> NodeSelector | None:
    """The requirements of all devices as one term; None: they can be used from all nodes."""
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
