"""One round of the provisioner (`pkg/controllers/provisioning/provisioner.go`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kwhatif.autoscaler.answer import ExistingNode, IgnoredPod, NewNodeClaim, RefusedPod, ScalingRound
from kwhatif.autoscaler.karpenter.claims import NewClaim
from kwhatif.autoscaler.karpenter.launched import best_offering
from kwhatif.autoscaler.karpenter.nodes import World
from kwhatif.autoscaler.karpenter.places import Ground
from kwhatif.autoscaler.karpenter.pods import Wanted, is_provisionable
from kwhatif.autoscaler.karpenter.requirements import (
    CAPACITY_TYPE,
    DOES_NOT_EXIST,
    NODE_POOL,
    NORMALIZED,
    ON_DEMAND,
    RESERVED,
    SPOT,
    WELL_KNOWN,
    pod_requirements,
)
from kwhatif.autoscaler.karpenter.scheduling import Results, Scheduler
from kwhatif.autoscaler.karpenter.volumes import claims_objection
from kwhatif.kube.matching.label_syntax import label_key_errors, label_value_errors
from kwhatif.kube.matching.labels import parse_int64
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import Requirement as SelectorRequirement
from kwhatif.kube.model.node import HOSTNAME
from kwhatif.kube.model.pod import Pod, node_affinity_of

_NOT_HERE = f"configured to not run on a Karpenter provisioned node (requirement={NODE_POOL} DoesNotExist)"
_DOMAIN = "karpenter.sh"
_KNOWN_VALUES = (ON_DEMAND, RESERVED, SPOT)
_COMPARING = ("Gt", "Lt", "Gte", "Lte")


class Batch:
    """The pending pods: those that are looked at, and those that are not, with the reason."""

    def __init__(self, world: World) -> None:
        pods: list[Wanted] = []
        ignored: list[IgnoredPod] = []
        for pod in filter(is_provisionable, world.waiting):
            reason = objection(world, pod)
            if reason:
                ignored.append(IgnoredPod(pod=key_of(pod), reason=reason))
            else:
                pods.append(world.wanted(pod))
        self.pods: Sequence[Wanted] = pods
        self.ignored = tuple(ignored)


def objection(world: World, pod: Pod) -> str:
    """Why a pending pod is not looked at; "" where it is (`Provisioner.Validate`)."""
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
    claims = claims_objection(world.cluster, pod)
    return "; ".join([*wrong, claims] if claims else wrong)


def _wrong(asked: SelectorRequirement) -> Iterable[str]:
    """What Karpenter refuses about a requirement (`ValidateRequirement`)."""
    key = NORMALIZED.get(asked.key, asked.key)
    domain = key.partition("/")[0] if "/" in key else ""
    if key not in WELL_KNOWN and (domain == _DOMAIN or domain.endswith(f".{_DOMAIN}") or key == HOSTNAME):
        known = " ".join(sorted(WELL_KNOWN))
        yield (
            f"using label {key} is not allowed as it might interfere with the internal provisioning logic; specify a"
            f" well known label: [{known}], or a custom label that does not use a restricted domain: [{_DOMAIN}]"
        )
    if key == CAPACITY_TYPE and asked.operator == "In" and not set(asked.values) & set(_KNOWN_VALUES):
        values, known = " ".join(asked.values), " ".join(_KNOWN_VALUES)
        yield f"no valid values found in [{values}] for {key}, expected one of: [{known}], got: [{values}]"
    for each in label_key_errors(key):
        yield f"key {key} is not a qualified name, {each}"
    for value in asked.values:
        for each in label_value_errors(value):
            yield f"invalid value {value} for key {key}, {each}"
    if asked.operator == "In" and not asked.values:
        yield f"key {key} with operator In must have a value defined"
    if asked.operator in _COMPARING:
        number = parse_int64(asked.values[0]) if len(asked.values) == 1 else None
        if number is None or number < 0:
            yield f"key {key} with operator {asked.operator} must have a single positive integer value"


def moving_pods(world: World) -> list[Wanted]:
    """The pods of nodes that are being deleted, as far as they can move now."""
    return [
        world.wanted(pod)
        for node in world.nodes
        if node.is_going
        for pod in node.pods
        if world.budgets.reschedules(pod, world.now)
    ]


def provisioning_round(world: World) -> tuple[ScalingRound, list[NewClaim]]:
    """What the provisioner makes for the pending pods, and those of nodes that are going (`Provisioner.Schedule`)."""
    batch = Batch(world)
    pods = [*batch.pods, *moving_pods(world)]
    if not pods:
        return ScalingRound(ignored=batch.ignored), []
    if not world.pools:
        words = "no dynamic nodepools found"
        refused = tuple(RefusedPod(pod=pod.key, message=words) for pod in pods)
        return ScalingRound(refused=refused, ignored=batch.ignored), []
    results = Scheduler(Ground(world), pods, strictly_reserved=True).solve()
    return _round(results, batch.ignored), results.claims


def _round(results: Results, ignored: tuple[IgnoredPod, ...]) -> ScalingRound:
    waiting = [(pod, refusal) for pod, refusal in results.refused.values() if refusal.reserved]
    return ScalingRound(
        new_nodes=tuple(claim_row(claim) for claim in results.claims),
        existing=tuple(
            ExistingNode(node=place.name, pods=tuple(sorted(pod.key for pod in place.pods))) for place in results.places
        ),
        refused=tuple(
            RefusedPod(pod=pod.key, message=refusal.text)
            for pod, refusal in results.refused.values()
            if not refusal.reserved
        ),
        # They are left for a later round: reserved capacity would do, and is taken now.
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
