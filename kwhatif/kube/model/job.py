"""Jobs and CronJobs."""

from __future__ import annotations

from kwhatif.kube.model.meta import ApiObject, Int32, Int64, LabelSelector, Model, ObjectMeta
from kwhatif.kube.model.pod import PodTemplateSpec


class OnExitCodes(Model):
    """`onExitCodes` of a rule for failed pods."""

    container_name: str | None = None
    operator: str = ""
    values: tuple[Int32, ...] = ()


class OnPodCondition(Model):
    """An entry of `onPodConditions`; no status means True."""

    type: str = ""
    status: str = ""


class PodFailureRule(Model):
    """`podFailurePolicy.rules[]`."""

    action: str = ""
    on_exit_codes: OnExitCodes | None = None
    on_pod_conditions: tuple[OnPodCondition, ...] = ()


class PodFailurePolicy(Model):
    """`podFailurePolicy` of a Job: the first rule that matches decides."""

    rules: tuple[PodFailureRule, ...] = ()


class SuccessRule(Model):
    """`successPolicy.rules[]`."""

    succeeded_indexes: str | None = None
    succeeded_count: Int32 | None = None


class SuccessPolicy(Model):
    """`successPolicy` of an indexed Job."""

    rules: tuple[SuccessRule, ...] = ()


class JobSpec(Model):
    """`spec` of a Job."""

    parallelism: Int32 | None = None
    completions: Int32 | None = None
    completion_mode: str | None = None
    suspend: bool = False
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None
    #: None: 6, or no limit if `backoff_limit_per_index` is set.
    backoff_limit: Int32 | None = None
    backoff_limit_per_index: Int32 | None = None
    max_failed_indexes: Int32 | None = None
    active_deadline_seconds: Int64 | None = None
    #: How long the Job is kept after it has finished; None: forever.
    ttl_seconds_after_finished: Int32 | None = None
    #: "": Failed if there is a pod failure policy, else TerminatingOrFailed.
    pod_replacement_policy: str = ""
    pod_failure_policy: PodFailurePolicy | None = None
    success_policy: SuccessPolicy | None = None
    #: The controller, if it is not Kubernetes' own.
    managed_by: str = ""


class JobCondition(Model):
    """`status.conditions[]` of a Job."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class UncountedPods(Model):
    """`status.uncountedTerminatedPods` of a Job: UIDs of finished pods that are not in its counts yet."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobStatus(Model):
    """`status` of a Job: how its pods ended, and whether it has finished."""

    succeeded: Int32 = 0
    failed: Int32 = 0
    #: Such as `0-2,5`.
    completed_indexes: str = ""
    failed_indexes: str = ""
    start_time: str | None = None
    uncounted_terminated_pods: UncountedPods | None = None
    conditions: tuple[JobCondition, ...] = ()


class Job(ApiObject):
    """`batch/v1 Job`."""

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class JobTemplateSpec(Model):
    """`spec.jobTemplate` of a CronJob."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()


class CronJobSpec(Model):
    """`spec` of a CronJob."""

    suspend: bool = False
    #: In cron's format, in `time_zone`; "": that of kube-controller-manager.
    schedule: str = ""
    time_zone: str = ""
    #: "": Allow.
    concurrency_policy: str = ""
    starting_deadline_seconds: Int64 | None = None
    successful_jobs_history_limit: Int32 | None = None
    failed_jobs_history_limit: Int32 | None = None
    job_template: JobTemplateSpec = JobTemplateSpec()


class CronJob(ApiObject):
    """`batch/v1 CronJob`."""

    spec: CronJobSpec = CronJobSpec()


def completions_of(spec: JobSpec) -> int | None:
    """How many pods must succeed; None: the first success completes the Job."""
    return 1 if spec.completions is None and spec.parallelism is None else spec.completions
