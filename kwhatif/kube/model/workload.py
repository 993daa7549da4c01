"""Workloads (controllers that create pods), namespaces and services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from msgspec import field

from kwhatif.kube.model.meta import ApiObject, Int32, Int64, LabelSelector, Model, ObjectMeta
from kwhatif.kube.model.pod import Pod, PodTemplateSpec
from kwhatif.kube.model.storage import ClaimTemplate


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
    """`podFailurePolicy` of a Job: the first matching rule decides."""

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
    #: None means 6, or no limit if `backoff_limit_per_index` is set.
    backoff_limit: Int32 | None = None
    backoff_limit_per_index: Int32 | None = None
    max_failed_indexes: Int32 | None = None
    active_deadline_seconds: Int64 | None = None
    #: The time that the Job is kept after it has finished; None: it is never deleted.
    ttl_seconds_after_finished: Int32 | None = None
    #: "" means Failed if there is a pod failure policy, otherwise TerminatingOrFailed.
    pod_replacement_policy: str = ""
    pod_failure_policy: PodFailurePolicy | None = None
    success_policy: SuccessPolicy | None = None
    #: The controller, if it is not the built-in Job controller.
    managed_by: str = ""


class JobCondition(Model):
    """`status.conditions[]` of a Job."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class UncountedPods(Model):
    """`status.uncountedTerminatedPods` of a Job: UIDs of finished pods that the Job's counts do not include yet."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobStatus(Model):
    """`status` of a Job: the results of its pods, and whether it has finished."""

    succeeded: Int32 = 0
    failed: Int32 = 0
    #: Ranges of indexes, such as `0-2,5`.
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
    #: In cron's format, in `time_zone`; an empty time zone is the one of kube-controller-manager.
    schedule: str = ""
    time_zone: str = ""
    #: "" means Allow.
    concurrency_policy: str = ""
    starting_deadline_seconds: Int64 | None = None
    successful_jobs_history_limit: Int32 | None = None
    failed_jobs_history_limit: Int32 | None = None
    job_template: JobTemplateSpec = JobTemplateSpec()


class CronJob(ApiObject):
    """`batch/v1 CronJob`."""

    spec: CronJobSpec = CronJobSpec()


def completions_of(spec: JobSpec) -> int | None:
    """The number of pods that must succeed; None: the first success completes the Job."""
    return 1 if spec.completions is None and spec.parallelism is None else spec.completions


class NamespaceAnnotations(Model):
    """The annotations of namespaces that affect their pods; the decoder drops all other annotations."""

    linkerd_inject: str = field(name="linkerd.io/inject", default="")


class NamespaceMeta(ObjectMeta):
    """The metadata of namespaces."""

    annotations: NamespaceAnnotations = NamespaceAnnotations()


class Namespace(ApiObject):
    """`v1.Namespace`."""

    metadata: NamespaceMeta = NamespaceMeta()


class ServiceSpec(Model):
    """`spec` of a service; a missing selector differs from an empty selector."""

    selector: dict[str, str] | None = None


class Service(ApiObject):
    """`v1.Service`."""

    spec: ServiceSpec = ServiceSpec()


class RollingUpdate(Model):
    """`rollingUpdate` of a Deployment, DaemonSet or StatefulSet."""

    max_unavailable: Int32 | str | None = None
    max_surge: Int32 | str | None = None
    partition: Int32 | None = None


class UpdateStrategy(Model):
    """`strategy` of a Deployment, `updateStrategy` of a DaemonSet or StatefulSet."""

    type: str = ""
    rolling_update: RollingUpdate | None = None


class ReplicationControllerSpec(Model):
    """`spec` of a ReplicationController: its selector is a plain map."""

    replicas: Int32 | None = None
    selector: dict[str, str] | None = None
    template: PodTemplateSpec | None = None
    min_ready_seconds: Int32 = 0


class ReplicationController(ApiObject):
    """`v1.ReplicationController`."""

    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class RolloutAnnotations(Model):
    """The annotations that the Deployment controller sets on its ReplicaSets; all other annotations are dropped."""

    #: When the ReplicaSet was last scaled: the Deployment's replicas, and the maximum with maxSurge.
    desired_replicas: str = field(name="deployment.kubernetes.io/desired-replicas", default="")
    max_replicas: str = field(name="deployment.kubernetes.io/max-replicas", default="")
    revision: str = field(name="deployment.kubernetes.io/revision", default="")


class ReplicaSetMeta(ObjectMeta):
    """The metadata of ReplicaSets."""

    annotations: RolloutAnnotations = RolloutAnnotations()


class ReplicaSetSpec(Model):
    """`spec` of a ReplicaSet."""

    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None
    min_ready_seconds: Int32 = 0


class ReplicaSet(ApiObject):
    """`apps/v1 ReplicaSet`."""

    metadata: ReplicaSetMeta = ReplicaSetMeta()
    spec: ReplicaSetSpec = ReplicaSetSpec()


class DeploymentSpec(Model):
    """`spec` of a Deployment."""

    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None
    strategy: UpdateStrategy = UpdateStrategy()
    paused: bool = False
    min_ready_seconds: Int32 = 0
    #: The number of old ReplicaSets without pods to keep; None means 10.
    revision_history_limit: Int32 | None = None
    #: None means 600 seconds.
    progress_deadline_seconds: Int32 | None = None


class Deployment(ApiObject):
    """`apps/v1 Deployment`."""

    spec: DeploymentSpec = DeploymentSpec()


class StatefulSetOrdinals(Model):
    """`spec.ordinals` of a StatefulSet."""

    start: Int32 = 0


class ClaimRetentionPolicy(Model):
    """`spec.persistentVolumeClaimRetentionPolicy` of a StatefulSet: Retain (also if empty), or Delete."""

    when_deleted: str = ""
    when_scaled: str = ""


class StatefulSetSpec(Model):
    """`spec` of a StatefulSet."""

    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None
    volume_claim_templates: tuple[ClaimTemplate, ...] = ()
    update_strategy: UpdateStrategy = UpdateStrategy()
    ordinals: StatefulSetOrdinals | None = None
    service_name: str = ""
    pod_management_policy: str = ""
    min_ready_seconds: Int32 = 0
    persistent_volume_claim_retention_policy: ClaimRetentionPolicy | None = None


class StatefulSetStatus(Model):
    """`status` of a StatefulSet: its revisions, as in its pods' labels, and the pods of the current revision."""

    current_revision: str = ""
    update_revision: str = ""
    current_replicas: Int32 = 0


