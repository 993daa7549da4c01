"""Parts of a pod spec: containers and their requests, security contexts, affinity, tolerations, topology spread."""

from __future__ import annotations

from msgspec import field

from kwhatif.kube.model.meta import Int32, Int64, LabelSelector, Model, Requirement
from kwhatif.kube.model.quantity import QuantityText


class Capabilities(Model):
    """`capabilities` of a container."""

    add: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


class SecurityProfile(Model):
    """`seccompProfile` or `appArmorProfile`."""

    type: str = ""


class SELinuxOptions(Model):
    """`seLinuxOptions`."""

    user: str = ""
    role: str = ""
    type: str = ""


class WindowsOptions(Model):
    """`windowsOptions`."""

    host_process: bool | None = None


class Sysctl(Model):
    """`sysctls[]` of a pod."""

    name: str = ""


class _Context(Model):
    """The fields that pods and containers share."""

    run_as_non_root: bool | None = None
    run_as_user: Int64 | None = None
    seccomp_profile: SecurityProfile | None = None
    app_armor_profile: SecurityProfile | None = None
    se_linux_options: SELinuxOptions | None = None
    windows_options: WindowsOptions | None = None


class PodSecurityContext(_Context):
    """`securityContext` of a pod."""

    sysctls: tuple[Sysctl, ...] = ()


class SecurityContext(_Context):
    """`securityContext` of a container."""

    privileged: bool | None = None
    allow_privilege_escalation: bool | None = None
    capabilities: Capabilities | None = None
    proc_mount: str = ""


class HostAction(Model):
    """`httpGet` or `tcpSocket`."""

    host: str = ""


class LifecycleHandler(Model):
    """`postStart` or `preStop`."""

    http_get: HostAction | None = None
    tcp_socket: HostAction | None = None


class Lifecycle(Model):
    """`lifecycle` of a container."""

    post_start: LifecycleHandler | None = None
    pre_stop: LifecycleHandler | None = None


class PodOS(Model):
    """`os` of a pod."""

    name: str = ""


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


class ContainerResizePolicy(Model):
    """`resizePolicy[]` of a container: whether it restarts when the resource is resized in place."""

    resource_name: str = ""
    restart_policy: str = ""


class Probe(Model):
    """A probe of a container: its times in seconds, and its target host."""

    initial_delay_seconds: Int32 = 0
    period_seconds: Int32 = 10
    success_threshold: Int32 = 1
    http_get: HostAction | None = None
    tcp_socket: HostAction | None = None


class Container(Model):
    """A container or init container; `restart_policy: Always` makes an init container a sidecar."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""
    restart_policy_rules: tuple[RestartPolicyRule, ...] = ()
    resize_policy: tuple[ContainerResizePolicy, ...] = ()
    readiness_probe: Probe | None = None
    startup_probe: Probe | None = None
    liveness_probe: Probe | None = None
    lifecycle: Lifecycle | None = None
    security_context: SecurityContext = SecurityContext()


def is_sidecar(container: Container) -> bool:
    """Whether an init container is a sidecar, which keeps running beside the other containers."""
    return container.restart_policy == "Always"


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
    """Node selector terms; at least one must match."""

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
    """A term that selects other pods within one topology domain."""

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    topology_key: str = ""
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Model):
    """A weighted preference for or against other pods."""

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
    """`spec.topologySpreadConstraints[]`; `None` is an unset field, with upstream's default."""

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()
