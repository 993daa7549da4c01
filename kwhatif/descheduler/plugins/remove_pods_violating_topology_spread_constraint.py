"""RemovePodsViolatingTopologySpreadConstraint (`framework/plugins/removepodsviolatingtopologyspreadconstraint`).

Domains of equal size are in the order of their first node; upstream's order is that of a map.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from kwhatif.descheduler.attempt import Skew
from kwhatif.descheduler.handle import Handle, Result, chosen
from kwhatif.descheduler.node_fit import keeps_away, placement_key, untolerated
from kwhatif.descheduler.policy import RemovePodsViolatingTopologySpreadConstraintArgs
from kwhatif.kube.matching.labels import Selector, SelectorError, compile_selector
from kwhatif.kube.matching.nodes import RequiredNodeAffinity, named
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.go_sort import go_sort
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_spec import TopologySpreadConstraint

_HONOR = "Honor"


class _Domain(msgspec.Struct):
    """The nodes with one value of the topology key, and the pods that count on them."""

    value: str
    pods: list[Pod]


class _Constraint(msgspec.Struct, frozen=True):
    """A constraint, compiled for one of the pods that have it (`newTopologySpreadConstraint`)."""

    pod: Pod
    max_skew: int
    topology_key: str
    selector: Selector
    required: RequiredNodeAffinity | None
    honors_taints: bool

    def includes(self, node: Node) -> bool:
        """`matchNodeInclusionPolicies`."""
        if self.required is not None and not self.required.matches(named(node)):
            return False
        return not self.honors_taints or untolerated(self.pod, node.spec.taints, keeps_away) is None


def remove_pods_violating_topology_spread_constraint(
    args: RemovePodsViolatingTopologySpreadConstraintArgs, handle: Handle
) -> str:
    """Evict pods of domains with too many pods, if they fit in domains with too few."""
    choose = chosen(args.namespaces, args.label_selector)
    namespaces: dict[str, list[Pod]] = {}
    for pod in handle.sandbox.active_on(handle.nodes):
        if choose(pod) and handle.evictor.filter(pod):
            namespaces.setdefault(pod.metadata.namespace, []).append(pod)
    marked: dict[str, tuple[Pod, Skew]] = {}
    for pods in namespaces.values():
        for constraint in _constraints(pods, args.constraints):
            balance = _Balance(constraint, pods, handle, needs_fit=args.topology_balance_node_fit is not False)
            for pod, why in balance.to_evict():
                marked.setdefault(key_of(pod), (pod, why))
    full: set[str] = set()
    for pod, why in marked.values():
        if pod.spec.node_name in full or not handle.is_evictable(pod):
            continue
        result = handle.evict(pod, why)
        if result is Result.TOTAL_LIMIT:
            break
        if result is Result.NODE_LIMIT:
            full.add(pod.spec.node_name)
    return ""


def _constraints(pods: Sequence[Pod], actions: Sequence[str]) -> Iterator[_Constraint]:
    """The pods' constraints without duplicates and without those whose selector is not valid."""
    seen: set[object] = set()
    for pod in pods:
        for constraint in pod.spec.topology_spread_constraints:
            if constraint.when_unsatisfiable not in actions:
                continue
            key = _identity(constraint, pod)
            if key in seen:
                continue
            seen.add(key)
            try:
                yield _compiled(constraint, pod)
            except SelectorError:
                continue


def _compiled(constraint: TopologySpreadConstraint, pod: Pod) -> _Constraint:
    selector = compile_selector(constraint.label_selector)
    labels = pod.metadata.labels
    pairs = [(key, labels[key]) for key in constraint.match_label_keys if key in labels]
    honors_affinity = (constraint.node_affinity_policy or _HONOR) == _HONOR
    return _Constraint(
        pod=pod,
        max_skew=constraint.max_skew,
        topology_key=constraint.topology_key,
        selector=selector.and_equals(pairs),
        required=RequiredNodeAffinity(pod.spec) if honors_affinity else None,
        honors_taints=constraint.node_taints_policy == _HONOR,
    )


def _identity(constraint: TopologySpreadConstraint, pod: Pod) -> object:
    """Equal for equal constraints: a constraint that is processed twice changes nothing more, and only takes longer."""
    values = [pod.metadata.labels.get(key) for key in constraint.match_label_keys]
    return msgspec.json.encode((constraint, values, *placement_key(pod)))


