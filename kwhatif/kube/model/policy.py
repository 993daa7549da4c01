"""Priority classes, disruption budgets, and the kinds that admission reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from kwhatif.kube.model.meta import ApiObject, Int32, Int64, LabelSelector, Model
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_spec import Container, ResourceList, ResourceRequirements, Toleration
from kwhatif.kube.model.quantity import QuantityText
from kwhatif.kube.model.storage import Volume


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
    """`policy/v1 PodDisruptionBudget`; a budget in a manifest has no status."""

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


class InjectedContainers(msgspec.Struct, frozen=True):
    """Containers that are added before and after the containers of a template."""

    first: tuple[Container, ...] = ()
    last: tuple[Container, ...] = ()

    def __bool__(self) -> bool:
        """Whether any containers are added."""
        return bool(self.first or self.last)


class Injection(msgspec.Struct, frozen=True, kw_only=True):
    """The parts that pods get in addition to their template."""

    containers: InjectedContainers = InjectedContainers()
    init_containers: InjectedContainers = InjectedContainers()
    volumes: tuple[Volume, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    node_selector: Mapping[str, str] = {}
    #: Name of a container -> requests and limits that differ from those of the template.
    resources: Mapping[str, ResourceRequirements] = {}

    def __bool__(self) -> bool:
        """Whether the pods get anything in addition."""
        return any(
            (self.containers, self.init_containers, self.volumes, self.tolerations, self.node_selector, self.resources)
        )


class KnownInjection(msgspec.Struct, frozen=True, kw_only=True):
    """An injection, and the pods from which it was derived."""

    #: The workload whose pods get it, such as `Deployment shop/web`.
    workload: str
    injection: Injection
    #: The number of pods with this injection.
    pods: int
    #: The workloads whose pods have this injection, if the workload has no pods of its own.
    like: tuple[str, ...] = ()
    #: The labels and annotations that these workloads share with it: `label istio-injection=enabled of the namespace`.
    marks: tuple[str, ...] = ()
    #: Whether some of the pods have additional or different parts.
    differ: bool = False


class Webhooks(Protocol):
    """Determines the parts that webhooks would add to a new pod."""

    def injection(self, pod: Pod, owner: str) -> KnownInjection | None:
        """The parts that are added to a pod.

        Args:
            pod: the pod as its controller or user creates it.
            owner: the pod's top-level workload, such as `Deployment shop/web`; "" for a bare pod.
        """


class MatchRule(Model):
    """`rules[]` of a webhook, `resourceRules[]` of a policy."""

    operations: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    api_versions: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    scope: str = "*"


class MatchCondition(Model):
    """`matchConditions[]`."""

    name: str = ""
    expression: str = ""


class Webhook(Model):
    """`webhooks[]` of a configuration."""

    name: str = ""
    rules: tuple[MatchRule, ...] = ()
    match_conditions: tuple[MatchCondition, ...] = ()
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None


class MutatingWebhookConfiguration(ApiObject):
    """`admissionregistration.k8s.io MutatingWebhookConfiguration`."""

    webhooks: tuple[Webhook, ...] = ()


class ValidatingWebhookConfiguration(ApiObject):
    """`admissionregistration.k8s.io ValidatingWebhookConfiguration`."""

    webhooks: tuple[Webhook, ...] = ()


class MatchResources(Model):
    """`matchConstraints` of a policy, `matchResources` of a binding; without rules it matches everything."""

    resource_rules: tuple[MatchRule, ...] = ()
    exclude_resource_rules: tuple[MatchRule, ...] = ()
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None


class AdmissionPolicySpec(Model):
    """`spec` of a policy."""

    match_constraints: MatchResources | None = None
    match_conditions: tuple[MatchCondition, ...] = ()


class PolicyBindingSpec(Model):
    """`spec` of a binding."""

    policy_name: str = ""
    match_resources: MatchResources | None = None


class MutatingAdmissionPolicy(ApiObject):
    """`admissionregistration.k8s.io MutatingAdmissionPolicy`."""

    spec: AdmissionPolicySpec = AdmissionPolicySpec()


class MutatingAdmissionPolicyBinding(ApiObject):
    """`admissionregistration.k8s.io MutatingAdmissionPolicyBinding`."""

    spec: PolicyBindingSpec = PolicyBindingSpec()


class ValidatingAdmissionPolicy(ApiObject):
    """`admissionregistration.k8s.io ValidatingAdmissionPolicy`."""

    spec: AdmissionPolicySpec = AdmissionPolicySpec()


class ValidatingAdmissionPolicyBinding(ApiObject):
    """`admissionregistration.k8s.io ValidatingAdmissionPolicyBinding`."""

    spec: PolicyBindingSpec = PolicyBindingSpec()


ADMISSION_HOOKS: tuple[type[ApiObject], ...] = (
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)
