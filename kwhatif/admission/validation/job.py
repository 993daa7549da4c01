"""Validation of Jobs and CronJobs (`pkg/apis/batch/validation/validation.go`)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from kwhatif.admission.defaults import default_template
from kwhatif.admission.validation.errors import NOT_NEGATIVE, FieldErrors
from kwhatif.admission.validation.pod import validate_template
from kwhatif.kube.matching.cron import is_zone, parse_schedule
from kwhatif.kube.matching.field_errors import dns_label_errors, label_key_errors
from kwhatif.kube.model.pod import PodTemplateSpec
from kwhatif.kube.model.workload import CronJob, CronJobSpec, Job, JobSpec, OnExitCodes, PodFailureRule, SuccessRule

_INDEXED = "Indexed"
_MODES = ("NonIndexed", _INDEXED)
_NOT_INDEXED = "requires indexed completion mode"
#: The longest name of a CronJob: its Jobs append their start time to it.
_MAX_CRON_JOB_NAME = 52
_CONCURRENCY = ("Allow", "Forbid", "Replace")
_REPLACEMENT = ("Failed", "TerminatingOrFailed")
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS, _STATUSES = ("In", "NotIn"), ("False", "True", "Unknown")
#: How many indexes an indexed Job may run at once, and how many may fail; with more completions than that, and a limit
#: of failures for each index, fewer.
_MOST_INDEXES, _MOST_OF_MANY = 100_000, 10_000
_MOST_RULES, _MOST_VALUES = 20, 255
_LIMITS = ("starting_deadline_seconds", "successful_jobs_history_limit", "failed_jobs_history_limit")
_NUMBERS = (
    "parallelism",
    "completions",
    "active_deadline_seconds",
    "backoff_limit",
    "ttl_seconds_after_finished",
    "backoff_limit_per_index",
    "max_failed_indexes",
)


def validate_job(job: Job, errors: FieldErrors) -> None:
    """Check `spec`, and that pods of an indexed Job can be named."""
    spec = job.spec
    if spec.completions is None and spec.parallelism is None:
        spec = replace(spec, completions=1)  # the default of a Job, but not of a template of Jobs
    _validate_spec(spec, errors.within("spec"))
    if spec.completion_mode == _INDEXED and spec.completions is not None and spec.completions > 0:
        name = job.metadata.name
        last = f"{name}-{spec.completions - 1}"
        if dns_label_errors(last):
            errors.invalid("metadata.name", name, f"will not able to create pod with invalid DNS label: {last}")


def validate_cron_job(cron_job: CronJob, errors: FieldErrors) -> None:
    """Check `spec`, and that Jobs can be named."""
    spec, name, inner = cron_job.spec, cron_job.metadata.name, errors.within("spec")
    _validate_schedule(spec.schedule, inner)
    if spec.time_zone.lower() == "local":
        explicit = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        inner.invalid("timeZone", spec.time_zone, explicit)
    elif spec.time_zone and not is_zone(spec.time_zone):
        inner.invalid("timeZone", spec.time_zone, f"unknown time zone {spec.time_zone}")
    if spec.concurrency_policy:
        inner.supported("concurrencyPolicy", spec.concurrency_policy, _CONCURRENCY)
    _validate_spec(spec.job_template.spec, errors.within("spec.jobTemplate.spec"))
    _validate_numbers(spec, _LIMITS, inner)
    if len(name) > _MAX_CRON_JOB_NAME:
        errors.invalid("metadata.name", name, f"must be no more than {_MAX_CRON_JOB_NAME} characters")


def _validate_schedule(schedule: str, errors: FieldErrors) -> None:
    if not schedule:
        errors.required("schedule")
    elif "TZ" in schedule:
        instead = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        errors.invalid("schedule", schedule, instead)
    else:
        try:
            parse_schedule(schedule)
        except ValueError as wrong:
            errors.invalid("schedule", schedule, str(wrong))


def _validate_numbers(spec: JobSpec | CronJobSpec, names: Sequence[str], errors: FieldErrors) -> None:
    for name in names:
        if (number := getattr(spec, name)) is not None and number < 0:
            errors.invalid(_camel(name), number, NOT_NEGATIVE)


def _validate_spec(spec: JobSpec, errors: FieldErrors) -> None:
    _validate_numbers(spec, _NUMBERS, errors)
    if spec.max_failed_indexes is not None and spec.backoff_limit_per_index is None:
        errors.required("backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if spec.completion_mode is not None:
        errors.supported("completionMode", spec.completion_mode, _MODES)
    if spec.completion_mode == _INDEXED:
        _validate_indexed(spec, errors)
    elif spec.completion_mode in (None, _MODES[0]):
        for name in ("backoff_limit_per_index", "max_failed_indexes"):
            if (number := getattr(spec, name)) is not None:
                errors.invalid(_camel(name), number, _NOT_INDEXED)
    _validate_failure_policy(spec, errors)
    _validate_success_policy(spec, errors)
    if spec.pod_replacement_policy:
        allowed = _REPLACEMENT if spec.pod_failure_policy is None else _REPLACEMENT[:1]
        errors.supported("podReplacementPolicy", spec.pod_replacement_policy, allowed)
    template = default_template(spec.template or PodTemplateSpec())
    validate_template(template, "template", errors)
    _validate_restart_policy(template.spec.restart_policy, spec, errors)


def _validate_indexed(spec: JobSpec, errors: FieldErrors) -> None:
    at_once, failed = spec.parallelism or 0, spec.max_failed_indexes
    if spec.completions is None:
        errors.required("completions", f"when completion mode is {_INDEXED}")
    if at_once > _MOST_INDEXES:
        detail = f"must be less than or equal to {_MOST_INDEXES} when completion mode is {_INDEXED}"
        errors.invalid("parallelism", at_once, detail)
    if failed is not None and spec.completions is not None and failed > spec.completions:
        errors.invalid("maxFailedIndexes", failed, "must be less than or equal to completions")
    if failed is not None and failed > _MOST_INDEXES:
        errors.invalid("maxFailedIndexes", failed, f"must be less than or equal to {_MOST_INDEXES}")
    if (spec.completions or 0) > _MOST_INDEXES and spec.backoff_limit_per_index is not None:
        if failed is None:
            errors.required("maxFailedIndexes", f"must be specified when completions is above {_MOST_INDEXES}")
        for field, number in (("parallelism", at_once), ("maxFailedIndexes", failed or 0)):
            if number > _MOST_OF_MANY:
                many = f"when completions are above {_MOST_INDEXES} and used with backoff limit per index"
                errors.invalid(field, number, f"must be less than or equal to {_MOST_OF_MANY} {many}")


def _validate_restart_policy(policy: str, spec: JobSpec, errors: FieldErrors) -> None:
    path = "template.spec.restartPolicy"
    if policy == "Always":
        errors.required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        errors.unsupported(path, policy, ("OnFailure", "Never"))
    elif spec.pod_failure_policy is not None and policy != "Never":
        errors.invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')


# --- policies ----------------------------------------------------------------------------------------


def _validate_failure_policy(spec: JobSpec, errors: FieldErrors) -> None:
    if spec.pod_failure_policy is None:
        return
    rules, pod = spec.pod_failure_policy.rules, (spec.template or PodTemplateSpec()).spec
    errors.at_most("podFailurePolicy.rules", len(rules), _MOST_RULES)
    containers = {each.name for each in (*pod.containers, *pod.init_containers)}
    for number, rule in enumerate(rules):
        path = f"podFailurePolicy.rules[{number}]"
        inner = errors.within(path)
        _validate_action(rule, spec, inner)
        if rule.on_exit_codes is not None:
            _validate_exit_codes(rule.on_exit_codes, containers, inner.within("onExitCodes"))
        _validate_conditions(rule, inner)
        if rule.on_exit_codes is not None and rule.on_pod_conditions:
            errors.conflict(path, "specifying both OnExitCodes and OnPodConditions is not supported")
        if rule.on_exit_codes is None and not rule.on_pod_conditions:
            errors.conflict(path, "specifying one of OnExitCodes and OnPodConditions is required")


def _validate_action(rule: PodFailureRule, spec: JobSpec, errors: FieldErrors) -> None:
    if not rule.action:
        errors.required("action", 'valid values: ["Count" "FailIndex" "FailJob" "Ignore"]')
    elif rule.action == "FailIndex" and spec.backoff_limit_per_index is None:
        errors.invalid("action", rule.action, "requires the backoffLimitPerIndex to be set")
    else:
        errors.supported("action", rule.action, _ACTIONS)


def _validate_exit_codes(codes: OnExitCodes, containers: Collection[str], errors: FieldErrors) -> None:
    if not codes.operator:
        errors.required("operator", 'valid values: ["In" "NotIn"]')
    else:
        errors.supported("operator", codes.operator, _OPERATORS)
    if codes.container_name is not None and codes.container_name not in containers:
        detail = "must be one of the container or initContainer names in the pod template"
        errors.invalid("containerName", codes.container_name, detail)
    if not codes.values:
        errors.invalid_object("values", [], "at least one value is required")
    errors.at_most("values", len(codes.values), _MOST_VALUES)
    seen: set[int] = set()
    for number, value in enumerate(codes.values):
        if codes.operator == "In" and value == 0:
            errors.invalid(f"values[{number}]", value, "must not be 0 for the In operator")
        if value in seen:
            errors.duplicate(f"values[{number}]", value)
        seen.add(value)
    if list(codes.values) != sorted(codes.values):
        errors.invalid_object("values", codes.values, "must be ordered")


def _validate_conditions(rule: PodFailureRule, errors: FieldErrors) -> None:
    errors.at_most("onPodConditions", len(rule.on_pod_conditions), _MOST_RULES)
    for number, condition in enumerate(rule.on_pod_conditions):
        errors.name(f"onPodConditions[{number}].type", condition.type, label_key_errors, "name part must be non-empty")
        if condition.status:  # else the default, True
            errors.supported(f"onPodConditions[{number}].status", condition.status, _STATUSES)


def _validate_success_policy(spec: JobSpec, errors: FieldErrors) -> None:
    policy = spec.success_policy
    if policy is None:
        return
    if spec.completion_mode != _INDEXED:
        # QUIRK: the API server shows its internal type, whose fields have other names.
        rules = [
            {"SucceededIndexes": each.succeeded_indexes, "SucceededCount": each.succeeded_count}
            for each in policy.rules
        ]
        errors.invalid_object("successPolicy", {"Rules": rules or None}, _NOT_INDEXED)
        return
    if not policy.rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        errors.required("successPolicy.rules", detail)
    errors.at_most("successPolicy.rules", len(policy.rules), _MOST_RULES)
    for number, rule in enumerate(policy.rules if spec.completions is not None else ()):
        _validate_success_rule(rule, spec.completions or 0, f"successPolicy.rules[{number}]", errors)


def _validate_success_rule(rule: SuccessRule, completions: int, path: str, errors: FieldErrors) -> None:
    text, count, total = rule.succeeded_indexes, rule.succeeded_count, 0
    if count is None and text is None:
        errors.required(path, "at least one of succeededCount or succeededIndexes must be specified")
    if text is not None:
        try:
            total = _count_indexes(text, completions)
        except ValueError as wrong:
            errors.invalid(f"{path}.succeededIndexes", text, f"error parsing succeededIndexes: {wrong}")
    if count is None:
        return
    here, limit = f"{path}.succeededCount", "must be less than or equal to"
    if count < 0:
        errors.invalid(here, count, NOT_NEGATIVE)
    if count > completions:
        errors.invalid(here, count, f"{limit} {completions} (the number of specified completions)")
    if text is not None and count > total:
        indexes = "(the number of indexes in the specified succeededIndexes field)"
        errors.invalid(here, count, f"{limit} {total} {indexes}")


_INDEX = re.compile(r"[+-]?[0-9]{1,18}")


def _count_indexes(text: str, completions: int) -> int:
    """How many indexes a list such as `0-2,5` names.

    Raises:
        ValueError: it is not in ascending order, or has indexes beyond the completions (`validateIndexesFormat`).
    """
    total, last = 0, None
    for interval in text.split(",") if text else ():
        limits = interval.split("-")
        if len(limits) > 2:
            parts = "violates the requirement that an index interval can have at most two parts separated by '-'"
            raise ValueError(f'the fragment "{interval}" {parts}')
        first, *end = [_index(limit, completions) for limit in limits]
        for previous, current in ((last, first), *((first, each) for each in end)):
            if previous is not None and previous >= current:
                raise ValueError(f"non-increasing order, previous: {previous}, current: {current}")
        last = end[0] if end else first
        total += last - first + 1
    return total


def _index(text: str, completions: int) -> int:
    if not _INDEX.fullmatch(text):
        raise ValueError(f'cannot convert string to integer for index: "{text}"')
    if int(text) >= completions:
        raise ValueError(f'too large index: "{text}"')
    return int(text)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))
