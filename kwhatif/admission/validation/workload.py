"""Validation of new and changed workloads (`pkg/apis/apps/validation/validation.go`).

Fields that the model does not have are left out.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from kwhatif.admission.defaults import default_claim_spec, default_template
from kwhatif.admission.outcome import Denied
from kwhatif.admission.validation.errors import NOT_NEGATIVE, FieldErrors
from kwhatif.admission.validation.job import validate_cron_job, validate_job
from kwhatif.admission.validation.pod import validate_metadata, validate_template
from kwhatif.admission.validation.selectors import as_json, validate_selector
from kwhatif.kube.matching.field_errors import dns_label_errors, dns_subdomain_errors
from kwhatif.kube.matching.labels import Selector, SelectorError, compile_selector, selector_of_map
from kwhatif.kube.model.meta import GIVEN_EMPTY, LabelSelector, ObjectMeta
from kwhatif.kube.model.pod import PodTemplateSpec
from kwhatif.kube.model.quantity import amounts
from kwhatif.kube.model.storage import ClaimTemplate, ClaimVolumeSource, Volume
from kwhatif.kube.model.workload import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    JobSpec,
    ReplicaSet,
    ReplicationController,
    RollingUpdate,
    StatefulSet,
    UpdateStrategy,
    Workload,
    completions_of,
)

Bound = int | str

_PERCENT = re.compile(r"([0-9]+)%")
#: The most digits that always fit into 64 bits.
_MOST_DIGITS = 18
_NO_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%'"
    " (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
_ROLLING, _QUARTER = "RollingUpdate", "25%"


def validate_deployment_strategy(strategy: UpdateStrategy, errors: FieldErrors) -> None:
    """Validate Recreate, or a rolling update that can make progress (`ValidateDeploymentStrategy`)."""
    if strategy.type == "Recreate":
        if strategy.rolling_update is not None:
            detail = "may not be specified when strategy `type` is 'Recreate'"
            errors.forbidden("spec.strategy.rollingUpdate", detail)
    elif strategy.type in ("", _ROLLING):
        bounds = strategy.rolling_update or RollingUpdate()
        unavailable = _QUARTER if bounds.max_unavailable is None else bounds.max_unavailable
        surge = _QUARTER if bounds.max_surge is None else bounds.max_surge
        rolling = errors.within("spec.strategy.rollingUpdate")
        _positive("maxUnavailable", unavailable, rolling)
        _positive("maxSurge", surge, rolling)
        if not _number(unavailable) and not _number(surge):
            rolling.invalid_object("maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
        _at_most_all("maxUnavailable", unavailable, rolling)


def validate_daemon_set_strategy(strategy: UpdateStrategy, errors: FieldErrors) -> None:
    """Validate OnDelete, or a rolling update with exactly one of its bounds (`ValidateDaemonSetUpdateStrategy`)."""
    if strategy.type not in ("", _ROLLING):
        return
    bounds = strategy.rolling_update or RollingUpdate()
    unavailable = 1 if bounds.max_unavailable is None else bounds.max_unavailable
    surge = 0 if bounds.max_surge is None else bounds.max_surge
    rolling = errors.within("spec.updateStrategy.rollingUpdate")
    for check in (_positive, _at_most_all):
        check("maxUnavailable", unavailable, rolling)
        check("maxSurge", surge, rolling)
    if _number(unavailable) and _number(surge):
        rolling.invalid_object("maxSurge", surge, "may not be set when maxUnavailable is non-zero")
    if not _number(unavailable) and not _number(surge):
        rolling.required("maxUnavailable", "cannot be 0 when maxSurge is 0")


def _positive(field: str, bound: Bound, errors: FieldErrors) -> None:
    if isinstance(bound, str):
        if not _PERCENT.fullmatch(bound):
            errors.invalid(field, bound, _NO_PERCENT)
    elif bound < 0:
        errors.invalid(field, bound, NOT_NEGATIVE)


def _at_most_all(field: str, bound: Bound, errors: FieldErrors) -> None:
    if isinstance(bound, str) and _number(bound) > 100:
        errors.invalid_object(field, bound, "must not be greater than 100%")


def _number(bound: Bound) -> int:
    """The number, or the number of percent; 0 if it is neither, or too large (`getIntOrPercentValue`)."""
    if isinstance(bound, int):
        return bound
    percent = _PERCENT.fullmatch(bound)
    return int(percent[1]) if percent and len(percent[1]) <= _MOST_DIGITS else 0


_ALWAYS = "Always"
_POLICIES = ("OrderedReady", "Parallel")


def validate_workload(workload: Workload) -> Denied | None:
    """The API server's rejection of a new workload; None if it is valid."""
    errors = FieldErrors()
    name_errors = dns_label_errors if isinstance(workload, StatefulSet) else dns_subdomain_errors
    validate_metadata(_metadata(workload), name_errors, errors)
    validate_workload_spec(workload, errors)
    return errors.refusal(workload)


