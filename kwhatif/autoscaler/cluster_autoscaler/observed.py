"""Node groups derived from the labels of nodes, if no file is given: their limits are not known."""

from __future__ import annotations

from kwhatif.autoscaler.cluster_autoscaler.groups import NodeGroup, NodeGroups
from kwhatif.kube.model.node import ZONE, Node
from kwhatif.state.state import State

#: Labels that name the group of a node: EKS, AKS, kOps, Cluster API.
_GROUP_LABELS = (
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "kops.k8s.io/instancegroup",
    "cluster.x-k8s.io/deployment-name",
)
#: GKE has a group for each zone of a pool.
_GKE_POOL = "cloud.google.com/gke-nodepool"
#: What owns the machine of a node, with Cluster API.
_OWNER_KIND, _OWNER_NAME = "cluster.x-k8s.io/owner-kind", "cluster.x-k8s.io/owner-name"
#: Nodes of Karpenter are not the Cluster Autoscaler's, whatever else they say.
_KARPENTER = "karpenter.sh/nodepool"


def observed_groups(state: State) -> NodeGroups:
    """The groups that the nodes' labels name, by name; nodes without such a label belong to none."""
    found: dict[str, list[str]] = {}
    for name in sorted(state.by_name):
        group = _group_of(state.by_name[name].node)
        if group:
            found.setdefault(group, []).append(name)
    return NodeGroups(
        groups=[NodeGroup(name=name, nodes=tuple(nodes), has_bounds=False) for name, nodes in sorted(found.items())]
    )


def _group_of(node: Node) -> str:
    labels, annotations = node.metadata.labels, node.metadata.annotations
    if _KARPENTER in labels:
        return ""
    if labels.get(_GKE_POOL):
        return "/".join(filter(None, (labels[_GKE_POOL], labels.get(ZONE, ""))))
    named = next((labels[key] for key in _GROUP_LABELS if labels.get(key)), "")
    return named or (annotations.get(_OWNER_NAME, "") if annotations.get(_OWNER_KIND) == "MachineSet" else "")
