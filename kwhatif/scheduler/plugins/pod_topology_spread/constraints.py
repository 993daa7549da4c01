"""Spread constraints, compiled, and the pods that they count (`podtopologyspread/common.go`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy

import msgspec

from kwhatif.kube.matching.labels import Labels, Selector, SelectorError, compile_selector, selector_of_map
from kwhatif.kube.matching.nodes import RequiredNodeAffinity, first_untolerated, named_nodes
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.node import HOSTNAME, ZONE
from kwhatif.kube.model.pod import Pod, PodSpec, node_affinity_of
from kwhatif.kube.model.pod_spec import TopologySpreadConstraint
from kwhatif.kube.model.workload import ReplicaSet, ReplicationController, Service, StatefulSet
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_index import PodIndex
from kwhatif.state.pod_info import PodInfo


def default_selector(pod: Pod, cluster: Cluster) -> Selector:
    """The selectors of the pod's Services and of its controller, combined (`helper/spread.go`); empty if none."""
    meta = pod.metadata
    equals: dict[str, str] = {}
    for service in cluster.all(Service).values():
        wanted = service.spec.selector
        if (
            service.metadata.namespace == meta.namespace
            and wanted is not None
            and wanted.items() <= meta.labels.items()
        ):
            equals.update(wanted)
    owner = controller_of(meta)
    if owner is None:
        return selector_of_map(equals)
    key = f"{meta.namespace}/{owner.name}"
    match owner.api_version, owner.kind:
        case "v1", "ReplicationController":
            controller = cluster.get(ReplicationController, key)
            return selector_of_map({**equals, **(controller.spec.selector or {})} if controller else equals)
        case "apps/v1", "ReplicaSet":
            return _and_set(selector_of_map(equals), cluster.get(ReplicaSet, key))
        case "apps/v1", "StatefulSet":
            return _and_set(selector_of_map(equals), cluster.get(StatefulSet, key))
    return selector_of_map(equals)


def _and_set(selector: Selector, owner: ReplicaSet | StatefulSet | None) -> Selector:
    """The selector with the requirements of the owner's selector; a missing or invalid selector adds none."""
    if owner is None:
        return selector
    try:
        other = compile_selector(owner.spec.selector)
    except SelectorError:
        return selector
    return selector if other.nothing else selector.and_selector(other)


SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(topology_key=HOSTNAME, when_unsatisfiable="ScheduleAnyway", max_skew=3),
    TopologySpreadConstraint(topology_key=ZONE, when_unsatisfiable="ScheduleAnyway", max_skew=5),
)


class SpreadConstraint(msgspec.Struct, frozen=True):
    """One constraint."""

    max_skew: int
    topology_key: str
    selector: Selector
    min_domains: int
    honor_affinity: bool
    honor_taints: bool


def compile_constraints(
    constraints: Iterable[TopologySpreadConstraint], pod_labels: Labels, action: str
) -> tuple[SpreadConstraint, ...]:
    """The constraints with that action (`whenUnsatisfiable`).

    Raises:
        SelectorError: the selector of a constraint is not valid.
    """
    return tuple(
        _compile(constraint, pod_labels) for constraint in constraints if constraint.when_unsatisfiable == action
    )


def _compile(constraint: TopologySpreadConstraint, pod_labels: Labels) -> SpreadConstraint:
    selector = compile_selector(constraint.label_selector)
    pairs = [(key, pod_labels[key]) for key in constraint.match_label_keys if key in pod_labels]
    return SpreadConstraint(
        max_skew=constraint.max_skew,
        topology_key=constraint.topology_key,
        selector=selector.and_equals(pairs),
        min_domains=1 if constraint.min_domains is None else constraint.min_domains,
        honor_affinity=constraint.node_affinity_policy in (None, "Honor"),
        honor_taints=constraint.node_taints_policy == "Honor",
    )


def with_default_selector(
    constraints: Sequence[SpreadConstraint], pod: PodInfo, cluster: Cluster
) -> tuple[SpreadConstraint, ...]:
    """Default constraints with the pod's default selector; none if the pod has no default selector."""
    selector = default_selector(pod.pod, cluster)
    if selector.empty:
        return ()
    return tuple(msgspec.structs.replace(constraint, selector=selector) for constraint in constraints)


