"""The template of a group's new nodes (`processors/nodeinfosprovider/mixed_nodeinfos_processor.go`).

A node of the group that is ready, stable and not being deleted is copied; otherwise the group's own template is used;
otherwise any node of the group. The template has the DaemonSet pods and mirror pods of the copied node
(`simulator/node_info_utils.go`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.autoscaler.cluster_autoscaler.flags import Flags
from kwhatif.autoscaler.cluster_autoscaler.groups import NodeGroup, NodeGroups
from kwhatif.autoscaler.cluster_autoscaler.nodes import (
    is_marked_for_deletion,
    is_passing_taint,
    is_startup_taint,
    readiness,
)
from kwhatif.autoscaler.cluster_autoscaler.pods import is_daemon, is_mirror
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.meta import SECOND, controller_of
from kwhatif.kube.model.node import HOSTNAME, REGION, ZONE, Node, NodeStatus, Taint
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.storage import CSINode
from kwhatif.kube.model.workload import DaemonSet
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.state import State
from kwhatif.workloads.daemon_set import daemon_pod, tolerable_among

_TEMPLATE_LABEL = "cluster-autoscaler.kubernetes.io/template-node"
#: Nanoseconds: a node is not used as a template in its first minute of being ready.
_STABILIZATION = 60 * SECOND
#: New label -> the deprecated label that template nodes also get (`utils/labels/labels.go`).
_DEPRECATED = {
    "node.kubernetes.io/instance-type": "beta.kubernetes.io/instance-type",
    REGION: "failure-domain.beta.kubernetes.io/region",
    ZONE: "failure-domain.beta.kubernetes.io/zone",
}


class Template(msgspec.Struct, frozen=True):
    """A node, the pods that every new node has, and its CSINode."""

    group: str
    node: Node
    pods: tuple[Pod, ...]
    csi_node: CSINode | None = None
    #: Taints that new nodes have only while they start.
    startup_taints: tuple[Taint, ...] = ()

    def made(self, suffix: str) -> tuple[Node, Sequence[Pod], Sequence[KubernetesObject]]:
        """A new node, its pods, and its other objects; `suffix` makes their names unique."""
        name = f"{self.node.metadata.name}-{suffix}"
        csi_node = self.csi_node
        besides = (
            () if csi_node is None else (replace(csi_node, metadata=replace(csi_node.metadata, name=name, uid="")),)
        )
        return _renamed(self.node, name), [_on(pod, name, suffix) for pod in self.pods], besides

    def real(self) -> Template:
        """The template of real new nodes: named after the group, without the label of template nodes."""
        meta = self.node.metadata
        labels = {name: value for name, value in meta.labels.items() if name != _TEMPLATE_LABEL}
        name = self.group.replace("/", "-")
        spec = replace(self.node.spec, provider_id="")
        return replace(self, node=replace(self.node, metadata=replace(meta, name=name, labels=labels), spec=spec))

    def info(self) -> NodeInfo:
        """The node with its pods, as in a state."""
        state = State(Cluster([self.node, *self.pods]))
        return state.by_name[self.node.metadata.name]


def _renamed(node: Node, name: str) -> Node:
    labels = {**node.metadata.labels, HOSTNAME: name}
    return replace(node, metadata=replace(node.metadata, name=name, uid="", labels=labels))


def _on(pod: Pod, node: str, suffix: str) -> Pod:
    meta = replace(pod.metadata, name=f"{pod.metadata.name}-{suffix}", uid="")
    return replace(pod, metadata=meta, spec=replace(pod.spec, node_name=node))


def templates_of(
    settings: NodeGroups, state: State, now: int, cached: Mapping[str, Template] | None = None
) -> Mapping[str, Template]:
    """The template of each group that has one, by the group's name.

    Args:
        settings: the groups.
        state: the cluster.
        now: nanoseconds since the epoch.
        cached: the templates that the autoscaler has kept of earlier good examples.
    """
    known = cached or {}
    found = {
        group.name: _template_of(group, settings.flags, state, now, known.get(group.name)) for group in settings.groups
    }
    given = {group.name: group.template for group in settings.groups}
    return {
        name: replace(template, startup_taints=_startup_taints(given[name], settings.flags))
        for name, template in found.items()
        if template is not None
    }


def _startup_taints(node: Node | None, flags: Flags) -> tuple[Taint, ...]:
    """The startup taints in a group's own template: a node that has started no longer has them."""
    taints = () if node is None else node.spec.taints
    return tuple(taint for taint in taints if is_startup_taint(taint.key, flags))


