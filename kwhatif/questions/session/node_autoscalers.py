"""Signs that an autoscaler adds nodes to the cluster, and what it may do for pods that find no room."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kwhatif.kube.matching.pod_resources import pod_resources
from kwhatif.kube.model.bystanders import ConfigMap, NodeClaim, NodePool
from kwhatif.kube.model.caveat.workloads import NodesNotAdded, PoolObjection
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.workload import Deployment
from kwhatif.questions.session.node_pools import objection

#: Labels, taints and annotations that cluster-autoscaler and Karpenter put on nodes, or how these begin.
_AUTOSCALED = (
    "cluster-autoscaler.kubernetes.io/",
    "karpenter.sh/",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
)
_AUTOSCALERS = ("cluster-autoscaler", "karpenter")
_APP_LABELS = ("app.kubernetes.io/name", "k8s-app", "app")


def nodes_not_added(cluster: Cluster, pods: Iterable[Pod]) -> Iterator[NodesNotAdded]:
    """That an autoscaler may add nodes for these pods, which find no room: one caveat for those it may do the same for.

    Pools are tried in Karpenter's order: by weight, then by name, the last first.
    """
    waiting = list(pods)
    sign = cluster.derived(_sign, *_READ) if waiting else ""
    if not sign:
        return
    pools = sorted(
        cluster.all(NodePool).values(), key=lambda pool: (pool.spec.weight or 1, pool.metadata.name), reverse=True
    )
    for pod in waiting:
        requests = pod_resources(pod, cluster.resizes).requested
        objections = [(pool.metadata.name, objection(pool, pod, requests)) for pool in pools]
        willing = tuple(name for name, why in objections if not why)
        refusing = () if willing else tuple(PoolObjection(pool=name, why=why) for name, why in objections)
        yield NodesNotAdded(sign=sign, pools=willing, objections=refusing, pods=(key_of(pod),))


_READ = (ConfigMap, Deployment, Node, NodeClaim, NodePool, Pod)


def _sign(cluster: Cluster) -> str:
    """The first object that shows that an autoscaler runs, such as `NodePool general`; "" for none."""
    return next(_signs(cluster), "")


def _signs(cluster: Cluster) -> Iterator[str]:
    for kind in (NodePool, NodeClaim, ConfigMap):
        objects: Iterable[str] = cluster.all(kind)
        yield from (f"{kind.__name__} {key}" for key in objects)
    for key, deployment in cluster.all(Deployment).items():
        if _is_autoscaler(deployment.metadata.labels) or deployment.metadata.name.endswith(_AUTOSCALERS):
            yield f"Deployment {key}"
    for name, node in cluster.all(Node).items():
        keys = (*node.metadata.labels, *node.metadata.annotations, *(taint.key for taint in node.spec.taints))
        if any(key.startswith(_AUTOSCALED) for key in keys):
            yield f"Node {name}"
    if not cluster.all(Deployment):  # a dump of nodes and pods
        for key, pod in cluster.all(Pod).items():
            if not is_terminal(pod) and _is_autoscaler(pod.metadata.labels):
                yield f"Pod {key}"


def _is_autoscaler(labels: dict[str, str]) -> bool:
    return any(labels.get(name, "").endswith(_AUTOSCALERS) for name in _APP_LABELS)
