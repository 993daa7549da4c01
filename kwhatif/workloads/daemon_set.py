"""DaemonSets: one pod per node, and rolling updates (`pkg/controller/daemon/`: `daemon_controller.go`, `update.go`).

Upstream updates the nodes in the random order of a Go map; here, by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.kube.matching.nodes import (
    NAME_FIELD,
    NO_EXECUTE,
    NO_SCHEDULE,
    RequiredNodeAffinity,
    first_untolerated,
    no_execute_taints,
)
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import LabelSelector, Requirement, created_at
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, PodSpec, PodTemplateSpec
from kwhatif.kube.model.pod_spec import Affinity, NodeAffinity, NodeSelector, NodeSelectorTerm, Toleration
from kwhatif.kube.model.workload import DaemonSet, RollingUpdate, UpdateStrategy
from kwhatif.workloads.deployment import names_for
from kwhatif.workloads.names import hash_of, resolved
from kwhatif.workloads.owners import reference_to
from kwhatif.workloads.stateful_set import REVISION_LABEL
from kwhatif.workloads.template import Expansion, ReplicaGroup, content_of, pod_of

_EVICTING = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_KEEPING_AWAY = (
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/unschedulable",
)
_NETWORK = "node.kubernetes.io/network-unavailable"
_OWN_TOLERATIONS = (
    *(Toleration(key=key, operator="Exists", effect=NO_EXECUTE) for key in _EVICTING),
    *(Toleration(key=key, operator="Exists", effect=NO_SCHEDULE) for key in _KEEPING_AWAY),
)
_NETWORK_TOLERATION = Toleration(key=_NETWORK, operator="Exists", effect=NO_SCHEDULE)


class _Labelled(NamedTuple):
    """A node as node affinity sees it."""

    name: str
    labels: Mapping[str, str]


def eligible_nodes(daemon_set: DaemonSet, cluster: Cluster) -> list[str]:
    """The nodes that the controller wants a pod on, by name."""
    return [name for name, should_run in tolerable_nodes(daemon_set, cluster).items() if should_run]


def tolerable_nodes(daemon_set: DaemonSet, cluster: Cluster) -> dict[str, bool]:
    """The nodes on which a pod that runs may stay, by name, and whether one should be made (`NodeShouldRunDaemonPod`).

    Upstream goes through the nodes in the random order of an informer's store.
    """
    return tolerable_among(daemon_set, sorted(cluster.all(Node).items()))


def tolerable_among(daemon_set: DaemonSet, nodes: Iterable[tuple[str, Node]]) -> dict[str, bool]:
    """`tolerable_nodes` of these nodes.

    A cordon keeps no pod away. A taint that the pods do not tolerate keeps new ones away; with the effect NoExecute it
    also drives out those that run.
    """
    spec = (daemon_set.spec.template or PodTemplateSpec()).spec
    tolerations = with_own_tolerations(spec)
    affinity = RequiredNodeAffinity(spec)
    return {
        name: first_untolerated(node.spec.taints, tolerations) is None
        for name, node in nodes
        if spec.node_name in ("", name)
        and affinity.matches(_Labelled(name, node.metadata.labels))
        and first_untolerated(no_execute_taints(node), tolerations) is None
    }


def selects_all(daemon_set: DaemonSet) -> bool:
    """Whether it has no selector, or one that selects all pods: then its controller does nothing."""
    return daemon_set.spec.selector in (None, LabelSelector())


def newest_label(pods: Iterable[Pod]) -> str:
    """The revision of the newest pod; "" if no pod has one."""
    labelled = [pod for pod in pods if pod.metadata.labels.get(REVISION_LABEL)]
    newest = max(labelled, key=lambda pod: (created_at(pod.metadata), pod.metadata.name), default=None)
    return "" if newest is None else newest.metadata.labels[REVISION_LABEL]


def node_of(pod: Pod) -> str:
    """The node that a DaemonSet's pod is for: where it runs, or, while it waits, what its affinity names."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    for term in affinity.required.node_selector_terms if affinity and affinity.required else ():
        for field in term.match_fields:
            if not pod.spec.node_name and field.key == NAME_FIELD and field.operator == "In" and field.values:
                return field.values[0]
    return pod.spec.node_name


def own_tolerations(spec: PodSpec) -> tuple[Toleration, ...]:
    """The tolerations that the controller gives every pod."""
    return (*_OWN_TOLERATIONS, _NETWORK_TOLERATION) if spec.host_network else _OWN_TOLERATIONS


def with_own_tolerations(spec: PodSpec) -> tuple[Toleration, ...]:
    """The tolerations that the controller gives its pods, on top of the template's."""
    tolerations = spec.tolerations
    for own in own_tolerations(spec):
        tolerations = _with(tolerations, own)
    return tolerations


def _with(tolerations: tuple[Toleration, ...], own: Toleration) -> tuple[Toleration, ...]:
    """In place of one that differs only in its seconds (`AddOrUpdateTolerationInPodSpec`)."""
    updated = tuple(own if replace(other, toleration_seconds=None) == own else other for other in tolerations)
    return updated if own in updated else (*tolerations, own)


def expand_daemon_set(daemon_set: DaemonSet, nodes: Sequence[str], cluster: Cluster) -> Expansion:
    """The pods for these nodes."""
    pod = daemon_pod(daemon_set, cluster)
    return pinned_pods(pod, nodes, names_for(pod, cluster))


def pinned_pods(pod: Pod, nodes: Iterable[str], names: Iterator[str]) -> Expansion:
    """Pods like this one for these nodes, with the next of the names."""
    return Expansion(tuple(_groups(pod, zip(nodes, names, strict=False))))


