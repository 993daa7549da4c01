"""Namespaces, services and the controllers that make pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from msgspec import field

from kwhatif.kube.model.job import CronJob, Job
from kwhatif.kube.model.meta import ApiObject, Int32, LabelSelector, Model, ObjectMeta
from kwhatif.kube.model.pod import Pod, PodTemplateSpec
from kwhatif.kube.model.volume import ClaimTemplate


class NamespaceAnnotations(Model):
    """The annotations of namespaces that affect their pods; all others are dropped when they are read."""

    linkerd_inject: str = field(name="linkerd.io/inject", default="")


class NamespaceMeta(ObjectMeta):
    """The metadata of namespaces."""

    annotations: NamespaceAnnotations = NamespaceAnnotations()


class Namespace(ApiObject):
    """`v1.Namespace`."""

    metadata: NamespaceMeta = NamespaceMeta()


class ServiceSpec(Model):
    """`spec` of a service; a missing selector and an empty one differ."""

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
    """`strategy` of a Deployment, `updateStrategy` of the others."""

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
    """What the Deployment controller stores on its ReplicaSets, as text; all other annotations are dropped."""

    #: The Deployment's replicas, and the maximum with maxSurge, when the ReplicaSet was last scaled.
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
    #: None: 10 old ReplicaSets without pods are kept.
    revision_history_limit: Int32 | None = None
    #: None: 600.
    progress_deadline_seconds: Int32 | None = None


class Deployment(ApiObject):
    """`apps/v1 Deployment`."""

    spec: DeploymentSpec = DeploymentSpec()


class StatefulSetOrdinals(Model):
    """`spec.ordinals` of a StatefulSet."""

    start: Int32 = 0


class ClaimRetentionPolicy(Model):
    """`spec.persistentVolumeClaimRetentionPolicy` of a StatefulSet: Retain (also where it is empty), or Delete."""

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
    """`status` of a StatefulSet: its revisions, as in its pods' labels, and how many pods have the current one."""

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


#: Kinds with `spec.replicas`, which the subresource `scale` reads and writes.
Scalable = Deployment | ReplicaSet | ReplicationController | StatefulSet
SCALABLE: tuple[type[Scalable], ...] = get_args(Scalable)
#: Kinds whose controllers make pods themselves, and own them.
PodController = DaemonSet | Job | ReplicaSet | ReplicationController | StatefulSet
#: By kind, as owner references name them.
POD_CONTROLLERS: Mapping[str, type[PodController]] = {kind.__name__: kind for kind in get_args(PodController)}
#: Kinds with a template of pods.
Workload = CronJob | Deployment | PodController
WORKLOADS: tuple[type[Workload], ...] = get_args(Workload)
#: Kinds that can be asked about: pods, and kinds that create pods; in the order in which messages list them.
PodSource = Pod | Scalable | DaemonSet | Job | CronJob
POD_SOURCES: tuple[type[PodSource], ...] = get_args(PodSource)
