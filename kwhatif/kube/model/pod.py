"""Pods: the parts of `v1.Pod` that rules read, and the scheduling attempts that Events show."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from kwhatif.kube.model.meta import ApiObject, Int32, Int64, Model, ObjectMeta, controller_of
from kwhatif.kube.model.pod_spec import (
    Affinity,
    Container,
    NodeAffinity,
    PodAffinity,
    PodAffinityTerm,
    PodOS,
    PodSecurityContext,
    ResourceList,
    ResourceRequirements,
    Toleration,
    TopologySpreadConstraint,
)
from kwhatif.kube.model.storage import Volume


class PodCondition(Model):
    """`status.conditions[]`."""

    type: str = ""
    status: str = ""
    reason: str = ""
    last_transition_time: str | None = None


class ContainerStateWaiting(Model):
    """`state.waiting` of a container."""

    reason: str = ""


class ContainerStateTerminated(Model):
    """`state.terminated` of a container."""

    exit_code: Int32 = 0
    reason: str = ""
    finished_at: str | None = None


class ContainerState(Model):
    """`state` of a container; a running container has none of these fields."""

    waiting: ContainerStateWaiting | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(Model):
    """`status.containerStatuses[]`: the container's state, and the resources that an in-place resize has granted."""

    name: str = ""
    restart_count: Int32 = 0
    state: ContainerState | None = None
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList | None = None


class PodResourceClaimStatus(Model):
    """`status.resourceClaimStatuses[]`: the claim generated for a template entry."""

    name: str = ""
    resource_claim_name: str | None = None


class ContainerExtendedResourceRequest(Model):
    """One mapping of `status.extendedResourceClaimStatus.requestMappings[]`."""

    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class ExtendedResourceClaimStatus(Model):
    """`status.extendedResourceClaimStatus`."""

    resource_claim_name: str = ""
    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()


class PodStatus(Model):
    """`status` of a pod."""

    phase: str = ""
    reason: str = ""
    qos_class: str = ""
    start_time: str | None = None
    nominated_node_name: str = ""
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    ephemeral_container_statuses: tuple[ContainerStatus, ...] = ()
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList | None = None
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: ExtendedResourceClaimStatus | None = None


class SchedulingEvents(Model):
    """The attempts to schedule one pending pod that Events show.

    Times are RFC 3339 in UTC. The API server keeps Events for an hour (`--event-ttl`), so attempts may be missing.
    """

    #: The minimum number of rejections of the pod.
    attempts: int = 0
    #: The time of the last known rejection; "" if not known.
    last_attempt: str = ""
    #: Whether `last_attempt` is certainly the last one: the scheduler keeps the count of an event series in memory, and
    #: writes it every 30 minutes, or 6 minutes after the last event (`client-go/tools/events/event_broadcaster.go`).
    is_last: bool = True
    #: Whether the last attempt ended with an error, or there were no nodes: the pod is then retried without an event.
    errored: bool = False
    #: Pods that this pod has preempted, `namespace/name`.
    evicted: tuple[str, ...] = ()
    #: Whether this pod was scheduled after the pods were listed.
    scheduled: bool = False


class PodSchedulingGate(Model):
    """`spec.schedulingGates[]`."""

    name: str = ""


class PodReadinessGate(Model):
    """`spec.readinessGates[]`: the pod is ready only once this condition is set to True."""

    condition_type: str = ""


class PodResourceClaim(Model):
    """`spec.resourceClaims[]`."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGroup(Model):
    """`spec.schedulingGroup`, since 1.36: the PodGroup of the pod."""

    pod_group_name: str = ""


class WorkloadReference(Model):
    """`spec.workloadRef`, in 1.35: the Workload of the pod, and the group in the Workload."""

    name: str = ""
    pod_group: str = ""


class PodSpec(Model):
    """`spec` of a pod or of a pod template."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    node_name: str = ""
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    scheduler_name: str = ""
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    readiness_gates: tuple[PodReadinessGate, ...] = ()
    overhead: ResourceList | None = None
    resources: ResourceRequirements | None = None
    runtime_class_name: str | None = None
    restart_policy: str = ""
    active_deadline_seconds: Int64 | None = None
    hostname: str = ""
    subdomain: str = ""
    host_network: bool = False
    host_users: bool | None = None
    host_pid: bool = field(name="hostPID", default=False)
    host_ipc: bool = field(name="hostIPC", default=False)
    os: PodOS | None = None
    security_context: PodSecurityContext = PodSecurityContext()
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    #: Pod groups are not modelled: a pod in one is scheduled by itself, with a caveat.
    scheduling_group: PodSchedulingGroup | None = None
    workload_ref: WorkloadReference | None = None
    termination_grace_period_seconds: Int64 = 30


