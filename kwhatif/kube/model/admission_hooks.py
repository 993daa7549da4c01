"""Admission webhooks and policies, and the objects that they match."""

from __future__ import annotations

from kwhatif.kube.model.meta import ApiObject, LabelSelector, Model


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