class StatefulSet(ApiObject):
    """`apps/v1 StatefulSet`."""

    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


class DaemonSetSpec(Model):
    """`spec` of a DaemonSet."""

    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None
    update_strategy: UpdateStrategy = UpdateStrategy()
    min_ready_seconds: Int32 = 0


class DaemonSet(ApiObject):
    """`apps/v1 DaemonSet`."""

    spec: DaemonSetSpec = DaemonSetSpec()


#: Kinds with `spec.replicas` and the subresource `scale`.
Scalable = Deployment | ReplicaSet | ReplicationController | StatefulSet
SCALABLE: tuple[type[Scalable], ...] = get_args(Scalable)
#: Kinds whose controllers create and own pods directly.
PodController = DaemonSet | Job | ReplicaSet | ReplicationController | StatefulSet
#: Pod controllers by kind, as in owner references.
POD_CONTROLLERS: Mapping[str, type[PodController]] = {kind.__name__: kind for kind in get_args(PodController)}
#: Kinds with a pod template.
Workload = CronJob | Deployment | PodController
WORKLOADS: tuple[type[Workload], ...] = get_args(Workload)
#: Kinds that questions accept: pods, and kinds that create pods; in the order of messages.
PodSource = Pod | Scalable | DaemonSet | Job | CronJob
POD_SOURCES: tuple[type[PodSource], ...] = get_args(PodSource)
