"""What nodes and pods use, as metrics-server has measured it (`k8s.io/metrics/pkg/apis/metrics/v1beta1`)."""

from __future__ import annotations

from kwhatif.model.container import ResourceList
from kwhatif.model.meta import Model, ObjectMeta

METRICS_API_VERSION = "metrics.k8s.io/v1beta1"


class NodeMetrics(Model, tag_field="kind", tag="NodeMetrics"):
    """`metrics.k8s.io/v1beta1 NodeMetrics`, named as its node."""

    api_version: str = ""
    metadata: ObjectMeta = ObjectMeta()
    usage: ResourceList = {}


class ContainerMetrics(Model):
    """`containers[]` of PodMetrics."""

    name: str = ""
    usage: ResourceList = {}


class PodMetrics(Model, tag_field="kind", tag="PodMetrics"):
    """`metrics.k8s.io/v1beta1 PodMetrics`, named as its pod."""

    api_version: str = ""
    metadata: ObjectMeta = ObjectMeta()
    containers: tuple[ContainerMetrics, ...] = ()
