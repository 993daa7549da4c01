"""Pods: the part of `v1.Pod` that scheduling reads."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from kwhatif.model.meta import Int32, Int64, LabelSelector, Model, ObjectMeta, Requirement
from kwhatif.model.quantity import QuantityText
from kwhatif.model.volume import Volume

ResourceList = dict[str, QuantityText]


class ResourceClaimRef(Model):
    """`resources.claims[]` of a container."""

    name: str = ""
    request: str = ""


class ResourceRequirements(Model):
    """`resources` of a container or of the whole pod."""

    requests: ResourceList = {}
    limits: ResourceList = {}
    claims: tuple[ResourceClaimRef, ...] = ()


class ContainerPort(Model):
    """`ports[]` of a container."""

    container_port: Int32 = 0
    host_port: Int32 = 0
    host_ip: str = field(name="hostIP", default="")
    protocol: str = ""


class RestartPolicyRule(Model):
    """`restartPolicyRules[]` of a container."""

    action: str = ""


class Probe(Model):
    """`readinessProbe` or `startupProbe` of a container: how long it takes at least, in seconds."""

    initial_delay_seconds: Int32 = 0
    period_seconds: Int32 = 10
    success_threshold: Int32 = 1


class Container(Model):
    """A container or init container; `restart_policy: Always` makes an init container a sidecar."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""
    restart_policy_rules: tuple[RestartPolicyRule, ...] = ()
    readiness_probe: Probe | None = None
    startup_probe: Probe | None = None


class Toleration(Model):
    """`spec.tolerations[]`; operator "" means Equal."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class NodeSelectorTerm(Model):
    """One term: all expressions and fields must hold; an empty term matches nothing."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class NodeSelector(Model):
    """Terms, of which one must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(Model):
    """A weighted preference for nodes."""

    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Model):
    """`affinity.nodeAffinity`; `None` and empty lists differ."""

    required: NodeSelector | None = field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)
    preferred: tuple[PreferredSchedulingTerm, ...] | None = field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=None
    )


class PodAffinityTerm(Model):
    """A term about other pods within one topology domain."""

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    topology_key: str = ""
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Model):
    """A weighted preference about other pods."""

    weight: Int32 = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Model):
    """`affinity.podAffinity` or `affinity.podAntiAffinity`."""

    required: tuple[PodAffinityTerm, ...] = field(name="requiredDuringSchedulingIgnoredDuringExecution", default=())
    preferred: tuple[WeightedPodAffinityTerm, ...] = field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class Affinity(Model):
    """`spec.affinity`."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(Model):
    """`spec.topologySpreadConstraints[]`; `None` keeps upstream's meaning of an unset field."""

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class PodSchedulingGate(Model):
    """`spec.schedulingGates[]`."""

    name: str = ""