class Eligibility:
    """Which constraints include a node (`matchNodeInclusionPolicies`), computed once per node shape."""

    def __init__(self, pod: PodInfo, constraints: Sequence[SpreadConstraint], unfixed: frozenset[str]) -> None:
        self._required = RequiredNodeAffinity(pod.pod.spec)
        self._tolerations = pod.pod.spec.tolerations
        self._policies = tuple((constraint.honor_affinity, constraint.honor_taints) for constraint in constraints)
        #: Whether taints affect which nodes are included.
        self.honors_taints = any(constraint.honor_taints for constraint in constraints)
        #: Whether nodes of one shape may differ.
        self.per_node = self._required.reads_name or not unfixed.isdisjoint(self._required.keys)
        self._only = _named(pod.pod.spec) if all(constraint.honor_affinity for constraint in constraints) else None
        self._known: dict[str | int, tuple[bool, ...]] = {}

    def fork(self) -> Eligibility:
        """An independent copy for a fork of the state, where another node may have the same name."""
        if not self.per_node:
            return self
        other = copy(self)
        other._known = self._known.copy()
        return other

    def candidates(self, nodes: Sequence[NodeInfo]) -> Sequence[NodeInfo]:
        """The nodes that may be eligible: the affinity of a DaemonSet's pod lists one node of thousands."""
        only = self._only
        return nodes if only is None else [node for node in nodes if node.name in only]

    def of(self, node: NodeInfo) -> tuple[bool, ...]:
        """For each constraint, whether the node is eligible."""
        where = node.name if self.per_node else node.shape
        known = self._known.get(where)
        if known is None:
            known = self._known[where] = self._judge(node)
        return known

    def _judge(self, node: NodeInfo) -> tuple[bool, ...]:
        selected = self._required.matches(node)
        tolerated = first_untolerated(node.taints, self._tolerations) is None
        return tuple(
            (selected or not honor_affinity) and (tolerated or not honor_taints)
            for honor_affinity, honor_taints in self._policies
        )


def _named(spec: PodSpec) -> frozenset[str] | None:
    """The node names in the pod's required affinity; None if there are none."""
    required = node_affinity_of(spec).required
    return None if required is None else named_nodes(required.node_selector_terms)


class ConstraintMatches:
    """Which constraints match a pod, and how many matching pods are on the nodes."""

    def __init__(self, pod: PodInfo, constraints: Sequence[SpreadConstraint]) -> None:
        #: Only pods of this namespace are counted.
        self.namespace = pod.namespace
        self._selectors = [constraint.selector for constraint in constraints]
        self._known: dict[PodInfo, tuple[int, ...]] = {}
        #: Names of nodes that have, or had, pods that a constraint matches; found by `by_node`.
        self.nodes: set[str] = set()

    def fork(self) -> ConstraintMatches:
        """An independent copy for a fork of the state."""
        other = copy(self)
        other._known, other.nodes = {}, self.nodes.copy()
        return other

    def of(self, pod: PodInfo) -> tuple[int, ...]:
        """The constraints whose selector matches the pod; none for a pod of another namespace."""
        if pod.namespace != self.namespace:
            return ()
        known = self._known.get(pod)
        if known is None:
            labels = pod.labels
            known = tuple(index for index, selector in enumerate(self._selectors) if selector.matches(labels))
            self._known[pod] = known
        return known

    def counting(self, pod: PodInfo) -> tuple[int, ...]:
        """The constraints that count the pod; none if it is being deleted."""
        # QUIRK: (common.go, countPodsMatchSelector) an empty selector matches every pod, but counts none.
        return () if pod.terminating else tuple(index for index in self.of(pod) if not self._selectors[index].empty)

    def by_node(self, index: PodIndex) -> list[dict[str, int]]:
        """For each constraint, the number of matching pods by node name, without pods that are being deleted."""
        counts: list[dict[str, int]] = []
        for selector in self._selectors:
            on_node: dict[str, int] = {}
            for group in index.labels.matching(self.namespace, selector):
                self.nodes.update(group.pods)
                # QUIRK: (common.go, countPodsMatchSelector) an empty selector matches every pod, but counts none.
                for node_name, number in () if selector.empty else group.pods.items():
                    live = number - group.terminating.get(node_name, 0)
                    on_node[node_name] = on_node.get(node_name, 0) + live
            counts.append(on_node)
        return counts

    def on(self, node: NodeInfo) -> list[int]:
        """For each constraint, the number of matching pods on this node, without pods that are being deleted."""
        live = [pod.labels for pod in node.pods if pod.namespace == self.namespace and not pod.terminating]
        return [
            0 if selector.empty else sum(1 for labels in live if selector.matches(labels))
            for selector in self._selectors
        ]


def has_all(labels: Mapping[str, str], keys: Sequence[str]) -> bool:
    """Whether the node has every topology key (`nodeLabelsMatchSpreadConstraints`)."""
    for key in keys:  # noqa: SIM110 - asked per node and per pod: a generator would double the cost
        if key not in labels:
            return False
    return True
