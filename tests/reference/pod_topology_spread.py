"""PodTopologySpread the plain way: everything is counted afresh for every node that is asked about.

Slow and literal, beside `pkg/scheduler/framework/plugins/podtopologyspread`; the plugin must come to the same results.
"""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from math import log
from typing import NamedTuple

from kwhatif.kube.matching.nodes import RequiredNodeAffinity, first_untolerated
from kwhatif.kube.model.meta import Requirement, controller_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_spec import TopologySpreadConstraint
from kwhatif.kube.model.workload import ReplicaSet, ReplicationController, Service, StatefulSet
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.state import State
from tests.reference.labels import Plain, equal_to, matches, requirements

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
SYSTEM = [
    TopologySpreadConstraint(topology_key=HOSTNAME, max_skew=3, when_unsatisfiable="ScheduleAnyway"),
    TopologySpreadConstraint(topology_key=ZONE, max_skew=5, when_unsatisfiable="ScheduleAnyway"),
]


class Rule(NamedTuple):
    """A constraint with the selector that counts."""

    spec: TopologySpreadConstraint
    selector: Plain


def rules(pod: Pod, snap: State, action: str, defaults: Sequence[TopologySpreadConstraint] | None = None) -> list[Rule]:
    """The constraints that hold for the pod; `defaults` None are the built-in ones."""
    own = pod.spec.topology_spread_constraints
    if own:
        return [Rule(spec, _own_selector(spec, pod)) for spec in own if spec.when_unsatisfiable == action]
    selector = default_selector(pod, snap)
    if not selector:
        return []
    specs = SYSTEM if defaults is None else defaults
    return [Rule(spec, selector) for spec in specs if spec.when_unsatisfiable == action]


def _own_selector(spec: TopologySpreadConstraint, pod: Pod) -> Plain:
    selector = requirements(spec.label_selector)
    if selector is None:
        return None
    labels = pod.metadata.labels
    return selector + equal_to({key: labels[key] for key in spec.match_label_keys if key in labels})


def default_selector(pod: Pod, snap: State) -> Plain:
    """What the pod's services and its controller ask."""
    meta = pod.metadata
    selector: list[Requirement] = []
    for service in snap.cluster.all(Service).values():
        if service.metadata.namespace == meta.namespace and service.spec.selector is not None:
            wanted = equal_to(service.spec.selector)
            selector += wanted if matches(wanted, meta.labels) else []
    owner = controller_of(meta)
    if owner is None:
        return selector
    key = f"{meta.namespace}/{owner.name}"
    found: ReplicaSet | StatefulSet | None = None
    if (owner.api_version, owner.kind) == ("v1", "ReplicationController"):
        controller = snap.cluster.get(ReplicationController, key)
        return selector + equal_to((controller.spec.selector or {}) if controller else {})
    if (owner.api_version, owner.kind) == ("apps/v1", "ReplicaSet"):
        found = snap.cluster.get(ReplicaSet, key)
    if (owner.api_version, owner.kind) == ("apps/v1", "StatefulSet"):
        found = snap.cluster.get(StatefulSet, key)
    return selector + ((requirements(found.spec.selector) if found else None) or [])


def eligible(pod: Pod, node: NodeInfo, spec: TopologySpreadConstraint) -> bool:
    """Whether the constraint takes the node into account."""
    if spec.node_affinity_policy != "Ignore" and not RequiredNodeAffinity(pod.spec).matches(node):
        return False
    return spec.node_taints_policy != "Honor" or first_untolerated(node.taints, pod.spec.tolerations) is None


def count(pod: Pod, node: NodeInfo, selector: Plain) -> int:
    """The matching pods on a node; an empty selector counts none."""
    return sum(
        1
        for other in node.pods
        if selector
        and other.pod.metadata.namespace == pod.metadata.namespace
        and other.pod.metadata.deletion_timestamp is None
        and matches(selector, other.pod.metadata.labels)
    )


def objection(pod: Pod, snap: State, node: NodeInfo, hard: list[Rule]) -> str:
    """Which kind of no the node gets; "" for a yes."""
    everything = [rule.spec.topology_key for rule in hard]
    for spec, selector in hard:
        if spec.topology_key not in node.labels:
            return "missing label"
        domains: dict[str, int] = {}
        for other in snap.nodes:
            if all(key in other.labels for key in everything) and eligible(pod, other, spec):
                value = other.labels[spec.topology_key]
                domains[value] = domains.get(value, 0) + count(pod, other, selector)
        enough = len(domains) >= (1 if spec.min_domains is None else spec.min_domains)
        minimum = min(domains.values()) if enough else 0
        itself = 1 if matches(selector, pod.metadata.labels) else 0
        if domains.get(node.labels[spec.topology_key], 0) + itself - minimum > spec.max_skew:
            return "skew"
    return ""


def scores(
    pod: Pod, snap: State, feasible: Sequence[NodeInfo], soft: list[Rule], *, require_all: bool
) -> tuple[list[int], list[int]]:
    """Raw and normalised scores of the feasible nodes."""
    everything = [rule.spec.topology_key for rule in soft]
    scored = [node for node in feasible if not require_all or all(key in node.labels for key in everything)]
    raw = [_score(pod, snap, node, soft, scored, everything if require_all else []) for node in feasible]
    kept = [score for score, node in zip(raw, feasible, strict=True) if node in scored]
    most, least = max([0, *kept]), min(kept, default=0)
    points = [100 if most == 0 else 100 * (most + least - score) // most for score in raw]
    return raw, [point if node in scored else 0 for point, node in zip(points, feasible, strict=True)]


def _score(
    pod: Pod, snap: State, node: NodeInfo, soft: list[Rule], scored: list[NodeInfo], everything: list[str]
) -> int:
    if node not in scored:
        return 0
    total = 0.0
    for spec, selector in soft:
        key = spec.topology_key
        if key not in node.labels:
            continue
        if key == HOSTNAME:
            number, size = count(pod, node, selector), len(scored)
        else:
            size = len({other.labels.get(key, "") for other in scored})
            number = sum(
                count(pod, other, selector)
                for other in snap.nodes
                if all(needed in other.labels for needed in everything)
                and eligible(pod, other, spec)
                and other.labels.get(key, "") == node.labels[key]
            )
        total += number * log(size + 2) + (spec.max_skew - 1)
    return int(Decimal(total).quantize(Decimal(1), ROUND_HALF_UP))
