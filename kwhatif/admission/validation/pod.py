"""Validation of new pods (`ValidatePodCreate`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwhatif.admission.outcome import Denied
from kwhatif.admission.validation.containers import (
    validate_containers,
    validate_host_network,
    validate_overhead,
    validate_pod_resources,
)
from kwhatif.admission.validation.errors import POSITIVE, FieldErrors, Rule
from kwhatif.admission.validation.selectors import (
    NOT_AN_OPERATOR,
    validate_label_keys,
    validate_operator,
    validate_requirement_key,
    validate_selector,
    with_label_keys,
)
from kwhatif.kube.matching.field_errors import (
    dns_label_errors,
    dns_subdomain_errors,
    label_key_errors,
    label_value_errors,
)
from kwhatif.kube.matching.nodes import NAME_FIELD, NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE
from kwhatif.kube.model.meta import ObjectMeta, Requirement
from kwhatif.kube.model.pod import Pod, PodResourceClaim, PodSchedulingGate, PodSpec, PodTemplateSpec
from kwhatif.kube.model.pod_spec import (
    Affinity,
    NodeAffinity,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    Toleration,
    TopologySpreadConstraint,
)
from kwhatif.kube.model.storage import Volume

Labels = Mapping[str, str]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_MAX_WEIGHT = 100


def validate_affinity(affinity: Affinity | None, labels: Labels, errors: FieldErrors) -> None:
    """Validate all affinity of a pod with these labels (`validateAffinity`)."""
    if affinity is None:
        return
    errors = errors.within("affinity")
    if affinity.node_affinity is not None:
        _validate_node_affinity(affinity.node_affinity, errors.within("nodeAffinity"))
    if affinity.pod_affinity is not None:
        _validate_pod_affinity(affinity.pod_affinity, labels, errors.within("podAffinity"))
    if affinity.pod_anti_affinity is not None:
        _validate_pod_affinity(affinity.pod_anti_affinity, labels, errors.within("podAntiAffinity"))


# --- nodes -------------------------------------------------------------------------------------------


def _validate_node_affinity(affinity: NodeAffinity, errors: FieldErrors) -> None:
    if affinity.required is not None:
        here = f"{_REQUIRED}.nodeSelectorTerms"
        if not affinity.required.node_selector_terms:
            errors.required(here, "must have at least one node selector term")
        for index, term in enumerate(affinity.required.node_selector_terms):
            _validate_node_term(term, f"{here}[{index}]", errors, check_values=True)
    for index, preferred in enumerate(affinity.preferred or ()):
        here = f"{_PREFERRED}[{index}]"
        _validate_weight(preferred.weight, here, errors)
        # Values of preferences are not checked: kube-scheduler fails on them later (see `PreferredTerms`).
        _validate_node_term(preferred.preference, f"{here}.preference", errors, check_values=False)


def _validate_weight(weight: int, path: str, errors: FieldErrors) -> None:
    if not 1 <= weight <= _MAX_WEIGHT:
        errors.invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _validate_node_term(term: NodeSelectorTerm, path: str, errors: FieldErrors, *, check_values: bool) -> None:
    for index, requirement in enumerate(term.match_expressions):
        here = f"{path}.matchExpressions[{index}]"
        if requirement.operator in ("Gt", "Lt"):
            if len(requirement.values) != 1:
                detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
                errors.required(f"{here}.values", detail)
        else:
            validate_operator(requirement, here, errors)
        validate_requirement_key(requirement, here, errors, check_values=check_values)
    for index, requirement in enumerate(term.match_fields):
        _validate_field(requirement, f"{path}.matchFields[{index}]", errors)


def _validate_field(requirement: Requirement, path: str, errors: FieldErrors) -> None:
    if requirement.operator not in ("In", "NotIn"):
        errors.invalid(f"{path}.operator", requirement.operator, NOT_AN_OPERATOR)
    elif len(requirement.values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.required(f"{path}.values", detail)
    if requirement.key != NAME_FIELD:
        errors.invalid(f"{path}.key", requirement.key, "not a valid field selector key")
        return
    for index, name in enumerate(requirement.values):
        errors.check(f"{path}.values[{index}]", name, dns_subdomain_errors)


# --- other pods --------------------------------------------------------------------------------------


def _validate_pod_affinity(affinity: PodAffinity, labels: Labels, errors: FieldErrors) -> None:
    for index, term in enumerate(affinity.required):
        _validate_pod_term(term, labels, f"{_REQUIRED}[{index}]", errors)
    for index, weighted in enumerate(affinity.preferred):
        here = f"{_PREFERRED}[{index}]"
        _validate_weight(weighted.weight, here, errors)
        _validate_pod_term(weighted.pod_affinity_term, labels, f"{here}.podAffinityTerm", errors)


def _validate_pod_term(term: PodAffinityTerm, labels: Labels, path: str, errors: FieldErrors) -> None:
    keys, unlike = term.match_label_keys, term.mismatch_label_keys
    selector = with_label_keys(term.label_selector, keys, unlike, labels)
    validate_selector(selector, f"{path}.labelSelector", errors)
    validate_selector(term.namespace_selector, f"{path}.namespaceSelector", errors)
    for namespace in term.namespaces:
        errors.check(f"{path}.namespace", namespace, dns_label_errors)
    validate_label_keys(selector, keys, unlike, path, errors)
    if not term.topology_key:
        errors.required(f"{path}.topologyKey", "can not be empty")
    errors.check(f"{path}.topologyKey", term.topology_key, label_key_errors)


_DO_NOT_SCHEDULE = "DoNotSchedule"
_ACTIONS = (_DO_NOT_SCHEDULE, "ScheduleAnyway")
_POLICIES = ("Honor", "Ignore")


def validate_spread(
    constraints: Sequence[TopologySpreadConstraint], labels: Mapping[str, str], errors: FieldErrors
) -> None:
    """Validate all constraints of a pod with these labels (`validateTopologySpreadConstraints`)."""
    for index, constraint in enumerate(constraints):
        here = f"topologySpreadConstraints[{index}]"
        _validate_constraint(constraint, here, errors)
        kind = (constraint.topology_key, constraint.when_unsatisfiable)
        if any((other.topology_key, other.when_unsatisfiable) == kind for other in constraints[index + 1 :]):
            errors.duplicate(f"{here}.{{topologyKey, whenUnsatisfiable}}", f"{{{kind[0]}, {kind[1]}}}")
        _validate_options(constraint, here, errors)
        keys = constraint.match_label_keys
        selector = with_label_keys(constraint.label_selector, keys, (), labels)
        validate_label_keys(selector, keys, (), here, errors)
        validate_selector(selector, f"{here}.labelSelector", errors)


def _validate_constraint(constraint: TopologySpreadConstraint, path: str, errors: FieldErrors) -> None:
    if constraint.max_skew <= 0:
        errors.invalid(f"{path}.maxSkew", constraint.max_skew, POSITIVE)
    if not constraint.topology_key:
        errors.required(f"{path}.topologyKey", "can not be empty")
    errors.supported(f"{path}.whenUnsatisfiable", constraint.when_unsatisfiable, _ACTIONS)


def _validate_options(constraint: TopologySpreadConstraint, path: str, errors: FieldErrors) -> None:
    if constraint.min_domains is not None:
        if constraint.min_domains <= 0:
            errors.invalid(f"{path}.minDomains", constraint.min_domains, POSITIVE)
        if constraint.when_unsatisfiable != _DO_NOT_SCHEDULE:
            only = f"can only use minDomains if whenUnsatisfiable={_DO_NOT_SCHEDULE}, not"
            errors.invalid(f"{path}.minDomains", constraint.min_domains, f"{only} {constraint.when_unsatisfiable}")
    if constraint.node_affinity_policy is not None:
        errors.supported(f"{path}.nodeAffinityPolicy", constraint.node_affinity_policy, _POLICIES)
    if constraint.node_taints_policy is not None:
        errors.supported(f"{path}.nodeTaintsPolicy", constraint.node_taints_policy, _POLICIES)


_EFFECTS = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)
_OPERATORS = ("Equal", "Exists")
#: QUIRK: the "supported" values in the error for `Lt` or `Gt`, if TaintTolerationComparisonOperators is off.
_ALL_OPERATORS = (*_OPERATORS, "Lt", "Gt")


def validate_tolerations(tolerations: Sequence[Toleration], errors: FieldErrors) -> None:
    """Validate all tolerations of a pod (`ValidateTolerations`)."""
    for index, toleration in enumerate(tolerations):
        here = f"tolerations[{index}]"
        if toleration.key:
            errors.check(f"{here}.key", toleration.key, label_key_errors)
        elif toleration.operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            errors.invalid(f"{here}.operator", toleration.operator, detail)
        if toleration.toleration_seconds is not None and toleration.effect != NO_EXECUTE:
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            errors.invalid(f"{here}.effect", toleration.effect, detail)
        _validate_operator(toleration, f"{here}.operator", errors)
        if toleration.effect:
            errors.supported(f"{here}.effect", toleration.effect, _EFFECTS)


def _validate_operator(toleration: Toleration, path: str, errors: FieldErrors) -> None:
    match toleration.operator:
        case "" | "Equal":
            if wrong := label_value_errors(toleration.value):
                errors.invalid(path, toleration.value, ";".join(wrong))
        case "Exists":
            if toleration.value:
                errors.invalid(path, toleration.value, "value must be empty when `operator` is 'Exists'")
        case "Lt" | "Gt":
            errors.unsupported(path, toleration.operator, _ALL_OPERATORS)
        case _:
            errors.supported(path, toleration.operator, _OPERATORS)


_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
_MAX_INT32 = 2**31 - 1


def validate_pod(pod: Pod) -> Denied | None:
    """The API server's rejection of a pod, after all steps that change pods; None if it is valid."""
    errors = FieldErrors()
    validate_metadata(pod.metadata, dns_subdomain_errors, errors)
    _validate_spec(pod.spec, pod.metadata, errors.within("spec"))
    if pod.spec.node_name and pod.spec.scheduling_gates:
        errors.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")
    return errors.refusal(pod)


