"""The nearest miss: the smallest set of obstacles to a pod on any nodes, and names in the pod that do not exist."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from heapq import nsmallest
from typing import NamedTuple

from kwhatif.admission.plugins import ALWAYS_THERE
from kwhatif.kube.matching.field_errors import nearest
from kwhatif.kube.matching.nodes import NO_EXECUTE, NO_SCHEDULE, UNSCHEDULABLE_TAINT, tolerated, tolerates
from kwhatif.kube.matching.requests import PODS, Resources, is_scalar_resource
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import Requirement
from kwhatif.kube.model.pod import Pod, PodSpec
from kwhatif.kube.model.pod_spec import Toleration
from kwhatif.kube.model.policy import PriorityClass, RuntimeClass
from kwhatif.kube.model.resource import ResourceClaim
from kwhatif.kube.model.storage import PersistentVolumeClaim, StorageClass
from kwhatif.kube.model.workload import Namespace
from kwhatif.report.decision import MissRow, NameKind, NearNameRow, NearRow, ObstacleRow, TooLargeRow, UnknownNameRow
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.evidence import (
    CordonedNode,
    Evidence,
    ExistingAntiAffinity,
    InsufficientResource,
    PodAffinityUnmatched,
    PodAntiAffinityMatched,
    SpreadSkew,
    UnmatchedSelector,
    UntoleratedTaint,
    taint_text,
)
from kwhatif.scheduler.framework.status import Code, Verdict
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: The number of groups of nodes to keep, and of names of each.
_MOST_GROUPS = 5
_MOST_EXAMPLES = 3
#: Evidence about the pods in a node's domain.
Elsewhere = SpreadSkew | PodAffinityUnmatched | PodAntiAffinityMatched | ExistingAntiAffinity


class _Obstacle(NamedTuple):
    """The smallest thing that could be changed: one resource, one taint, one requirement."""

    plugin: str
    code: str
    reason: str
    evidence: Evidence | None
    evictable: bool = False

    @property
    def key(self) -> Hashable:
        """Obstacles with equal keys are the same to a reader, though the numbers may differ."""
        evidence = self.evidence
        what: Hashable = type(evidence).__name__
        if isinstance(evidence, InsufficientResource):
            what = evidence.resource
        elif isinstance(evidence, UntoleratedTaint):
            what = evidence
        elif isinstance(evidence, UnmatchedSelector):
            what = evidence.terms
        elif isinstance(evidence, Elsewhere):
            what = what, evidence.topology_key, getattr(evidence, "selector", "")
        return self.plugin, self.reason, what, self.evictable


class _Group:
    """Nodes with the same obstacles."""

    def __init__(self, obstacles: Sequence[_Obstacle]) -> None:
        self.names: list[str] = []
        #: Per obstacle, the smallest one, and its node.
        self.closest: list[tuple[_Obstacle, str]] = [(obstacle, "") for obstacle in obstacles]
        #: Per obstacle, the domains in which pods were counted.
        self.domains: list[set[str | None]] = [set() for _ in obstacles]

    def add(self, name: str, obstacles: Sequence[_Obstacle]) -> None:
        """One more node."""
        self.names.append(name)
        for index, obstacle in enumerate(obstacles):
            best, node = self.closest[index]
            if not node or (obstacle is not best and (lack(obstacle.evidence), name) < (lack(best.evidence), node)):
                self.closest[index] = obstacle, name
            if isinstance(obstacle.evidence, Elsewhere):
                self.domains[index].add(obstacle.evidence.domain)

    def rank(self) -> tuple[int, int, int, int, int, str]:
        """Smallest first: too small, what eviction does not clear here, all obstacles, what it never clears.

        So a full node is nearer than one of another kind. Then most nodes, and name.
        """
        found = [obstacle for obstacle, _ in self.closest]
        too_small = sum(map(_is_too_small, found))
        lasting = sum(not obstacle.evictable for obstacle in found)
        never = sum(obstacle.code == Code.UNRESOLVABLE.value for obstacle in found)
        return too_small, lasting, len(found), never, -len(self.names), min(self.names)

    def row(self) -> MissRow:
        """As a row of the report."""
        return MissRow(
            nodes=len(self.names),
            obstacles=tuple(
                ObstacleRow(
                    plugin=item.plugin,
                    code=item.code,
                    reason=item.reason,
                    node=node,
                    evidence=item.evidence,
                    evictable=item.evictable,
                    differs=len(domains) > 1,
                )
                for (item, node), domains in zip(self.closest, self.domains, strict=True)
            ),
            examples=tuple(nsmallest(_MOST_EXAMPLES, self.names)),
        )


def nearest_miss(cycle: Cycle, objections: Mapping[str, Sequence[Verdict]]) -> NearRow:
    """What would have to change for the pod to fit; `objections` are those to every node that is out, by its name."""
    groups: dict[tuple[Hashable, ...], _Group] = {}
    known: dict[tuple[int, ...], tuple[tuple[Hashable, ...], list[_Obstacle]]] = {}
    by_name = cycle.state.by_name
    for name, verdicts in objections.items():
        node = by_name[name]
        # Nodes of one shape share the answers of filters that look at nothing else, and so their obstacles.
        statuses = (node.shape, *[id(verdict.status) for verdict in verdicts])
        if statuses in known:
            key, obstacles = known[statuses]
        else:
            obstacles = _freed(cycle, node, list(_obstacles(cycle, node, verdicts)))
            key = tuple([obstacle.key for obstacle in obstacles])
            known[statuses] = key, obstacles
        if key not in groups:
            groups[key] = _Group(obstacles)
        groups[key].add(name, obstacles)
    ranked = nsmallest(_MOST_GROUPS, groups.values(), key=_Group.rank)
    plugins = {verdict.plugin for verdicts in objections.values() for verdict in verdicts}
    return NearRow(
        misses=tuple(group.row() for group in ranked),
        unknown=unknown_names(cycle.pod.pod, cycle.state, plugins),
        too_large=tuple(_too_large(cycle)),
    )


def _obstacles(cycle: Cycle, node: NodeInfo, verdicts: Sequence[Verdict]) -> Iterator[_Obstacle]:
    """The single obstacles of all objections: a filter may name several at once, or only the first of several."""
    cordoned = False
    for verdict in verdicts:
        status = verdict.status
        reason = status.reasons[0] if status.reasons else ""
        first = status.evidence[0] if status.evidence else None
        parts: Sequence[tuple[str, Evidence | None]] = [(reason, first)]
        if isinstance(first, CordonedNode):
            cordoned = True
        elif isinstance(first, InsufficientResource) and len(status.reasons) == len(status.evidence):
            parts = list(zip(status.reasons, status.evidence, strict=True))
        elif isinstance(first, UnmatchedSelector):
            parts = [(reason, part) for part in _requirements(first)]
        elif isinstance(first, UntoleratedTaint):
            # A node controller cordons by a taint as well: that is one obstacle, not two.
            parts = [(reason, taint) for taint in _taints(cycle, node, without_cordon=cordoned)]
        yield from (_Obstacle(verdict.plugin, status.code.value, text, part) for text, part in parts)


def _is_too_small(obstacle: _Obstacle) -> bool:
    """Whether not even an empty node has enough, so eviction cannot help."""
    evidence = obstacle.evidence
    return isinstance(evidence, InsufficientResource) and evidence.requested > evidence.allocatable


def _freed(cycle: Cycle, node: NodeInfo, obstacles: list[_Obstacle]) -> list[_Obstacle]:
    """Mark resources that evicting all pods of lower priority would free enough of, besides other obstacles.

    If room is the only obstacle, preemption itself has tried.
    """
    pod = cycle.pod
    short = [isinstance(obstacle.evidence, InsufficientResource) for obstacle in obstacles]
    if all(short) or not any(short) or pod.pod.spec.preemption_policy == "Never":
        return obstacles
    lower = [other.resources.requested for other in node.pods if other.priority < pod.priority]
    return [obstacle._replace(evictable=_is_freed(obstacle, lower)) for obstacle in obstacles]


def _is_freed(obstacle: _Obstacle, lower: Sequence[Resources]) -> bool:
    evidence = obstacle.evidence
    return isinstance(evidence, InsufficientResource) and lack(obstacle.evidence) <= _sum(lower, evidence)


def _sum(requests: Sequence[Resources], evidence: InsufficientResource) -> int:
    name = evidence.resource
    return len(requests) if name == PODS else sum(amounts.of(name) for amounts in requests)


def _requirements(evidence: UnmatchedSelector) -> Iterator[UnmatchedSelector]:
    """Every `key=value` of a node selector by itself; node affinity as a whole, since one of its terms is enough."""
    own = {f"{key}={value}": key for term in evidence.terms for key, eq, value in [term.partition("=")] if eq}
    pairs = {term: key for term, key in own.items() if key in evidence.labels}
    for term in evidence.terms:
        keys = [pairs[term]] if term in pairs else [key for key in evidence.labels if key not in pairs.values()]
        yield UnmatchedSelector((term,), {key: evidence.labels[key] for key in keys})


def _taints(cycle: Cycle, node: NodeInfo, *, without_cordon: bool) -> Iterator[UntoleratedTaint]:
    """All taints that keep the pod away: the filter names the first."""
    tolerations = cycle.pod.pod.spec.tolerations
    for taint in node.taints:
        if taint.effect not in (NO_SCHEDULE, NO_EXECUTE) or tolerated(taint, tolerations):
            continue
        if not (without_cordon and taint.key == UNSCHEDULABLE_TAINT.key):
            yield UntoleratedTaint(taint.key, taint.value, taint.effect)


def lack(evidence: Evidence | None) -> int:
    """By how much a resource is short; 0 for evidence without an amount."""
    if isinstance(evidence, InsufficientResource):
        return evidence.requested - (evidence.allocatable - evidence.used)
    return 0


def _too_large(cycle: Cycle) -> Iterator[TooLargeRow]:
    """Resources of which no node has enough, even when empty; one that no node has at all is an unknown name."""
    kinds, requested = {node.allocatable for node in cycle.state.nodes}, cycle.pod.resources.requested
    for name in requested.asked:
        largest = max((allocatable.of(name) for allocatable in kinds), default=0)
        if 0 < largest < requested.of(name):
            yield TooLargeRow(resource=name, requested=requested.of(name), largest=largest)


def unknown_names(pod: Pod, state: State, plugins: Collection[str]) -> tuple[UnknownNameRow, ...]:
    """Names of nodes' properties, and of objects, in the pod that do not exist.

    Only where it is an obstacle: `plugins` are those that object. A cluster without a single object of a kind is a dump
    without that kind, so nothing is said about it.
    """
    found: list[UnknownNameRow] = []
    if "NodeAffinity" in plugins:
        found.extend(sorted(_labels(pod.spec, state), key=_distance))
    if "TaintToleration" in plugins:
        found.extend(_tolerations(pod.spec, state))
    if "NodeResourcesFit" in plugins:
        found.extend(_resources(PodInfo(pod), state))
    return (*found, *unknown_objects(pod, state.cluster))


def unknown_objects(pod: Pod, cluster: Cluster) -> tuple[UnknownNameRow, ...]:
    """Missing objects that the pod names, also if the API server refuses it for that."""
    return tuple(_objects(pod, cluster))


# --- of nodes ----------------------------------------------------------------------------------------


def _labels(spec: PodSpec, state: State) -> Iterator[UnknownNameRow]:
    """Requirements that no node meets, of the node selector, and of affinity terms if none of them can be met."""
    for key, value in (spec.node_selector or {}).items():
        yield from _label(state, key, (value,))
    affinity = spec.affinity.node_affinity if spec.affinity else None
    terms = affinity.required.node_selector_terms if affinity and affinity.required else ()
    per_term = [[row for need in term.match_expressions for row in _needed_label(state, need)] for term in terms]
    if all(per_term):
        yield from dict.fromkeys(row for rows in per_term for row in rows)


def _distance(row: UnknownNameRow) -> float:
    """How far the nearest name is: the most likely mistake comes first."""
    names = re.split(r"[=(), ]+", row.name)
    close = [SequenceMatcher(None, name.lower(), near.name.lower()).ratio() for name in names for near in row.near]
    return -max(close, default=0.0)


def _needed_label(state: State, need: Requirement) -> Iterator[UnknownNameRow]:
    if need.operator == "In":
        yield from _label(state, need.key, need.values)
    elif need.operator in ("Exists", "Gt", "Lt"):
        yield from _label(state, need.key, ())


def _label(state: State, key: str, values: Sequence[str]) -> Iterator[UnknownNameRow]:
    """The label, if no node has it with any of the values; without values only the key counts."""
    known = Counter(node.labels[key] for node in state.nodes if key in node.labels)
    if any(value in known for value in values) or (known and not values):
        return
    name = key if not values else f"{key}={values[0]}" if len(values) == 1 else f"{key} in ({','.join(values)})"
    if known:
        near = list(dict.fromkeys(close for value in values for close in nearest(value, known)))
        yield _row("label", name, near, known)
        return
    keys = Counter(label for node in state.nodes for label in node.labels)
    yield _row("label", name, nearest(key, keys), keys)


def _tolerations(spec: PodSpec, state: State) -> Iterator[UnknownNameRow]:
    """Tolerations that match no taint, but are similar to an existing one; all others are usual."""
    taints = Counter(taint for node in state.nodes for taint in node.taints)
    by_text = {
        taint_text(taint): taint for taint in sorted(taints, key=lambda taint: (-taints[taint], taint_text(taint)))
    }
    counts = Counter({text: taints[taint] for text, taint in by_text.items()})
    for toleration in spec.tolerations:
        # Pods get those of Kubernetes itself by default, whatever taints there are.
        if (
            not toleration.key
            or toleration.key.startswith("node.kubernetes.io/")
            or any(tolerates(toleration, taint) for taint in taints)
        ):
            continue
        same = [text for text, taint in by_text.items() if taint.key == toleration.key]
        keys = {taint.key for taint in taints}
        near = same or [
            text for key in nearest(toleration.key, keys) for text, taint in by_text.items() if taint.key == key
        ]
        if near:
            yield _row("toleration", _toleration_text(toleration), near, counts)


def _toleration_text(toleration: Toleration) -> str:
    value = f"={toleration.value}" if toleration.value and toleration.operator != "Exists" else ""
    return f"{toleration.key}{value}" + (f":{toleration.effect}" if toleration.effect else "")


def _resources(pod: PodInfo, state: State) -> Iterator[UnknownNameRow]:
    """Extended resources that no node has."""
    known = Counter(name for node in state.nodes for name, _ in node.allocatable.scalars)
    for name, amount in pod.resources.requested.scalars:
        if amount > 0 and name not in known and is_scalar_resource(name):
            yield _row("resource", name, nearest(name, known), known)


# --- of objects --------------------------------------------------------------------------------------


def _objects(pod: Pod, cluster: Cluster) -> Iterator[UnknownNameRow]:
    spec, namespace = pod.spec, pod.metadata.namespace
    if namespace not in ("", *ALWAYS_THERE):
        yield from _object(cluster, "namespace", Namespace, namespace)
    if spec.priority_class_name:
        yield from _object(cluster, "priorityClass", PriorityClass, spec.priority_class_name)
    if spec.runtime_class_name:
        yield from _object(cluster, "runtimeClass", RuntimeClass, spec.runtime_class_name)
    for volume in spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield from _claim(cluster, namespace, volume.persistent_volume_claim.claim_name)
    for claim in spec.resource_claims:
        if claim.resource_claim_name:
            yield from _object(cluster, "resourceClaim", ResourceClaim, claim.resource_claim_name, namespace)


def _claim(cluster: Cluster, namespace: str, name: str) -> Iterator[UnknownNameRow]:
    claim = cluster.get(PersistentVolumeClaim, f"{namespace}/{name}")
    if claim is None:
        yield from _object(cluster, "persistentVolumeClaim", PersistentVolumeClaim, name, namespace)
    elif claim.spec.storage_class_name and not claim.spec.volume_name:
        yield from _object(cluster, "storageClass", StorageClass, claim.spec.storage_class_name)


_Kind = (
    type[Namespace]
    | type[PriorityClass]
    | type[RuntimeClass]
    | type[ResourceClaim]
    | type[PersistentVolumeClaim]
    | type[StorageClass]
)


def _object(cluster: Cluster, kind: NameKind, type_: _Kind, name: str, namespace: str = "") -> Iterator[UnknownNameRow]:
    known = cluster.all(type_)
    prefix = f"{namespace}/" if namespace else ""
    if not known or f"{prefix}{name}" in known:
        return
    yield _row(kind, name, nearest(name, (key.removeprefix(prefix) for key in known if key.startswith(prefix))))


def _row(kind: NameKind, name: str, near: Iterable[str], counts: Counter[str] | None = None) -> UnknownNameRow:
    rows = (NearNameRow(name=close, nodes=None if counts is None else counts[close]) for close in near)
    return UnknownNameRow(kind=kind, name=name, near=tuple(rows))
