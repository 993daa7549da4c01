"""Objects that no scheduling rule reads: they say whether pods are created and how many, or what they really use."""

from __future__ import annotations

from typing import Any

import msgspec

from kwhatif.kube.model.container import ResourceList
from kwhatif.kube.model.meta import ApiObject, Int32, Int64, Model, ObjectMeta, Requirement
from kwhatif.kube.model.node import Taint

#: metrics-server measures (`k8s.io/metrics/pkg/apis/metrics/v1beta1`).
METRICS_API_VERSION = "metrics.k8s.io/v1beta1"


class ServiceAccount(ApiObject):
    """`v1 ServiceAccount`."""


class CrossVersionObjectReference(Model):
    """`scaleTargetRef`, in the same namespace."""

    kind: str = ""
    name: str = ""


class HorizontalPodAutoscalerSpec(Model):
    """`spec` of an autoscaler."""

    scale_target_ref: CrossVersionObjectReference = CrossVersionObjectReference()
    min_replicas: Int32 | None = None
    max_replicas: Int32 | None = None


class HorizontalPodAutoscaler(ApiObject):
    """`HorizontalPodAutoscaler`, the same in every version of `autoscaling`."""

    spec: HorizontalPodAutoscalerSpec = HorizontalPodAutoscalerSpec()

    @property
    def target(self) -> str:
        """What it scales, such as `Deployment shop/web`."""
        target = self.spec.scale_target_ref
        return f"{target.kind} {self.metadata.namespace}/{target.name}"


class NodePoolTemplateSpec(Model):
    """`spec.template.spec` of a NodePool; taints that only new nodes have for a while (startupTaints) do not count."""

    requirements: tuple[Requirement, ...] = ()
    taints: tuple[Taint, ...] = ()


class NodePoolTemplate(Model):
    """`spec.template` of a NodePool: what all its nodes have."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodePoolTemplateSpec = NodePoolTemplateSpec()


class NodePoolSpec(Model):
    """`spec` of a NodePool."""

    template: NodePoolTemplate = NodePoolTemplate()
    limits: ResourceList = {}
    weight: Int32 | None = None
    #: Given where the pool has a fixed number of nodes.
    replicas: Int64 | None = None


class NodePoolStatus(Model):
    """`status` of a NodePool: what its nodes have together."""

    resources: ResourceList = {}


class NodePool(ApiObject):
    """`karpenter.sh NodePool`."""

    spec: NodePoolSpec = NodePoolSpec()
    status: NodePoolStatus = NodePoolStatus()


class NodeClaim(ApiObject):
    """`karpenter.sh NodeClaim`: that it is there is all that counts."""


class ConfigMap(ApiObject):
    """`v1 ConfigMap`, of which only the one that tells of the cluster autoscaler is kept, without its data."""


#: The key of that ConfigMap.
AUTOSCALER_STATUS = "kube-system/cluster-autoscaler-status"


class NodeMetrics(ApiObject):
    """`metrics.k8s.io/v1beta1 NodeMetrics`, named as its node."""

    usage: ResourceList = {}


class ContainerMetrics(Model):
    """`containers[]` of PodMetrics."""

    name: str = ""
    usage: ResourceList = {}


class PodMetrics(ApiObject):
    """`metrics.k8s.io/v1beta1 PodMetrics`, named as its pod."""

    containers: tuple[ContainerMetrics, ...] = ()


class CustomResource(msgspec.Struct, frozen=True):
    """An object of a kind that only its own controller knows, as it was written, `metadata.namespace` filled in."""

    kind: str
    metadata: ObjectMeta
    data: dict[str, Any]