def validate_template(template: PodTemplateSpec, path: str, errors: FieldErrors) -> None:
    """Validate a template with its defaults (`ValidatePodTemplateSpec`)."""
    errors = errors.within(path)
    errors.labels("labels", template.metadata.labels)
    # Label keys are merged when pods are created.
    _validate_spec(template.spec, ObjectMeta(), errors.within("spec"), is_pod=False)


def _validate_spec(spec: PodSpec, meta: ObjectMeta, errors: FieldErrors, *, is_pod: bool = True) -> None:
    """Validate a spec, in the order of `ValidatePodSpec`."""
    _validate_volumes(spec.volumes, meta, errors)
    _validate_claims(spec.resource_claims, errors)
    claims = {claim.name for claim in spec.resource_claims if claim.name}
    validate_containers(spec, claims, errors)
    validate_pod_resources(spec, claims, errors)
    validate_host_network(spec, errors, is_pod=is_pod)
    errors.supported("restartPolicy", spec.restart_policy, _RESTART_POLICIES)
    errors.labels("nodeSelector", spec.node_selector)
    validate_affinity(spec.affinity, meta.labels, errors)
    _validate_gates(spec.scheduling_gates, errors)
    validate_spread(spec.topology_spread_constraints, meta.labels, errors)
    if spec.host_users is False and spec.host_network:
        errors.forbidden("hostNetwork", "when `hostUsers` is false")
    _validate_names(spec, errors)
    validate_tolerations(spec.tolerations, errors)
    _validate_classes(spec, errors)
    if spec.overhead is not None:
        validate_overhead(spec.overhead, errors)