class _Balance:
    """One constraint in one namespace."""

    def __init__(self, constraint: _Constraint, pods: Sequence[Pod], handle: Handle, *, needs_fit: bool) -> None:
        self._constraint = constraint
        self._handle = handle
        self._needs_fit = needs_fit
        self._included = [node for node in handle.nodes if constraint.includes(node)]
        self._domains = self._count(pods)
        self._fits: dict[str, bool] = {}
        self._below: list[Node] = []
        self._sizes: Mapping[str, int] = {}

    def _count(self, pods: Sequence[Pod]) -> list[_Domain]:
        """Domains of included nodes, even without pods, and domains of pods that count, on any node."""
        key, selector = self._constraint.topology_key, self._constraint.selector
        nodes = {node.metadata.name: node for node in self._handle.nodes}
        domains: dict[str, _Domain] = {}
        for node in self._included:
            if key in node.metadata.labels:
                value = node.metadata.labels[key]
                domains.setdefault(value, _Domain(value, []))
        for pod in pods:
            if pod.metadata.deletion_timestamp is not None or not selector.matches(pod.metadata.labels):
                continue
            found = nodes[pod.spec.node_name].metadata.labels.get(key)
            if found is not None:
                domains.setdefault(found, _Domain(found, [])).pods.append(pod)
        return list(domains.values())

    def to_evict(self) -> Iterator[tuple[Pod, Skew]]:
        """The surplus pods (`topologyIsBalanced`, `balanceDomains`)."""
        counts = [len(domain.pods) for domain in self._domains]
        if not counts or max(counts) - min(counts) <= self._constraint.max_skew:
            return
        average = sum(counts) / len(counts)
        for domain in self._domains:
            go_sort(domain.pods, self._goes_before)
        domains = sorted(self._domains, key=lambda domain: len(domain.pods))
        self._sizes = {domain.value: len(domain.pods) for domain in domains}
        self._below = self._nodes_below(average)
        low, high = 0, len(domains) - 1
        while low < high:
            if len(domains[high].pods) <= average:
                high -= 1  # QUIRK: continues with the next domain without this check
            count = self._movable(domains[low], domains[high], average)
            if count <= 0:
                low += 1
                continue
            yield from self._move(domains[low], domains[high], count, domains[0])

    def _movable(self, low: _Domain, high: _Domain, average: float) -> int:
        """The number of pods to move from the high domain to the low one."""
        skew = len(high.pods) - len(low.pods)
        if skew <= self._constraint.max_skew:
            return 0
        above = math.ceil(len(high.pods) - average)
        below = math.ceil(average - len(low.pods))
        return min(above, below, math.ceil((skew - self._constraint.max_skew) / 2))

    def _move(self, low: _Domain, high: _Domain, count: int, lowest: _Domain) -> Iterator[tuple[Pod, Skew]]:
        """The last pods of the high domain, preferring pods that fit in domains with few pods."""
        high.pods.sort(key=self._fits_below)
        moved = high.pods[-count:]
        why = Skew(
            topology_key=self._constraint.topology_key,
            domain=high.value,
            pods=self._sizes[high.value],
            lowest=lowest.value,
            lowest_pods=self._sizes[lowest.value],
            max_skew=self._constraint.max_skew,
        )
        for pod in moved:
            if not self._needs_fit or self._fits_below(pod):
                yield pod, why
        del high.pods[-count:]
        low.pods += moved

    def _nodes_below(self, average: float) -> list[Node]:
        """Included nodes in domains with fewer pods than the average."""
        key = self._constraint.topology_key
        keyed = [node for node in self._included if key in node.metadata.labels]
        return [node for node in keyed if self._sizes[node.metadata.labels[key]] < average]

    def _fits_below(self, pod: Pod) -> bool:
        name = key_of(pod)
        if name not in self._fits:
            self._fits[name] = self._handle.fit.fits_another(pod, self._below)
        return self._fits[name]

    def _goes_before(self, one: Pod, other: Pod) -> bool:
        """Protected pods come first, then pods that select nodes: the last ones are evicted (`sortDomains`).

        QUIRK: among equals, pods of the highest priority come last; upstream's comment says the opposite.
        """
        evictable, other_evictable = self._handle.evictor.filter(one), self._handle.evictor.filter(other)
        if not (evictable and other_evictable):
            return not (evictable and not other_evictable)
        selective, other_selective = _is_selective(one), _is_selective(other)
        if selective == other_selective:
            return not _is_above(one.spec.priority, other.spec.priority)
        return selective


def _is_selective(pod: Pod) -> bool:
    """Whether the pod has a node selector or node affinity, even an empty one."""
    affinity = pod.spec.affinity
    return pod.spec.node_selector is not None or (affinity is not None and affinity.node_affinity is not None)


def _is_above(priority: int | None, other: int | None) -> bool:
    """`comparePodsByPriority`; of two pods without priority each is above the other."""
    if priority is not None and other is not None:
        return priority > other
    return other is None