class PodResourceClaim(Model):
    """`spec.resourceClaims[]`."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


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
    overhead: ResourceList | None = None
    resources: ResourceRequirements | None = None
    runtime_class_name: str | None = None
    restart_policy: str = ""
    active_deadline_seconds: Int64 | None = None
    hostname: str = ""
    subdomain: str = ""
    host_network: bool = False
    host_users: bool | None = None
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    termination_grace_period_seconds: Int64 = 30


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
    """`state` of a container; that it runs is neither of these."""

    waiting: ContainerStateWaiting | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(Model):
    """`status.containerStatuses[]`: how it is, and what an in-place resize has actually granted."""

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


class PodAnnotations(Model):
    """The annotations of pods that are rules; all others are dropped as they are read."""

    #: How long the simulation takes this pod to start, to stop, to run until it ends by itself; and "false" for one
    #: that never gets ready.
    start_seconds: str = field(name="kwhatif.dev/start-seconds", default="")
    stop_seconds: str = field(name="kwhatif.dev/stop-seconds", default="")
    run_seconds: str = field(name="kwhatif.dev/run-seconds", default="")
    ready: str = field(name="kwhatif.dev/ready", default="")
    deletion_cost: str = field(name="controller.kubernetes.io/pod-deletion-cost", default="")
    completion_index: str = field(name="batch.kubernetes.io/job-completion-index", default="")
    #: How often pods with this number have failed before, where a Job has a limit per number.
    index_failures: str = field(name="batch.kubernetes.io/job-index-failure-count", default="")
    index_ignored_failures: str = field(name="batch.kubernetes.io/job-index-ignored-failure-count", default="")
    #: Given, perhaps as "", for a static pod.
    mirror: str | None = field(name="kubernetes.io/config.mirror", default=None)
    config_source: str | None = field(name="kubernetes.io/config.source", default=None)
    #: Whether the descheduler may evict the pod whatever it is, or rather would not; they count if they are given.
    evict: str | None = field(name="descheduler.alpha.kubernetes.io/evict", default=None)
    prefer_no_eviction: str | None = field(name="descheduler.alpha.kubernetes.io/prefer-no-eviction", default=None)
    restarted_at: str = field(name="kubectl.kubernetes.io/restartedAt", default="")


NO_ANNOTATIONS = PodAnnotations()
#: The finalizer that the Job controller lifts once it has counted the pod.
JOB_TRACKING = "batch.kubernetes.io/job-tracking"


class PodMeta(ObjectMeta):
    """The metadata of pods and their templates."""

    annotations: PodAnnotations = NO_ANNOTATIONS
    finalizers: tuple[str, ...] = ()


class Pod(Model, tag_field="kind", tag="Pod"):
    """`v1.Pod`."""

    api_version: str = ""
    metadata: PodMeta = PodMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class TemplateText(Model):
    """A pod template as it was read, with what the model does not have: JSON, parsed only where two are compared."""

    json: str = ""
    #: What was applied before, by which apply finds out what a manifest no longer has: the template within
    #: `kubectl.kubernetes.io/last-applied-configuration`, or kubectl's `managedFields` of it; both "": not known.
    applied: str = ""
    managed: str = ""


class TemplateDigest(Model):
    """What a snapshot keeps of a template instead: digests, by which another template can be compared with it."""

    salt: str = ""
    #: The digest of each field's path -> that of its value; and of each list whose entries have keys -> those.
    fields: dict[str, str] = {}
    orders: dict[str, tuple[str, ...]] = {}
    #: The paths that were applied before; None: not known.
    applied: tuple[str, ...] | None = None


class PodTemplateSpec(Model):
    """`spec.template` of a workload."""

    metadata: PodMeta = PodMeta()
    spec: PodSpec = PodSpec()
    text: TemplateText | None = field(name="kwhatif.dev/text", default=None)
    digest: TemplateDigest | None = field(name="kwhatif.dev/digest", default=None)
    #: Of one that differs from that of the cluster in nothing that the model has: what distinguishes the two.
    mark: str = field(name="kwhatif.dev/mark", default="")


PreemptionPolicy = Literal["PreemptLowerPriority", "Never"]


def pod_condition(pod: Pod, type_: str) -> PodCondition | None:
    """The pod's condition of that type, if it has one."""
    for condition in pod.status.conditions:
        if condition.type == type_:
            return condition
    return None


def pod_affinity_terms(spec: PodSpec) -> list[PodAffinityTerm]:
    """The terms of all kinds about other pods."""
    affinity = spec.affinity
    if affinity is None:
        return []
    terms: list[PodAffinityTerm] = []
    for part in (affinity.pod_affinity, affinity.pod_anti_affinity):
        if part is not None:
            terms += part.required
            for weighted in part.preferred:
                terms.append(weighted.pod_affinity_term)
    return terms


def is_terminal(pod: Pod) -> bool:
    """Succeeded or failed: such a pod is not part of the scheduler's world."""
    return pod.status.phase in ("Succeeded", "Failed")


def is_ready(pod: Pod) -> bool:
    """Whether the pod's condition Ready is True (`IsPodReady` in `pkg/api/v1/pod/util.go`)."""
    ready = pod_condition(pod, "Ready")
    return ready is not None and ready.status == "True"
