"""DaemonSets: one pod per node (`pkg/controller/daemon/`: `daemon_controller.go`, `util/daemonset_util.go`)."""

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
from kwhatif.kube.model.meta import LabelSelector, Requirement, parse_time
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, PodSpec, PodTemplateSpec
from kwhatif.kube.model.pod_spec import Affinity, NodeAffinity, NodeSelector, NodeSelectorTerm, Toleration
from kwhatif.kube.model.workload import DaemonSet
from kwhatif.workloads.expansion import Expansion, ReplicaGroup
from kwhatif.workloads.generated import hash_of
from kwhatif.workloads.owners import reference_to
from kwhatif.workloads.replicas import names_for
from kwhatif.workloads.stateful_set import REVISION_LABEL
from kwhatif.workloads.template import content_of, pod_of

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
    """Whether its selector selects all pods, or none is given: its controller does not touch it then."""
    return daemon_set.spec.selector in (None, LabelSelector())


def newest_label(pods: Iterable[Pod]) -> str:
    """The revision of the pod that was made last; "" if none has one."""
    labelled = [pod for pod in pods if pod.metadata.labels.get(REVISION_LABEL)]
    newest = max(labelled, key=lambda pod: (_created_at(pod), pod.metadata.name), default=None)
    return "" if newest is None else newest.metadata.labels[REVISION_LABEL]


def _created_at(pod: Pod) -> int:
    created = pod.metadata.creation_timestamp
    return parse_time(created) if created else 0


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
