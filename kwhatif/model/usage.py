"""What nodes and pods use, as metrics-server has measured it (`k8s.io/metrics/pkg/apis/metrics/v1beta1`)."""

from __future__ import annotations

from kwhatif.model.container import ResourceList
from kwhatif.model.meta import ApiObject, Model

METRICS_API_VERSION = "metrics.k8s.io/v1beta1"


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