class PodAnnotations(Model):
    """The annotations of pods that rules read; the decoder drops all other annotations."""

    #: The times in the simulation that this pod needs to start, to stop, and to finish by itself; and "false" if the
    #: pod never becomes ready.
    start_seconds: str = field(name="kwhatif.dev/start-seconds", default="")
    stop_seconds: str = field(name="kwhatif.dev/stop-seconds", default="")
    run_seconds: str = field(name="kwhatif.dev/run-seconds", default="")
    ready: str = field(name="kwhatif.dev/ready", default="")
    deletion_cost: str = field(name="controller.kubernetes.io/pod-deletion-cost", default="")
    completion_index: str = field(name="batch.kubernetes.io/job-completion-index", default="")
    #: The number of earlier failures of pods with this index, if the Job has a backoff limit per index.
    index_failures: str = field(name="batch.kubernetes.io/job-index-failure-count", default="")
    index_ignored_failures: str = field(name="batch.kubernetes.io/job-index-ignored-failure-count", default="")
    #: Set for a static pod, possibly to "".
    mirror: str | None = field(name="kubernetes.io/config.mirror", default=None)
    config_source: str | None = field(name="kubernetes.io/config.source", default=None)
    #: The descheduler may always evict the pod, or prefers not to evict it; any value of the annotations counts.
    evict: str | None = field(name="descheduler.alpha.kubernetes.io/evict", default=None)
    prefer_no_eviction: str | None = field(name="descheduler.alpha.kubernetes.io/prefer-no-eviction", default=None)
    #: For the Cluster Autoscaler: whether it may evict the pod, or ignore local volumes, when it drains a node; whether
    #: the pod counts as a DaemonSet pod; and how long the autoscaler waits before it adds nodes for the pod.
    safe_to_evict: str = field(name="cluster-autoscaler.kubernetes.io/safe-to-evict", default="")
    safe_volumes: str = field(name="cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes", default="")
    counts_as_daemon: str = field(name="cluster-autoscaler.kubernetes.io/daemonset-pod", default="")
    scale_up_delay: str = field(name="cluster-autoscaler.kubernetes.io/pod-scale-up-delay", default="")
    #: Karpenter does not disrupt the pod's node: "true", or the duration after the pod's start.
    do_not_disrupt: str = field(name="karpenter.sh/do-not-disrupt", default="")
    #: The pod's group for another scheduler or controller, or the number of pods in this group.
    volcano_group: str = field(name="scheduling.k8s.io/group-name", default="")
    kai_group: str = field(name="pod-group-name", default="")
    kueue_count: str = field(name="kueue.x-k8s.io/pod-group-total-count", default="")
    lws_size: str = field(name="leaderworkerset.sigs.k8s.io/size", default="")
    restarted_at: str = field(name="kubectl.kubernetes.io/restartedAt", default="")
    #: AppArmor and seccomp profiles by annotation; the keys end with the container's name.
    profiles: dict[str, str] = field(name="kwhatif.dev/profiles", default={})
    #: The arguments of the Cluster Autoscaler, if the pod or template runs it.
    autoscaler_arguments: tuple[str, ...] | None = field(name="kwhatif.dev/autoscaler-arguments", default=None)
    #: The settings of Karpenter that rules read, as `name=value`, if the template runs it.
    karpenter_settings: tuple[str, ...] | None = field(name="kwhatif.dev/karpenter-settings", default=None)
    #: Annotations for webhooks that inject sidecars.
    consul_inject: str = field(name="consul.hashicorp.com/connect-inject", default="")
    dapr_enabled: str = field(name="dapr.io/enabled", default="")
    istio_inject: str = field(name="sidecar.istio.io/inject", default="")
    kuma_inject: str = field(name="kuma.io/sidecar-injection", default="")
    linkerd_inject: str = field(name="linkerd.io/inject", default="")
    open_telemetry_inject: str = field(name="sidecar.opentelemetry.io/inject", default="")
    vault_inject: str = field(name="vault.hashicorp.com/agent-inject", default="")

    @property
    def injection(self) -> tuple[tuple[str, str], ...]:
        """(key, value) of the annotations for webhooks that inject sidecars."""
        found = ((key, getattr(self, name)) for name, key in _INJECTION)
        return tuple((key, value) for key, value in found if value)


_INJECTION = tuple(
    (name, key)
    for name, key in zip(PodAnnotations.__struct_fields__, PodAnnotations.__struct_encode_fields__, strict=True)
    if name.endswith(("_inject", "dapr_enabled"))
)
NO_ANNOTATIONS = PodAnnotations()
#: Conditions with which the kubelet reports the progress of an in-place resize.
RESIZE_PENDING, RESIZE_IN_PROGRESS = "PodResizePending", "PodResizeInProgress"
#: The reason of the condition DisruptionTarget on a pod whose node no longer exists.
ORPHANED = "DeletionByPodGC"
#: The finalizer that the Job controller removes after it has counted the pod.
JOB_TRACKING = "batch.kubernetes.io/job-tracking"


