"""One round of the provisioner (`pkg/controllers/provisioning/provisioner.go`), and the machines that it launches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from kwhatif.autoscaler.contract import ExistingNode, IgnoredPod, NewNode, NewNodeClaim, RefusedPod, ScalingRound
from kwhatif.autoscaler.karpenter.amounts import Amounts
from kwhatif.autoscaler.karpenter.claims import NewClaim
from kwhatif.autoscaler.karpenter.existing_nodes import SchedulerInputs
from kwhatif.autoscaler.karpenter.instance_types import Cheapest, cheapest_of
from kwhatif.autoscaler.karpenter.nodes import ClusterState
from kwhatif.autoscaler.karpenter.pods import PodData, is_provisionable
from kwhatif.autoscaler.karpenter.requirements import (
    CAPACITY_TYPE,
    DOES_NOT_EXIST,
    INITIALIZED,
    INSTANCE_TYPE,
    NODE_POOL,
    NORMALIZED,
    ON_DEMAND,
    REGISTERED,
    RESERVATION,
    RESERVED,
    SPOT,
    WELL_KNOWN,
    Requirement,
    pod_requirements,
)
from kwhatif.autoscaler.karpenter.scheduling import Results, Scheduler
from kwhatif.autoscaler.karpenter.volumes import claims_objection
from kwhatif.kube.matching.field_errors import label_key_errors, label_value_errors
from kwhatif.kube.matching.labels import parse_int64
from kwhatif.kube.model.bystanders import KarpenterCondition, NodeClaim, NodeClaimSpec, NodeClaimStatus
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import AnnotatedMeta
from kwhatif.kube.model.meta import Requirement as SelectorRequirement
from kwhatif.kube.model.node import HOSTNAME, ZONE, Node, NodeCondition, NodeSpec, NodeStatus
from kwhatif.kube.model.pod import Pod, node_affinity_of
from kwhatif.kube.model.pod_spec import ResourceList
from kwhatif.kube.model.quantity import NANO
from kwhatif.kube.model.storage import CSINode
from kwhatif.state.state import State

_CONDITIONS = ("Launched", "Registered", "Initialized")


def best_offering(claim: NewClaim) -> Cheapest | None:
    """The cheapest available offering of the remaining types."""
    return next(iter(cheapest_of(claim.types, claim.requirements, claim.template.well_known)), None)


def launched(claim: NewClaim, name: str, state: State, at: str) -> NewNode | None:
    """The node of the NodeClaim, with this name; None: no type is available.

    Karpenter requests any of the remaining types, and the cloud chooses: here this is the cheapest offering, of equal
    ones the first by name (`cloudprovider/types.go`, OrderByPrice; `nodeclaim/lifecycle/registration.go`).
    """
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
    """A value for each label: the first by name, where upstream takes any (`Requirements.Labels`)."""
    return {each.key: min(each.values) for each in requirements if each.values and not each.complement}


def _listed(amounts: Amounts) -> ResourceList:
    return {name: _quantity(amount) for name, amount in amounts.items()}


def _quantity(amount: int) -> str:
    whole, rest = divmod(amount, NANO)
    return str(whole) if not rest else f"{amount // 10**6}m" if not rest % 10**6 else f"{amount}n"


def _example(state: State, pool: str) -> Node | None:
    """A node whose kubelet is like that of a new node: one of the pool, else any."""
    nodes = [state.by_name[name].node for name in sorted(state.by_name)]
    return next((node for node in nodes if node.metadata.labels.get(NODE_POOL) == pool), next(iter(nodes), None))


def _drivers(state: State, node: Node) -> tuple[CSINode, ...]:
    """The CSINode of the new node, with the volume limits of a node of its type."""
    type_ = node.metadata.labels[INSTANCE_TYPE]
    for name in sorted(state.by_name):
        known = state.cluster.get(CSINode, name)
        if known is not None and state.by_name[name].node.metadata.labels.get(INSTANCE_TYPE) == type_:
            meta = replace(known.metadata, name=node.metadata.name, uid="")
            return (replace(known, metadata=meta),)
    return ()


_NOT_HERE = f"configured to not run on a Karpenter provisioned node (requirement={NODE_POOL} DoesNotExist)"
_DOMAIN = "karpenter.sh"
_KNOWN_VALUES = (ON_DEMAND, RESERVED, SPOT)
_COMPARING = ("Gt", "Lt", "Gte", "Lte")


class PendingPods:
    """The pending pods: the pods that are processed, and the ignored pods with the reason."""

    def __init__(self, cluster_state: ClusterState) -> None:
        pods: list[PodData] = []
        ignored: list[IgnoredPod] = []
        for pod in filter(is_provisionable, cluster_state.waiting):
            reason = objection(cluster_state, pod)
            if reason:
                ignored.append(IgnoredPod(pod=key_of(pod), reason=reason))
            else:
                pods.append(cluster_state.pod_data(pod))
        self.pods: Sequence[PodData] = pods
        self.ignored = tuple(ignored)


def objection(cluster_state: ClusterState, pod: Pod) -> str:
    """Why a pending pod is ignored; "" if it is not (`Provisioner.Validate`)."""
    found = pod_requirements(pod).get(NODE_POOL)
    wrong = [_NOT_HERE] if found is not None and found.operator == DOES_NOT_EXIST else []
    for key, value in (pod.spec.node_selector or {}).items():
        wrong += _wrong(SelectorRequirement(key=key, operator="In", values=(value,)))
    required = node_affinity_of(pod.spec).required
    for term in required.node_selector_terms if required is not None else ():
        if term.match_fields:
            wrong.append("node selector term with matchFields is not supported")
        for each in term.match_expressions:
            wrong += _wrong(each)
    claims = claims_objection(cluster_state.cluster, pod)
    return "; ".join([*wrong, claims] if claims else wrong)


def _wrong(given: SelectorRequirement) -> Iterable[str]:
    """Why Karpenter rejects a requirement (`ValidateRequirement`)."""
    key = NORMALIZED.get(given.key, given.key)
    domain = key.partition("/")[0] if "/" in key else ""
    if key not in WELL_KNOWN and (domain == _DOMAIN or domain.endswith(f".{_DOMAIN}") or key == HOSTNAME):
        known = " ".join(sorted(WELL_KNOWN))
        yield (
            f"using label {key} is not allowed as it might interfere with the internal provisioning logic; specify a"
            f" well known label: [{known}], or a custom label that does not use a restricted domain: [{_DOMAIN}]"
        )
    if key == CAPACITY_TYPE and given.operator == "In" and not set(given.values) & set(_KNOWN_VALUES):
        values, known = " ".join(given.values), " ".join(_KNOWN_VALUES)
        yield f"no valid values found in [{values}] for {key}, expected one of: [{known}], got: [{values}]"
    for each in label_key_errors(key):
        yield f"key {key} is not a qualified name, {each}"
    for value in given.values:
        for each in label_value_errors(value):
            yield f"invalid value {value} for key {key}, {each}"
    if given.operator == "In" and not given.values:
        yield f"key {key} with operator In must have a value defined"
    if given.operator in _COMPARING:
        number = parse_int64(given.values[0]) if len(given.values) == 1 else None
        if number is None or number < 0:
            yield f"key {key} with operator {given.operator} must have a single positive integer value"


def moving_pods(cluster_state: ClusterState) -> list[PodData]:
    """The pods of nodes that are being deleted, if they can move now."""
    return [
        cluster_state.pod_data(pod)
        for node in cluster_state.nodes
        if node.is_going
        for pod in node.pods
        if cluster_state.budgets.reschedules(pod, cluster_state.now)
    ]


def provisioning_round(cluster_state: ClusterState) -> tuple[ScalingRound, list[NewClaim]]:
    """The NodeClaims for pending pods and for pods of nodes that are being deleted (`Provisioner.Schedule`)."""
    pending = PendingPods(cluster_state)
    pods = [*pending.pods, *moving_pods(cluster_state)]
    if not pods:
        return ScalingRound(ignored=pending.ignored), []
    if not cluster_state.pools:
        words = "no dynamic nodepools found"
        refused = tuple(RefusedPod(pod=pod.key, message=words) for pod in pods)
        return ScalingRound(refused=refused, ignored=pending.ignored), []
    results = Scheduler(SchedulerInputs(cluster_state), pods, strictly_reserved=True).solve()
    return _round(results, pending.ignored), results.claims


def _round(results: Results, ignored: tuple[IgnoredPod, ...]) -> ScalingRound:
    waiting = [(pod, refusal) for pod, refusal in results.refused.values() if refusal.reserved]
    return ScalingRound(
        new_nodes=tuple(claim_row(claim) for claim in results.claims),
        existing=tuple(
            ExistingNode(node=each.name, pods=tuple(sorted(pod.key for pod in each.pods))) for each in results.existing
        ),
        refused=tuple(
            RefusedPod(pod=pod.key, message=refusal.text)
            for pod, refusal in results.refused.values()
            if not refusal.reserved
        ),
        # These pods wait for a later round: they fit on reserved capacity, which is in use now.
        ignored=(*ignored, *(IgnoredPod(pod=pod.key, reason=refusal.text) for pod, refusal in waiting)),
    )


def claim_row(claim: NewClaim) -> NewNodeClaim:
    """The NodeClaim as the report shows it."""
    best = best_offering(claim)
    cheapest = ""
    if best is not None:
        offering = best.offering
        price = "" if offering.price is None else f" {offering.price:g}"
        cheapest = f"{best.type.name} {offering.zone} {offering.capacity_type}{price}"
    return NewNodeClaim(
        group=claim.template.name,
        instance_types=tuple(sorted(type_.name for type_ in claim.types)),
        requirements=tuple(sorted(each.selector for each in claim.requirements.values())),
        cheapest=cheapest,
        pods=tuple(sorted(pod.key for pod in claim.pods)),
    )
