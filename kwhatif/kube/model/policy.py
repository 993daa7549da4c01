"""Priorities, disruption budgets, and the kinds that admission reads."""

from __future__ import annotations

from kwhatif.kube.model.affinity import Toleration
from kwhatif.kube.model.container import ResourceList
from kwhatif.kube.model.meta import ApiObject, Int32, Int64, LabelSelector, Model
from kwhatif.kube.model.quantity import QuantityText


class PriorityClass(ApiObject):
    """`scheduling.k8s.io/v1 PriorityClass`."""

    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"


class PodDisruptionBudgetSpec(Model):
    """`spec` of a budget."""

    min_available: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Model):
    """`status` of a budget, as the disruption controller writes it."""

    disruptions_allowed: Int32 = 0
    disrupted_pods: dict[str, str] = {}
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    expected_pods: Int32 = 0
    observed_generation: Int64 = 0


class PodDisruptionBudget(ApiObject):
    """`policy/v1 PodDisruptionBudget`; a hand-written one has no status."""

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus | None = None


class RuntimeClassScheduling(Model):
    """`scheduling` of a RuntimeClass."""

    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class RuntimeClassOverhead(Model):
    """`overhead` of a RuntimeClass."""

    pod_fixed: ResourceList = {}


class RuntimeClass(ApiObject):
    """`node.k8s.io/v1 RuntimeClass`."""

    handler: str = ""
    overhead: RuntimeClassOverhead | None = None
    scheduling: RuntimeClassScheduling | None = None


class LimitRangeItem(Model):
    """`spec.limits[]` of a LimitRange."""

    type: str = ""
    max: dict[str, QuantityText] = {}
    min: dict[str, QuantityText] = {}
    default: dict[str, QuantityText] = {}
    default_request: dict[str, QuantityText] = {}
    max_limit_request_ratio: dict[str, QuantityText] = {}


class LimitRangeSpec(Model):
    """`spec` of a LimitRange."""

    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(ApiObject):
    """`v1.LimitRange`."""

    spec: LimitRangeSpec = LimitRangeSpec()


class ScopedSelectorRequirement(Model):
    """One requirement of a quota's scope selector."""

    scope_name: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class ScopeSelector(Model):
    """`spec.scopeSelector` of a quota."""

    match_expressions: tuple[ScopedSelectorRequirement, ...] = ()


class ResourceQuotaSpec(Model):
    """`spec` of a quota."""

    hard: dict[str, QuantityText] = {}
    scopes: tuple[str, ...] = ()
    scope_selector: ScopeSelector | None = None


class ResourceQuotaStatus(Model):
    """`status` of a quota."""

    hard: dict[str, QuantityText] = {}
    used: dict[str, QuantityText] = {}


class ResourceQuota(ApiObject):
    """`v1.ResourceQuota`."""

    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus | None = None