def _metadata(workload: Workload) -> ObjectMeta:
    """The metadata; some kinds without labels get those of their template (`SetDefaults_Job`, and so on)."""
    meta = workload.metadata
    if meta.labels or not isinstance(workload, Job | ReplicationController) or workload.spec.template is None:
        return meta
    return replace(meta, labels=workload.spec.template.metadata.labels)


def validate_workload_spec(workload: Workload, errors: FieldErrors) -> None:
    """Checks for new and changed workloads."""
    match workload:
        case Deployment():
            _validate_replicas(workload, errors)
            validate_deployment_strategy(workload.spec.strategy, errors)
        case ReplicaSet():
            _validate_replicas(workload, errors)
        case ReplicationController():
            _validate_replication_controller(workload, errors)
        case StatefulSet():
            _validate_stateful_set(workload, errors)
        case DaemonSet():
            _validate_daemon_set(workload, errors)
        case Job():
            validate_job(workload, errors)
        case CronJob():
            validate_cron_job(workload, errors)


# --- kinds -------------------------------------------------------------------------------------------


def _validate_replicas(workload: Deployment | ReplicaSet, errors: FieldErrors) -> None:
    _validate_count("spec.replicas", workload.spec.replicas, errors)
    # QUIRK: (ValidateReplicaSetSpec) an empty selector of a ReplicaSet is "invalid for deployment", too.
    _validate_selector(workload.spec.selector, "deployment", errors)
    _validate_template(workload.spec.template, workload.spec.selector, "ReplicaSet", errors)


def _validate_replication_controller(workload: ReplicationController, errors: FieldErrors) -> None:
    spec = workload.spec
    if not spec.selector:
        errors.required("spec.selector")
    _validate_count("spec.replicas", spec.replicas, errors)
    if spec.template is None:
        errors.required("spec.template")
        return
    if spec.selector:
        _validate_labels(selector_of_map(spec.selector), spec.template, errors)
    validate_template(default_template(spec.template), "spec.template", errors)
    _validate_forever(spec.template, "ReplicationController", errors)


def _validate_stateful_set(workload: StatefulSet, errors: FieldErrors) -> None:
    spec = workload.spec
    policy = spec.pod_management_policy
    if policy not in ("", *_POLICIES):
        errors.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    _validate_count("spec.replicas", spec.replicas, errors)
    if spec.ordinals is not None:
        _validate_count("spec.ordinals.start", spec.ordinals.start, errors)
    if spec.service_name:
        errors.check("spec.serviceName", spec.service_name, dns_label_errors)
    _validate_selector(spec.selector, "statefulset", errors)
    _validate_template(_with_claims(workload), spec.selector, "StatefulSet", errors)


def _with_claims(workload: StatefulSet) -> PodTemplateSpec:
    """The template with the volumes that the controller adds, and without the host name that it replaces."""
    template = workload.spec.template or PodTemplateSpec()
    names = [claim.metadata.name for claim in workload.spec.volume_claim_templates]
    claimed = (Volume(name=name, persistent_volume_claim=ClaimVolumeSource(claim_name=name)) for name in names)
    others = (volume for volume in template.spec.volumes if volume.name not in names)
    return replace(template, spec=replace(template.spec, volumes=(*claimed, *others), hostname="", subdomain=""))


def _validate_daemon_set(workload: DaemonSet, errors: FieldErrors) -> None:
    spec = workload.spec
    template = spec.template or PodTemplateSpec()
    validate_selector(spec.selector, "spec.selector", errors)
    _validate_match(spec.selector, template, errors)
    if spec.selector is not None and _is_empty(spec.selector):
        errors.invalid_object("spec.selector", as_json(spec.selector), "empty selector is invalid for daemonset")
    validate_template(default_template(template), "spec.template", errors)
    _validate_forever(template, "DaemonSet", errors)
    validate_daemon_set_strategy(spec.update_strategy, errors)


