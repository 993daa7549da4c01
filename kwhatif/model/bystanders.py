"""Objects that no scheduling rule reads: they say whether pods are created and how many, or what they really use."""

from __future__ import annotations

from typing import Any

import msgspec

from kwhatif.model.container import ResourceList
from kwhatif.model.meta import ApiObject, Int32, Model, ObjectMeta

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
