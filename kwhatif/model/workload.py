"""Namespaces, services and the controllers that make pods."""

from __future__ import annotations

from kwhatif.model.meta import LabelSelector, Model, ObjectMeta
from kwhatif.model.pod import PodTemplateSpec
from kwhatif.model.volume import ClaimTemplate


class Namespace(Model, tag_field="kind", tag="Namespace"):
    """`v1.Namespace`."""

    api_version: str = ""
    metadata: ObjectMeta = ObjectMeta()


class ServiceSpec(Model):
    """`spec` of a service; a missing selector and an empty one differ."""

    selector: dict[str, str] | None = None


class Service(Model, tag_field="kind", tag="Service"):
    """`v1.Service`."""

    api_version: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()


class RollingUpdate(Model):
    """`rollingUpdate` of a Deployment, DaemonSet or StatefulSet."""

    max_unavailable: int | str | None = None
    max_surge: int | str | None = None
    partition: int | None = None


class UpdateStrategy(Model):
    """`strategy` of a Deployment, `updateStrategy` of the others."""

    type: str = ""
    rolling_update: RollingUpdate | None = None


class ReplicationControllerSpec(Model):
    """`spec` of a ReplicationController: its selector is a plain map."""

    replicas: int | None = None
    selector: dict[str, str] | None = None
    template: PodTemplateSpec | None = None


class ReplicationController(Model, tag_field="kind", tag="ReplicationController"):
    """`v1.ReplicationController`."""

    api_version: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class ReplicaSetSpec(Model):
    """`spec` of a ReplicaSet."""

    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None


class ReplicaSet(Model, tag_field="kind", tag="ReplicaSet"):
    """`apps/v1 ReplicaSet`."""

    api_version: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicaSetSpec = ReplicaSetSpec()


class DeploymentSpec(Model):
    """`spec` of a Deployment."""

    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None
    strategy: UpdateStrategy = UpdateStrategy()
    paused: bool = False


class Deployment(Model, tag_field="kind", tag="Deployment"):
    """`apps/v1 Deployment`."""

    api_version: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: DeploymentSpec = DeploymentSpec()


class StatefulSetOrdinals(Model):
    """`spec.ordinals` of a StatefulSet."""

    start: int = 0


class StatefulSetSpec(Model):
    """`spec` of a StatefulSet."""

    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None
    volume_claim_templates: tuple[ClaimTemplate, ...] = ()
    update_strategy: UpdateStrategy = UpdateStrategy()
    ordinals: StatefulSetOrdinals | None = None
    service_name: str = ""
    pod_management_policy: str = ""


class StatefulSet(Model, tag_field="kind", tag="StatefulSet"):
    """`apps/v1 StatefulSet`."""

    api_version: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: StatefulSetSpec = StatefulSetSpec()


class DaemonSetSpec(Model):
    """`spec` of a DaemonSet."""

    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None
    update_strategy: UpdateStrategy = UpdateStrategy()


class DaemonSet(Model, tag_field="kind", tag="DaemonSet"):
    """`apps/v1 DaemonSet`."""

    api_version: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: DaemonSetSpec = DaemonSetSpec()


class JobSpec(Model):
    """`spec` of a Job."""

    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = None
    suspend: bool = False
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None


class JobCondition(Model):
    """`status.conditions[]` of a Job."""

    type: str = ""
    status: str = ""


class JobStatus(Model):
    """`status` of a Job: how many of its pods have succeeded, and whether that is all."""

    succeeded: int = 0
    conditions: tuple[JobCondition, ...] = ()


class Job(Model, tag_field="kind", tag="Job"):
    """`batch/v1 Job`."""

    api_version: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class JobTemplateSpec(Model):
    """`spec.jobTemplate` of a CronJob."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()


class CronJobSpec(Model):
    """`spec` of a CronJob."""

    suspend: bool = False
    job_template: JobTemplateSpec = JobTemplateSpec()


class CronJob(Model, tag_field="kind", tag="CronJob"):
    """`batch/v1 CronJob`."""

    api_version: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: CronJobSpec = CronJobSpec()
