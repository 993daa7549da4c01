"""The machine that a NodeClaim comes to: which type it is, and what its node looks like once it is there.

Karpenter asks the cloud for any of the types that are left, and the cloud chooses: here it is the cheapest offering, of
equal ones the first by name (`cloudprovider/types.go`, OrderByPrice; `nodeclaim/lifecycle/registration.go`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from kwhatif.autoscaler.contract import NewNode
from kwhatif.autoscaler.karpenter.amounts import Amounts
from kwhatif.autoscaler.karpenter.claims import NewClaim
from kwhatif.autoscaler.karpenter.instance_types import Cheapest, cheapest_of
from kwhatif.autoscaler.karpenter.requirements import (
    CAPACITY_TYPE,
    INITIALIZED,
    INSTANCE_TYPE,
    NODE_POOL,
    REGISTERED,
    RESERVATION,
    Requirement,
)
from kwhatif.kube.model.bystanders import KarpenterCondition, NodeClaim, NodeClaimSpec, NodeClaimStatus
from kwhatif.kube.model.container import ResourceList
from kwhatif.kube.model.meta import AnnotatedMeta
from kwhatif.kube.model.node import HOSTNAME, ZONE, Node, NodeCondition, NodeSpec, NodeStatus
from kwhatif.kube.model.quantity import NANO
from kwhatif.kube.model.storage import CSINode
from kwhatif.state.state import State

_CONDITIONS = ("Launched", "Registered", "Initialized")


def best_offering(claim: NewClaim) -> Cheapest | None:
    """The cheapest of the types that are left, where it can be had."""
    return next(iter(cheapest_of(claim.types, claim.requirements, claim.template.well_known)), None)


def launched(claim: NewClaim, name: str, state: State, at: str) -> NewNode | None:
    """The node of the NodeClaim, under this name; None: no type can be had."""
    best = best_offering(claim)
    if best is None:
        return None
    pool, spec = claim.template.pool, claim.template.pool.spec.template
    labels = {**_labels(claim.requirements.values()), **_labels(best.type.requirements.values())}
    labels |= spec.metadata.labels
    labels |= {
        NODE_POOL: pool.metadata.name,
        INSTANCE_TYPE: best.type.name,
        ZONE: best.offering.zone,
        CAPACITY_TYPE: best.offering.capacity_type,
        HOSTNAME: name,
        REGISTERED: "true",
        INITIALIZED: "true",
    }
    if best.offering.reservation:
        labels[RESERVATION] = best.offering.reservation
    capacity, allocatable = _listed(best.type.capacity), _listed(best.type.allocatable)
    alike = _example(state, pool.metadata.name)
    node = Node(
        metadata=AnnotatedMeta(name=name, labels=labels, creation_timestamp=at),
        spec=NodeSpec(taints=claim.template.taints, provider_id=f"new:///{name}"),
        status=replace(
            NodeStatus() if alike is None else replace(alike.status, images=()),
            capacity=capacity,
            allocatable=allocatable,
            conditions=(NodeCondition(type="Ready", status="True", last_transition_time=at),),
        ),
    )
    return NewNode(
        node=node,
        group=pool.metadata.name,
        price=best.offering.price,
        startup_taints=spec.spec.startup_taints,
        claim=_claim(claim, node, at),
        besides=_drivers(state, node),
    )


def _claim(claim: NewClaim, node: Node, at: str) -> NodeClaim:
    spec = claim.template.pool.spec.template.spec
    return NodeClaim(
        metadata=AnnotatedMeta(name=node.metadata.name, labels=node.metadata.labels, creation_timestamp=at),
        spec=NodeClaimSpec(taints=claim.template.taints, startup_taints=spec.startup_taints),
        status=NodeClaimStatus(
            provider_id=node.spec.provider_id,
            node_name=node.metadata.name,
            capacity=node.status.capacity,
            allocatable=node.status.allocatable or {},
            conditions=tuple(
                KarpenterCondition(type=name, status="True", last_transition_time=at) for name in _CONDITIONS
            ),
        ),
    )


def _labels(requirements: Iterable[Requirement]) -> Mapping[str, str]:
    """A value of each: of several the first by name, where upstream takes any (`Requirements.Labels`)."""
    return {each.key: min(each.values) for each in requirements if each.values and not each.complement}


def _listed(amounts: Amounts) -> ResourceList:
    return {name: _quantity(amount) for name, amount in amounts.items()}


def _quantity(amount: int) -> str:
    whole, rest = divmod(amount, NANO)
    return str(whole) if not rest else f"{amount // 10**6}m" if not rest % 10**6 else f"{amount}n"


def _example(state: State, pool: str) -> Node | None:
    """A node whose kubelet a new one resembles: of the pool, else any."""
    nodes = [state.by_name[name].node for name in sorted(state.by_name)]
    return next((node for node in nodes if node.metadata.labels.get(NODE_POOL) == pool), next(iter(nodes), None))


def _drivers(state: State, node: Node) -> tuple[CSINode, ...]:
    """How many volumes it takes: as a node of its type does."""
    type_ = node.metadata.labels[INSTANCE_TYPE]
    for name in sorted(state.by_name):
        known = state.cluster.get(CSINode, name)
        if known is not None and state.by_name[name].node.metadata.labels.get(INSTANCE_TYPE) == type_:
            meta = replace(known.metadata, name=node.metadata.name, uid="")
            return (replace(known, metadata=meta),)
    return ()
