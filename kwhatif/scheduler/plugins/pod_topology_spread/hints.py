"""Events that may help a pod with spread constraints (the hints in `podtopologyspread/plugin.go`)."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.scheduler.framework.hints import (
    QUEUE,
    QUEUE_SKIP,
    Keys,
    QueueingHint,
    changed_keys,
    is_same_pod,
    is_scheduled,
    queue_if,
)
from kwhatif.scheduler.plugins.pod_topology_spread.constraints import SpreadConstraint, has_all
from kwhatif.state.pod_info import PodInfo


def is_involved(pod: PodInfo, other: Pod) -> bool:
    """Whether the other pod can count for this one (`involvedInTopologySpreading`)."""
    return is_same_pod(pod, other) or (is_scheduled(other) and other.metadata.namespace == pod.namespace)


def after_pod_change(
    pod: PodInfo, old: Pod | None, new: Pod | None, constraints: Sequence[SpreadConstraint]
) -> QueueingHint:
    """A pod that a constraint matches is added, deleted, or changes its match; or the pod's tolerations change."""
    if old is None or new is None:
        one = new if old is None else old
        return queue_if(one is not None and any(_speaks_of(constraint, one) for constraint in constraints))
    honored = any(constraint.honor_taints for constraint in constraints)
    if honored and is_same_pod(pod, new) and old.spec.tolerations != new.spec.tolerations:
        return QUEUE
    return queue_if(any(_speaks_of(constraint, old) != _speaks_of(constraint, new) for constraint in constraints))


def _speaks_of(constraint: SpreadConstraint, pod: Pod) -> bool:
    return constraint.selector.matches(pod.metadata.labels)


def after_node_change(old: Node | None, new: Node | None, constraints: Sequence[SpreadConstraint]) -> QueueingHint:
    """A node with all topology keys is added or deleted, or changes its domains or taints."""
    keys = [constraint.topology_key for constraint in constraints]
    before, after = ({} if node is None else node.metadata.labels for node in (old, new))
    counted_before, counted_after = (
        node is not None and has_all(labels, keys) for node, labels in ((old, before), (new, after))
    )
    if old is None or new is None or counted_before != counted_after:
        return queue_if(counted_before or counted_after)
    if not counted_after:
        return QUEUE_SKIP
    return queue_if(old.spec.taints != new.spec.taints or any(before[key] != after[key] for key in keys))


def pods_of_event(old: Pod | None, new: Pod | None, _cluster: Cluster) -> Keys:
    """Namespaces and labels of the pods of an event; a new toleration matters only to the pod itself."""
    metas = [pod.metadata for pod in (old, new) if pod is not None]
    return [(meta.namespace, *label) for meta in metas for label in meta.labels.items()]


def changed_domains(old: Node | None, new: Node | None, _cluster: Cluster) -> Keys:
    """The labels that changed; None if the node was added or deleted, or its taints changed."""
    if old is None or new is None or old.spec.taints != new.spec.taints:
        return None
    return changed_keys(old.metadata.labels, new.metadata.labels)