def copied_templates(settings: NodeGroups, state: State, now: int) -> Mapping[str, Template]:
    """The templates of groups with a node that is a good example; they are kept when the node is deleted."""
    examples = {group.name: _example(_nodes(group, state), settings.flags, now) for group in settings.groups}
    return {
        name: _copied(example, name, settings.flags, state) for name, example in examples.items() if example is not None
    }


def _nodes(group: NodeGroup, state: State) -> Sequence[NodeInfo]:
    return [state.by_name[name] for name in sorted(group.nodes) if name in state.by_name]


def _example(nodes: Iterable[NodeInfo], flags: Flags, now: int) -> NodeInfo | None:
    return next((node for node in nodes if _is_good_example(node.node, flags, now)), None)


def _template_of(group: NodeGroup, flags: Flags, state: State, now: int, cached: Template | None) -> Template | None:
    nodes = _nodes(group, state)
    good = _example(nodes, flags, now)
    if good is not None:
        return _copied(good, group.name, flags, state)
    if cached is not None:
        return cached
    if group.template is not None:
        return _from_template(group.template, group.name, flags, state)
    return _copied(nodes[0], group.name, flags, state) if nodes else None


def _is_good_example(node: Node, flags: Flags, now: int) -> bool:
    ready, since = readiness(node, flags)
    is_stable = since + _STABILIZATION < now
    return ready and is_stable and not node.spec.unschedulable and not is_marked_for_deletion(node)


def _copied(example: NodeInfo, group: str, flags: Flags, state: State) -> Template:
    node = _sanitized(example.node, group, flags)
    kept = [info.pod for info in example.pods if info.pod.metadata.deletion_timestamp is None]
    running = [pod for pod in kept if is_mirror(pod) or is_daemon(pod)]
    owners = (controller_of(pod.metadata) for pod in kept)
    there = frozenset(owner.uid for owner in owners if owner is not None and owner.kind == "DaemonSet")
    missing = (pod for pod in _daemons(node, there, state.cluster) if flags.force_ds or _preempts(pod))
    csi_node = state.cluster.get(CSINode, example.name) if flags.enable_csi_node_aware_scheduling else None
    return _finished(node, group, [*running, *missing], csi_node)


def _from_template(template: Node, group: str, flags: Flags, state: State) -> Template:
    node = _sanitized(template, group, flags)
    made = _finished(node, group, list(_daemons(node, frozenset(), state.cluster)))
    labels = made.node.metadata.labels
    beta = {_DEPRECATED[name]: labels[name] for name in _DEPRECATED if name in labels}
    return replace(made, node=replace(made.node, metadata=replace(made.node.metadata, labels={**labels, **beta})))


def _finished(node: Node, group: str, pods: Iterable[Pod], csi_node: CSINode | None = None) -> Template:
    labels = {**node.metadata.labels, _TEMPLATE_LABEL: "true"}
    node = replace(node, metadata=replace(node.metadata, labels=labels))
    name = node.metadata.name
    placed = tuple(replace(pod, spec=replace(pod.spec, node_name=name)) for pod in pods)
    return Template(group, node, placed, csi_node)


def _sanitized(node: Node, group: str, flags: Flags) -> Node:
    """The node under another name, without taints of its state, and without its images."""
    taints = tuple(taint for taint in node.spec.taints if not is_passing_taint(taint.key, flags))
    unschedulable = node.spec.unschedulable and not flags.scale_from_unschedulable
    status = node.status
    return _renamed(
        replace(
            node,
            spec=replace(node.spec, taints=taints, unschedulable=unschedulable),
            status=NodeStatus(
                capacity=status.capacity,
                allocatable=status.allocatable,
                declared_features=status.declared_features,
                conditions=status.conditions,
            ),
        ),
        f"template-node-for-{group}",
    )


def _daemons(node: Node, running: frozenset[str], cluster: Cluster) -> Iterator[Pod]:
    """Pods of the DaemonSets that should run on the node, but do not."""
    name = node.metadata.name
    for daemon_set in cluster.all(DaemonSet).values():
        if daemon_set.metadata.uid in running and daemon_set.metadata.uid:
            continue
        if tolerable_among(daemon_set, [(name, node)]).get(name):
            pod = daemon_pod(daemon_set, cluster)
            yield replace(pod, metadata=replace(pod.metadata, name=f"{daemon_set.metadata.name}-pod"))


def _preempts(pod: Pod) -> bool:
    """Whether the pod gets room by preemption in any case (`isPreemptingSystemNodeCritical`)."""
    is_critical = pod.spec.priority_class_name == "system-node-critical"
    return is_critical and pod.spec.preemption_policy in ("", "PreemptLowerPriority")
