"""Fields of workloads that cannot be changed (`ValidateDeploymentUpdate` and similar)."""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.admission.outcome import Denied
from kwhatif.admission.pod_defaults import default_claim_spec
from kwhatif.admission.validation.errors import FieldErrors
from kwhatif.admission.validation.selectors import as_json
from kwhatif.admission.validation.workload import validate_workload_spec
from kwhatif.kube.model.job import Job, JobSpec, completions_of
from kwhatif.kube.model.meta import LabelSelector
from kwhatif.kube.model.quantity import amounts
from kwhatif.kube.model.volume import ClaimTemplate
from kwhatif.kube.model.workload import DaemonSet, Deployment, ReplicaSet, StatefulSet, Workload

_IMMUTABLE = "field is immutable"
_INDEXED, _NOT_INDEXED = "Indexed", "NonIndexed"
_OTHER_FIELDS = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy',"
    " 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def validate_workload_update(new: Workload, known: Workload) -> Denied | None:
    """The API server's rejection of a change; None if it is valid. `update_job` checks a Job's template."""
    errors = FieldErrors()
    if isinstance(new, DaemonSet) and isinstance(known, DaemonSet):
        _validate_selector(new.spec.selector, known.spec.selector, errors)
    validate_workload_spec(new, errors)
    match new, known:
        case Deployment() | ReplicaSet(), Deployment() | ReplicaSet():
            _validate_selector(new.spec.selector, known.spec.selector, errors)
        case StatefulSet(), StatefulSet():
            if _identity(new) != _identity(known):
                errors.forbidden("spec", _OTHER_FIELDS)
        case Job(), Job():
            _validate_job(new.spec, known.spec, errors)
    return errors.refusal(new)


def _validate_selector(new: LabelSelector | None, known: LabelSelector | None, errors: FieldErrors) -> None:
    if known is not None and new != known:
        errors.invalid_object("spec.selector", as_json(new), _IMMUTABLE)


def _identity(workload: StatefulSet) -> tuple[object, ...]:
    """The fields that identify pods and claims."""
    spec = workload.spec
    policy = spec.pod_management_policy or "OrderedReady"
    return spec.selector, spec.service_name, policy, tuple(map(_claim, spec.volume_claim_templates))


def _claim(template: ClaimTemplate) -> tuple[object, ...]:
    spec = default_claim_spec(template.spec)
    requests = {name: str(amount) for name, amount in amounts(spec.resources.requests).items()}
    return template.metadata, replace(spec, resources=replace(spec.resources, requests=requests))


def _validate_job(new: JobSpec, known: JobSpec, errors: FieldErrors) -> None:
    mode = new.completion_mode or _NOT_INDEXED
    before, after = completions_of(known), completions_of(new)
    if mode != _INDEXED and after != before:
        errors.invalid_object("spec.completions", after, _IMMUTABLE)
    elif after is not None and after not in (before, 1 if new.parallelism is None else new.parallelism):
        errors.invalid_object("spec.completions", after, "can only be modified in tandem with spec.parallelism")
    if mode != (known.completion_mode or _NOT_INDEXED):
        errors.invalid_object("spec.completionMode", mode, _IMMUTABLE)
