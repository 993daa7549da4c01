"""Validation of new pods (`ValidatePodCreate`)."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.admission.outcome import Denied
from kwhatif.admission.validation.affinity import validate_affinity
from kwhatif.admission.validation.containers import validate_containers, validate_host_network
from kwhatif.admission.validation.errors import FieldErrors, Rule
from kwhatif.admission.validation.resources import validate_overhead, validate_pod_resources
from kwhatif.admission.validation.spread import validate_spread
from kwhatif.admission.validation.tolerations import validate_tolerations
from kwhatif.kube.matching.label_syntax import dns_label_errors, dns_subdomain_errors, label_key_errors
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.pod import Pod, PodResourceClaim, PodSchedulingGate, PodSpec, PodTemplateSpec
from kwhatif.kube.model.volume import Volume

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
