"""Objects that no scheduling rule reads: they decide which pods and nodes are created, or measure usage."""

from __future__ import annotations

from typing import Any

import msgspec

from kwhatif.kube.model.meta import AnnotatedMeta, ApiObject, Int32, Int64, Model, ObjectMeta, Requirement
from kwhatif.kube.model.node import Taint
from kwhatif.kube.model.pod_spec import ResourceList

#: The API that metrics-server serves (`k8s.io/metrics/pkg/apis/metrics/v1beta1`).
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
    """`autoscaling HorizontalPodAutoscaler`; these fields are the same in every API version."""

    spec: HorizontalPodAutoscalerSpec = HorizontalPodAutoscalerSpec()

    @property
    def target(self) -> str:
        """The scaled object, such as `Deployment shop/web`."""
        target = self.spec.scale_target_ref
        return f"{target.kind} {self.metadata.namespace}/{target.name}"


# --- the vertical pod autoscaler -----------------------------------------------------------------------------------


class VerticalUpdatePolicy(Model):
    """`spec.updatePolicy`; the default mode is "Recreate"."""

    update_mode: str = ""
    min_replicas: Int32 | None = None
    evict_after_oom_seconds: Int32 | None = None


class ContainerResourcePolicy(Model):
    """`spec.resourcePolicy.containerPolicies[]`; the name "*" is for containers without a policy of their own."""

    container_name: str = ""
    mode: str = ""
    min_allowed: ResourceList = {}
    max_allowed: ResourceList = {}
    controlled_resources: tuple[str, ...] | None = None
    controlled_values: str = ""


class VerticalResourcePolicy(Model):
    """`spec.resourcePolicy`."""

    container_policies: tuple[ContainerResourcePolicy, ...] = ()


class VerticalPodAutoscalerSpec(Model):
    """`spec` of a VerticalPodAutoscaler."""

    target_ref: CrossVersionObjectReference = CrossVersionObjectReference()
    update_policy: VerticalUpdatePolicy = VerticalUpdatePolicy()
    resource_policy: VerticalResourcePolicy = VerticalResourcePolicy()


class RecommendedContainerResources(Model):
    """`status.recommendation.containerRecommendations[]`."""

    container_name: str = ""
    target: ResourceList = {}
    lower_bound: ResourceList = {}
    upper_bound: ResourceList = {}


class RecommendedPodResources(Model):
    """`status.recommendation`."""

    container_recommendations: tuple[RecommendedContainerResources, ...] = ()


class VerticalPodAutoscalerStatus(Model):
    """`status` of a VerticalPodAutoscaler."""

    recommendation: RecommendedPodResources | None = None


class VerticalPodAutoscaler(ApiObject):
    """`autoscaling.k8s.io VerticalPodAutoscaler`."""

    spec: VerticalPodAutoscalerSpec = VerticalPodAutoscalerSpec()
    status: VerticalPodAutoscalerStatus = VerticalPodAutoscalerStatus()

    @property
    def target(self) -> str:
        """The target workload, such as `Deployment shop/web`."""
        target = self.spec.target_ref
        return f"{target.kind} {self.metadata.namespace}/{target.name}"


# --- groups of other schedulers ----------------------------------------------------------------------------------


class ForeignGroupSpec(Model):
    """`spec`: only the number of pods that the group needs."""

    min_member: Int32 = 0


class VolcanoPodGroup(ApiObject, tag="PodGroup"):
    """`scheduling.volcano.sh PodGroup`."""

    spec: ForeignGroupSpec = ForeignGroupSpec()


class CoschedulingPodGroup(ApiObject, tag="PodGroup"):
    """`scheduling.x-k8s.io PodGroup`, of the coscheduling plugin."""

    spec: ForeignGroupSpec = ForeignGroupSpec()


# --- Karpenter ---------------------------------------------------------------------------------------------------


class NodePoolRequirement(Requirement):
    """`requirements[]`: as in a node selector, and also with the operators `Gte` and `Lte`.

    With `min_values`, the matching instance types must together have at least this many values of the key.
    """

    min_values: Int32 | None = None