# --- parts -------------------------------------------------------------------------------------------


def _validate_count(path: str, count: int | None, errors: FieldErrors) -> None:
    if count is not None and count < 0:
        errors.invalid(path, count, NOT_NEGATIVE)


def _validate_selector(selector: LabelSelector | None, kind: str, errors: FieldErrors) -> None:
    if selector is None:
        errors.required("spec.selector")
        return
    validate_selector(selector, "spec.selector", errors)
    if _is_empty(selector):
        errors.invalid_object("spec.selector", as_json(selector), f"empty selector is invalid for {kind}")


def _is_empty(selector: LabelSelector) -> bool:
    return not selector.match_labels and not selector.match_expressions


def _validate_template(
    template: PodTemplateSpec | None, selector: LabelSelector | None, kind: str, errors: FieldErrors
) -> None:
    template = template or PodTemplateSpec()
    if _validate_match(selector, template, errors):
        validate_template(default_template(template), "spec.template", errors)
        _validate_forever(template, kind, errors)
    elif kind == "StatefulSet":
        errors.invalid_object("spec.selector", as_json(selector), "")
        _validate_forever(template, kind, errors)
    else:
        errors.invalid_object("spec.selector", as_json(selector), "invalid label selector")


def _validate_match(selector: LabelSelector | None, template: PodTemplateSpec, errors: FieldErrors) -> bool:
    """Check that the selector matches the template's labels; returns False if the selector is not valid."""
    try:
        compiled = compile_selector(selector)
    except SelectorError:
        return False
    _validate_labels(compiled, template, errors)
    return True


def _validate_labels(selector: Selector, template: PodTemplateSpec, errors: FieldErrors) -> None:
    labels = template.metadata.labels
    if not selector.matches(labels):
        known = dict(sorted(labels.items())) or ({} if labels is GIVEN_EMPTY else None)
        detail = "`selector` does not match template `labels`"
        errors.invalid_object("spec.template.metadata.labels", known, detail)


def _validate_forever(template: PodTemplateSpec, kind: str, errors: FieldErrors) -> None:
    """Check that the template's pods run forever."""
    policy = template.spec.restart_policy or _ALWAYS
    errors.supported("spec.template.spec.restartPolicy", policy, (_ALWAYS,))
    if template.spec.active_deadline_seconds is not None:
        here = "spec.template.spec.activeDeadlineSeconds"
        errors.forbidden(here, f"activeDeadlineSeconds in {kind} is not Supported")


_IMMUTABLE = "field is immutable"
_NOT_INDEXED, _INDEXED = "NonIndexed", "Indexed"
_OTHER_FIELDS = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy',"
    " 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def validate_workload_update(new: Workload, known: Workload) -> Denied | None:
    """The API server's rejection of a change (`ValidateDeploymentUpdate` and similar); None if it is valid.

    `workloads/comparison.py` checks the template of a Job.
    """
    errors = FieldErrors()
    if isinstance(new, DaemonSet) and isinstance(known, DaemonSet):
        _unchanged_selector(new.spec.selector, known.spec.selector, errors)
    validate_workload_spec(new, errors)
    match new, known:
        case Deployment() | ReplicaSet(), Deployment() | ReplicaSet():
            _unchanged_selector(new.spec.selector, known.spec.selector, errors)
        case StatefulSet(), StatefulSet():
            if _identity(new) != _identity(known):
                errors.forbidden("spec", _OTHER_FIELDS)
        case Job(), Job():
            _unchanged_completions(new.spec, known.spec, errors)
    return errors.refusal(new)


def _unchanged_selector(new: LabelSelector | None, known: LabelSelector | None, errors: FieldErrors) -> None:
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


def _unchanged_completions(new: JobSpec, known: JobSpec, errors: FieldErrors) -> None:
    mode = new.completion_mode or _NOT_INDEXED
    before, after = completions_of(known), completions_of(new)
    if mode != _INDEXED and after != before:
        errors.invalid_object("spec.completions", after, _IMMUTABLE)
    elif after is not None and after not in (before, 1 if new.parallelism is None else new.parallelism):
        errors.invalid_object("spec.completions", after, "can only be modified in tandem with spec.parallelism")
    if mode != (known.completion_mode or _NOT_INDEXED):
        errors.invalid_object("spec.completionMode", mode, _IMMUTABLE)