class PodMeta(ObjectMeta):
    """The metadata of pods and their templates."""

    annotations: PodAnnotations = NO_ANNOTATIONS
    finalizers: tuple[str, ...] = ()


class Pod(ApiObject):
    """`v1.Pod`."""

    metadata: PodMeta = PodMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class TemplateText(Model):
    """A pod template as in the input, with fields that the model lacks; JSON that is parsed only for comparison."""

    json: str = ""
    #: The template that was applied before, for finding the fields that a manifest no longer has: from
    #: `kubectl.kubernetes.io/last-applied-configuration`, or from kubectl's `managedFields`; both "": not known.
    applied: str = ""
    managed: str = ""


class TemplateDigest(Model):
    """A snapshot has this instead of a template's text: digests that can be compared with another template."""

    salt: str = ""
    #: Digest of a field's path -> digest of its value; and digest of the path of a list with merge keys -> the keys.
    fields: dict[str, str] = {}
    orders: dict[str, tuple[str, ...]] = {}
    #: Paths of the fields that were applied before; None: not known.
    applied: tuple[str, ...] | None = None


class PodTemplateSpec(Model):
    """`spec.template` of a workload."""

    metadata: PodMeta = PodMeta()
    spec: PodSpec = PodSpec()
    text: TemplateText | None = field(name="kwhatif.dev/text", default=None)
    digest: TemplateDigest | None = field(name="kwhatif.dev/digest", default=None)
    #: Set if the template differs from the cluster's only in fields that the model lacks, to distinguish them.
    mark: str = field(name="kwhatif.dev/mark", default="")


PreemptionPolicy = Literal["PreemptLowerPriority", "Never"]


def pod_condition(pod: Pod, type_: str) -> PodCondition | None:
    """The pod's condition of that type, if it has one."""
    for condition in pod.status.conditions:
        if condition.type == type_:
            return condition
    return None


_NO_NODE_AFFINITY = NodeAffinity()


def node_affinity_of(spec: PodSpec) -> NodeAffinity:
    """The pod's node affinity; an empty one if it has none."""
    affinity = spec.affinity
    return (affinity and affinity.node_affinity) or _NO_NODE_AFFINITY


def pod_affinities(spec: PodSpec) -> list[PodAffinity]:
    """The pod's inter-pod affinity and anti-affinity, if set."""
    affinity = spec.affinity
    parts = (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ()
    return [part for part in parts if part is not None]


def pod_affinity_terms(spec: PodSpec) -> list[PodAffinityTerm]:
    """All inter-pod terms: affinity and anti-affinity, required and preferred."""
    terms: list[PodAffinityTerm] = []
    for part in pod_affinities(spec):
        terms += part.required
        terms += [weighted.pod_affinity_term for weighted in part.preferred]
    return terms


def is_terminal(pod: Pod) -> bool:
    """Whether the pod has succeeded or failed: the scheduler ignores such pods."""
    return pod.status.phase in ("Succeeded", "Failed")


def is_orphaned(pod: Pod) -> bool:
    """Whether the pod garbage collector has marked the pod, as its node does not exist (`pkg/controller/podgc`)."""
    disrupted = pod_condition(pod, "DisruptionTarget")
    return disrupted is not None and disrupted.reason == ORPHANED


def is_unschedulable(pod: Pod) -> bool:
    """Whether the scheduler has reported that the pod fits on no node."""
    condition = pod_condition(pod, "PodScheduled")
    return condition is not None and condition.status == "False" and condition.reason == "Unschedulable"


def is_static(pod: Pod) -> bool:
    """Whether it is the mirror pod of a static pod: the kubelet creates it, and it disappears with the node.

    Kubelets before 1.17 set no owner, and dumps may lack it: then only the annotation shows a mirror pod.
    """
    owner = controller_of(pod.metadata)
    return pod.metadata.annotations.mirror is not None or (owner is not None and owner.kind == "Node")


def is_daemon_pod(pod: Pod) -> bool:
    """Whether a DaemonSet controls the pod."""
    owner = controller_of(pod.metadata)
    return owner is not None and owner.kind == "DaemonSet"


def is_node_bound(pod: Pod) -> bool:
    """Whether the pod is tied to its node, and is not recreated on another node: a DaemonSet pod or a static pod."""
    return is_daemon_pod(pod) or is_static(pod)


def is_ready(pod: Pod) -> bool:
    """Whether the pod's condition Ready is True (`IsPodReady` in `pkg/api/v1/pod/util.go`)."""
    ready = pod_condition(pod, "Ready")
    return ready is not None and ready.status == "True"