def validate_metadata(meta: ObjectMeta, name_errors: Rule, errors: FieldErrors) -> None:
    """Validate name, namespace and labels (`ValidateObjectMeta`)."""
    errors.name("metadata.name", meta.name, name_errors, missing="name or generateName is required")
    errors.check("metadata.namespace", meta.namespace, dns_label_errors)
    errors.labels("metadata.labels", meta.labels)


def _validate_volumes(volumes: Sequence[Volume], meta: ObjectMeta, errors: FieldErrors) -> None:
    names: set[str] = set()
    created = {f"{meta.name}-{volume.name}" for volume in volumes if volume.ephemeral is not None and meta.name}
    for index, volume in enumerate(volumes):
        here, before = f"volumes[{index}]", len(errors)
        _validate_volume_source(volume, meta, here, errors)
        errors.name(f"{here}.name", volume.name, dns_label_errors)
        if volume.name in names:
            errors.duplicate(f"{here}.name", volume.name)
        if len(errors) == before:
            names.add(volume.name)
        claim = volume.persistent_volume_claim
        if claim is not None and claim.claim_name in created:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            errors.invalid(f"{here}.persistentVolumeClaim.claimName", claim.claim_name, detail)


def _validate_volume_source(volume: Volume, meta: ObjectMeta, path: str, errors: FieldErrors) -> None:
    claim, ephemeral = volume.persistent_volume_claim, volume.ephemeral
    if claim is not None and not claim.claim_name:
        errors.required(f"{path}.persistentVolumeClaim.claimName")
    if ephemeral is None:
        return
    if ephemeral.volume_claim_template is None:
        errors.required(f"{path}.ephemeral.volumeClaimTemplate")
    if meta.name:
        name = f"{meta.name}-{volume.name}"
        for error in dns_subdomain_errors(name):
            errors.invalid(f"{path}.name", volume.name, f'PVC name "{name}": {error}')