class NodeClassReference(Model):
    """`nodeClassRef`: the cloud provider's settings for the nodes."""

    group: str = ""
    kind: str = ""
    name: str = ""


class NodePoolTemplateSpec(Model):
    """`spec.template.spec` of a NodePool; new nodes have the startup taints only temporarily."""

    requirements: tuple[NodePoolRequirement, ...] = ()
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    node_class_ref: NodeClassReference = NodeClassReference()


class NodePoolTemplate(Model):
    """`spec.template` of a NodePool: the fields that all its nodes share."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodePoolTemplateSpec = NodePoolTemplateSpec()


class DisruptionBudget(Model):
    """`spec.disruption.budgets[]`: the maximum of nodes to disrupt at the same time (a number or a percentage).

    Without `reasons` it applies to all reasons. `schedule` (cron, UTC) and `duration` limit when it applies; without
    them it always applies.
    """

    reasons: tuple[str, ...] | None = None
    nodes: str | Int32 = ""
    schedule: str | None = None
    duration: str | None = None


class NodePoolDisruption(Model):
    """`spec.disruption` of a NodePool; `consolidate_after` "Never" disables consolidation."""

    consolidate_after: str = "0s"
    consolidation_policy: str = "WhenEmptyOrUnderutilized"
    budgets: tuple[DisruptionBudget, ...] = (DisruptionBudget(nodes="10%"),)


class KarpenterCondition(Model):
    """`status.conditions[]` of NodePools and NodeClaims."""

    type: str = ""
    status: str = ""
    last_transition_time: str | None = None


class NodePoolSpec(Model):
    """`spec` of a NodePool."""

    template: NodePoolTemplate = NodePoolTemplate()
    disruption: NodePoolDisruption = NodePoolDisruption()
    limits: ResourceList = {}
    weight: Int32 | None = None
    #: Set if the pool has a fixed number of nodes.
    replicas: Int64 | None = None


class NodePoolStatus(Model):
    """`status` of a NodePool: the total resources of its nodes."""

    resources: ResourceList = {}
    conditions: tuple[KarpenterCondition, ...] = ()


class NodePool(ApiObject):
    """`karpenter.sh NodePool`."""

    spec: NodePoolSpec = NodePoolSpec()
    status: NodePoolStatus = NodePoolStatus()


class NodeClaimSpec(Model):
    """`spec` of a NodeClaim."""

    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    termination_grace_period: str | None = None


class NodeClaimStatus(Model):
    """`status` of a NodeClaim: the machine that was created for it, which may not have joined as a node yet."""

    provider_id: str = msgspec.field(name="providerID", default="")
    node_name: str = ""
    capacity: ResourceList = {}
    allocatable: ResourceList = {}
    conditions: tuple[KarpenterCondition, ...] = ()
    last_pod_event_time: str | None = None


class NodeClaim(ApiObject):
    """`karpenter.sh NodeClaim`."""

    metadata: AnnotatedMeta = AnnotatedMeta()
    spec: NodeClaimSpec = NodeClaimSpec()
    status: NodeClaimStatus = NodeClaimStatus()


def karpenter_condition(obj: NodePool | NodeClaim, type_: str) -> KarpenterCondition | None:
    """The object's condition of that type, if it has one."""
    return next((condition for condition in obj.status.conditions if condition.type == type_), None)


# -----------------------------------------------------------------------------------------------------------------


class ConfigMap(ApiObject):
    """`v1 ConfigMap`; only the Cluster Autoscaler's status ConfigMap is kept, without its data."""


#: The key of the Cluster Autoscaler's status ConfigMap.
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
    """A custom resource as in the input, with `metadata.namespace` filled in."""

    kind: str
    metadata: ObjectMeta
    data: dict[str, Any]
    #: Where its pod templates are, such as `.spec.template`.
    template_paths: tuple[str, ...] = ()