def daemon_pod(daemon_set: DaemonSet, cluster: Cluster) -> Pod:
    """A pod of the DaemonSet, for no node yet."""
    template = daemon_set.spec.template or PodTemplateSpec()
    # The deprecated generation of the template: that of a new DaemonSet.
    labels = {REVISION_LABEL: hash_of(content_of(template)), "pod-template-generation": "1"}
    pod = pod_of(template, daemon_set.metadata.namespace, reference_to(daemon_set, cluster), labels)
    return replace(pod, spec=replace(pod.spec, tolerations=with_own_tolerations(pod.spec)))


def _groups(pod: Pod, places: Iterable[tuple[str, str]]) -> Iterable[ReplicaGroup]:
    for node, name in places:
        yield ReplicaGroup(pinned(pod, node), (name,))


def pinned(pod: Pod, node: str) -> Pod:
    """The pod for this node only."""
    return replace(pod, spec=replace(pod.spec, affinity=_pinned(pod.spec.affinity or Affinity(), node)))


def _pinned(affinity: Affinity, node: str) -> Affinity:
    """Required node affinity is replaced: the controller has judged it (`ReplaceDaemonSetPodNodeNameNodeAffinity`)."""
    name = Requirement(key=NAME_FIELD, operator="In", values=(node,))
    required = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(name,)),))
    return replace(affinity, node_affinity=replace(affinity.node_affinity or NodeAffinity(), required=required))


class DesiredNodeCounts(NamedTuple):
    """On how many nodes a DaemonSet wants a pod, how many may lack it, and how many may have two, during a rollout."""

    wanted: int
    unavailable: int
    surge: int


class NodeMoves(NamedTuple):
    """Nodes on which a new pod is created, and nodes whose old pod is deleted."""

    create: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()


def bounds_of(strategy: UpdateStrategy, wanted: int) -> DesiredNodeCounts:
    """The bounds of a rolling update (`updatedDesiredNodeCounts`)."""
    rolling = strategy.rolling_update or RollingUpdate()
    surge = resolved(rolling.max_surge, wanted, default=0, round_up=True)
    unavailable = resolved(rolling.max_unavailable, wanted, default=1, round_up=True)
    return DesiredNodeCounts(wanted, unavailable if unavailable or surge else 1, surge)


class DaemonPodsOnNode(NamedTuple):
    """The pods of the DaemonSet on one node that are not terminating, at most one of each template."""

    #: Their keys.
    old: str | None
    new: str | None
    old_available: bool
    new_available: bool
    #: Whether a pod is made there.
    should_run: bool
    #: There are several pods of one template: nothing is done there until only one is left.
    is_crowded: bool

    @classmethod
    def of(cls, pods: Iterable[tuple[str, bool, bool]], *, should_run: bool) -> DaemonPodsOnNode:
        """Made of each pod's key, whether it has the new template, and whether it is available."""
        found: dict[bool, tuple[str, bool]] = {}
        is_crowded = False
        for key, is_new, available in pods:
            is_crowded |= is_new in found
            found.setdefault(is_new, (key, available))
        (old, old_available), (new, new_available) = found.get(False, (None, False)), found.get(True, (None, False))
        return cls(old, new, old_available, new_available, should_run, is_crowded)


def rolling_update(nodes: Mapping[str, DaemonPodsOnNode], strategy: UpdateStrategy, wanted: int) -> NodeMoves:
    """One step (`rollingUpdate`): nodes that get a new pod, and keys of the old pods that go.

    Args:
        nodes: that have any pod, terminating ones included, by name.
        strategy: of the DaemonSet.
        wanted: how many nodes should have a pod.
    """
    bounds = bounds_of(strategy, wanted)
    return _beside(nodes, bounds) if bounds.surge else _instead(nodes, bounds)


def _instead(nodes: Mapping[str, DaemonPodsOnNode], bounds: DesiredNodeCounts) -> NodeMoves:
    """Old pods that are not available go at once, and as many others as may be missing.

    QUIRK: a node whose only pod is terminating counts as one where it is missing, also if it never ends.
    """
    missing, idle, candidates = 0, [], []
    for node in nodes.values():
        if node.is_crowded or (node.old is None) == (node.new is None):
            missing += 1
        elif node.old is None:
            missing += not node.new_available
        elif node.old_available:
            candidates.append(node.old)
        else:
            missing += 1
            idle.append(node.old)
    return NodeMoves(delete=(*idle, *candidates[: max(0, bounds.unavailable - missing)]))


def _beside(nodes: Mapping[str, DaemonPodsOnNode], bounds: DesiredNodeCounts) -> NodeMoves:
    """New pods come beside old ones, which go once the new ones are available."""
    create: list[str] = []
    candidates: list[str] = []
    delete: list[str] = []
    leaving: list[str] = []
    surging = available = 0
    for name, node in nodes.items():
        if node.is_crowded:
            surging += 1
            continue
        available += node.new_available if node.old is None else node.old_available
        if node.old is None:
            continue
        if node.new is not None:
            if node.new_available:
                delete.append(node.old)
            else:
                surging += 1
        elif not node.should_run:
            (leaving if node.old_available else delete).append(node.old)
        else:
            (candidates if node.old_available else create).append(name)
    spare = max(0, available - bounds.wanted)
    more = max(0, bounds.surge - surging)
    return NodeMoves((*create, *candidates[:more]), (*delete, *leaving[:spare]))