def _validate_claims(claims: Sequence[PodResourceClaim], errors: FieldErrors) -> None:
    names: set[str] = set()
    for index, claim in enumerate(claims):
        here = f"resourceClaims[{index}]"
        if claim.name and claim.name in names:
            errors.duplicate(f"{here}.name", claim.name)
        else:
            errors.name(f"{here}.name", claim.name, dns_label_errors)
        names.add(claim.name)
        _validate_claim_source(claim, here, errors)


def _validate_claim_source(claim: PodResourceClaim, path: str, errors: FieldErrors) -> None:
    by_name, by_template = claim.resource_claim_name, claim.resource_claim_template_name
    if by_name is not None and by_template is not None:
        detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        errors.invalid_object(path, _as_go_prints(claim), detail)
    if by_name is None and by_template is None:
        detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        errors.invalid_object(path, _as_go_prints(claim), detail)
    if by_name is not None:
        errors.check(f"{path}.resourceClaimName", by_name, dns_subdomain_errors)
    if by_template is not None:
        errors.check(f"{path}.resourceClaimTemplateName", by_template, dns_subdomain_errors)


def _as_go_prints(claim: PodResourceClaim) -> dict[str, str | None]:
    """The claim with Go field names, as the API server prints it."""
    return {
        "Name": claim.name,
        "ResourceClaimName": claim.resource_claim_name,
        "ResourceClaimTemplateName": claim.resource_claim_template_name,
    }


def _validate_gates(gates: Sequence[PodSchedulingGate], errors: FieldErrors) -> None:
    names: set[str] = set()
    for index, gate in enumerate(gates):
        here = f"schedulingGates[{index}]"
        errors.check(here, gate.name, label_key_errors)
        if gate.name in names:
            errors.duplicate(here, gate.name)
        names.add(gate.name)


def _validate_names(spec: PodSpec, errors: FieldErrors) -> None:
    if spec.node_name:
        errors.check("nodeName", spec.node_name, dns_subdomain_errors)
    deadline = spec.active_deadline_seconds
    if deadline is not None and not 1 <= deadline <= _MAX_INT32:
        errors.invalid("activeDeadlineSeconds", deadline, f"must be between 1 and {_MAX_INT32}, inclusive")
    if spec.hostname:
        errors.check("hostname", spec.hostname, dns_label_errors)
    if spec.subdomain:
        errors.check("subdomain", spec.subdomain, dns_label_errors)


def _validate_classes(spec: PodSpec, errors: FieldErrors) -> None:
    if spec.priority_class_name:
        errors.check("priorityClassName", spec.priority_class_name, dns_subdomain_errors)
    if spec.runtime_class_name is not None:
        errors.check("runtimeClassName", spec.runtime_class_name, dns_subdomain_errors)
    if spec.preemption_policy:
        errors.supported("preemptionPolicy", spec.preemption_policy, _PREEMPTION_POLICIES)
