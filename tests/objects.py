"""Objects of the API as JSON."""

from typing import Any

Json = dict[str, Any]
#: Which version is meant where a test does not say another one.
_VERSIONS = {
    "MutatingWebhookConfiguration": "admissionregistration.k8s.io/v1",
    "DaemonSet": "apps/v1",
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "Rollout": "argoproj.io/v1alpha1",
    "VerticalPodAutoscaler": "autoscaling.k8s.io/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "Job": "batch/v1",
    "NodeClaim": "karpenter.sh/v1",
    "NodePool": "karpenter.sh/v1",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
    "NodeMetrics": "metrics.k8s.io/v1beta1",
    "PodMetrics": "metrics.k8s.io/v1beta1",
    "RuntimeClass": "node.k8s.io/v1",
    "PodDisruptionBudget": "policy/v1",
    "PriorityClass": "scheduling.k8s.io/v1",
    "PodGroup": "scheduling.k8s.io/v1beta1",
    "CSINode": "storage.k8s.io/v1",
    "StorageClass": "storage.k8s.io/v1",
    "ConfigMap": "v1",
    "LimitRange": "v1",
    "Namespace": "v1",
    "Node": "v1",
    "PersistentVolume": "v1",
    "PersistentVolumeClaim": "v1",
    "Pod": "v1",
    "ResourceQuota": "v1",
    "Secret": "v1",
}


def manifest(kind: str, metadata: Json, *, version: str = "", **fields: Any) -> Json:
    """An object; `fields` are `spec`, `status` and what else it has beside its metadata."""
    return {"apiVersion": version or _VERSIONS[kind], "kind": kind, "metadata": metadata, **fields}
