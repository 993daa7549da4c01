"""DeschedulerPolicy, version `descheduler/v1alpha2` (`api/v1alpha2/types.go`), and the arguments of its plugins.

(`framework/plugins/*/types.go`.) Each type has the name of the Go type that messages of the descheduler name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from msgspec import Meta, field

from kwhatif.kube.model.meta import LabelSelector, Model


def go_type(name: str) -> Meta:
    """The name of the type in messages."""
    return Meta(extra={"go": name})


#: Go's integer types and their ranges.
INTEGERS = {
    "uint": (0, 2**64 - 1),
    "int": (-(2**63), 2**63 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
Uint = Annotated[int, go_type("uint")]
Int = Annotated[int, go_type("int")]
Int32 = Annotated[int, go_type("int32")]
Int64 = Annotated[int, go_type("int64")]
Percentage = Annotated[float, go_type("api.Percentage")]
#: Resource -> percent.
ResourceThresholds = Annotated[dict[str, Percentage], go_type("api.ResourceThresholds")]
MetricsSource = Annotated[str, go_type("api.MetricsSource")]


class Args(Model):
    """Base of all arguments."""

    #: The name of the Go type in messages.
    go: ClassVar[str] = ""
    api_version: str = ""
    kind: str = ""


#: `SystemCriticalPriority` (`utils/priority.go`).
SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
#: A Go duration such as `2h`.
Duration = Annotated[str, Meta(extra={"duration": True})]
_NoEvictionPolicy = Annotated[str, go_type("defaultevictor.NoEvictionPolicy")]
_Protection = Annotated[str, go_type("defaultevictor.PodProtection")]


class PriorityThreshold(Model):
    """A priority, or the name of a priority class."""

    go: ClassVar[str] = "api.PriorityThreshold"
    value: Int32 | None = None
    name: str = ""


class ProtectedStorageClass(Model):
    """A storage class whose claims protect pods."""

    go: ClassVar[str] = "defaultevictor.ProtectedStorageClass"
    name: str = ""


class PodsWithPVCConfig(Model):
    """`podProtections.config.PodsWithPVC`."""

    go: ClassVar[str] = "defaultevictor.PodsWithPVCConfig"
    protected_storage_classes: tuple[ProtectedStorageClass, ...] = ()


class PodProtectionsConfig(Model):
    """`podProtections.config`."""

    go: ClassVar[str] = "defaultevictor.PodProtectionsConfig"
    pods_with_pvc: PodsWithPVCConfig | None = field(name="PodsWithPVC", default=None)


class PodProtections(Model):
    """Protections that are enabled besides, or instead of, the default ones."""

    go: ClassVar[str] = "defaultevictor.PodProtections"
    extra_enabled: tuple[_Protection, ...] = ()
    default_disabled: tuple[_Protection, ...] = ()
    config: PodProtectionsConfig | None = None


class DefaultEvictorArgs(Args):
    """DefaultEvictor."""

    node_selector: str = ""
    label_selector: LabelSelector | None = None
    namespace_label_selector: LabelSelector | None = None
    priority_threshold: PriorityThreshold | None = None
    node_fit: bool = False
    min_replicas: Uint = 0
    min_pod_age: Duration | None = None
    no_eviction_policy: _NoEvictionPolicy = ""
    pod_protections: PodProtections = PodProtections()
    evict_local_storage_pods: bool = False
    evict_daemon_set_pods: bool = False
    evict_system_critical_pods: bool = False
    ignore_pvc_pods: bool = False
    ignore_pods_without_pdb: bool = field(name="ignorePodsWithoutPDB", default=False)
    evict_failed_bare_pods: bool = False


DEFAULT_EVICTOR = "DefaultEvictor"


_Action = Annotated[str, go_type("v1.UnsatisfiableConstraintAction")]
_Mode = Annotated[str, go_type("nodeutilization.EvictionMode")]


class Namespaces(Model):
    """Included or excluded namespaces."""

    go: ClassVar[str] = "api.Namespaces"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class SelectingArgs(Args):
    """Base of arguments that select pods by namespace and labels."""

    namespaces: Namespaces | None = None
    label_selector: LabelSelector | None = None


class RemoveDuplicatesArgs(Args):
    """RemoveDuplicates."""

    namespaces: Namespaces | None = None
    exclude_owner_kinds: tuple[str, ...] = ()


class RemoveFailedPodsArgs(SelectingArgs):
    """RemoveFailedPods."""

    exclude_owner_kinds: tuple[str, ...] = ()
    min_pod_lifetime_seconds: Uint | None = 3600
    reasons: tuple[str, ...] = ()
    exit_codes: tuple[Int32, ...] = ()
    including_init_containers: bool = False


class RemovePodsHavingTooManyRestartsArgs(SelectingArgs):
    """RemovePodsHavingTooManyRestarts."""

    pod_restart_threshold: Int32 = 0
    including_init_containers: bool = False
    states: tuple[str, ...] = ()


class RemovePodsViolatingInterPodAntiAffinityArgs(SelectingArgs):
    """RemovePodsViolatingInterPodAntiAffinity."""


class RemovePodsViolatingNodeAffinityArgs(SelectingArgs):
    """RemovePodsViolatingNodeAffinity."""

    node_affinity_type: tuple[str, ...] = ()


class RemovePodsViolatingNodeTaintsArgs(SelectingArgs):
    """RemovePodsViolatingNodeTaints; None and an empty list of included taints differ."""

    include_prefer_no_schedule: bool = False
    excluded_taints: tuple[str, ...] = ()
    included_taints: tuple[str, ...] | None = None


class RemovePodsViolatingTopologySpreadConstraintArgs(SelectingArgs):
    """RemovePodsViolatingTopologySpreadConstraint."""

    constraints: tuple[_Action, ...] = ()
    topology_balance_node_fit: bool | None = None


class OwnerKinds(Model):
    """Included or excluded kinds of owners."""

    go: ClassVar[str] = "podlifetime.OwnerKinds"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class PodConditionFilter(Model):
    """A condition that the pod must have; "" matches anything."""

    go: ClassVar[str] = "podlifetime.PodConditionFilter"
    type: str = ""
    status: str = ""
    reason: str = ""
    min_time_since_last_transition_seconds: Uint | None = None


class PodLifeTimeArgs(SelectingArgs):
    """PodLifeTime."""

    owner_kinds: OwnerKinds | None = None
    max_pod_life_time_seconds: Uint | None = None
    states: tuple[str, ...] = ()
    conditions: tuple[PodConditionFilter, ...] = ()
    exit_codes: tuple[Int32, ...] = ()
    including_init_containers: bool = False
    including_ephemeral_containers: bool = False


class HighNodeUtilizationArgs(Args):
    """HighNodeUtilization."""

    thresholds: ResourceThresholds = {}
    number_of_nodes: Int = 0
    eviction_modes: tuple[_Mode, ...] = ()
    evictable_namespaces: Namespaces | None = None


class PrometheusQuery(Model):
    """`metricsUtilization.prometheus`."""

    go: ClassVar[str] = "nodeutilization.Prometheus"
    query: str = ""


class MetricsUtilization(Model):
    """The source of measured usage for LowNodeUtilization."""

    go: ClassVar[str] = "nodeutilization.MetricsUtilization"
    metrics_server: bool = False
    source: MetricsSource = ""
    prometheus: PrometheusQuery | None = None


class EvictionLimits(Model):
    """The maximum number of evictions per node by one plugin."""

    go: ClassVar[str] = "api.EvictionLimits"
    node: Uint | None = None


class LowNodeUtilizationArgs(Args):
    """LowNodeUtilization."""

    use_deviation_thresholds: bool = False
    thresholds: ResourceThresholds = {}
    target_thresholds: ResourceThresholds = {}
    number_of_nodes: Int = 0
    metrics_utilization: MetricsUtilization | None = None
    evictable_namespaces: Namespaces | None = None
    eviction_limits: EvictionLimits | None = None


#: Plugin -> the type of its arguments (`descheduler/setupplugins.go`).
ARGUMENTS: Mapping[str, type[Args]] = {
    type_.__name__.removesuffix("Args"): type_
    for type_ in (
        DefaultEvictorArgs,
        HighNodeUtilizationArgs,
        LowNodeUtilizationArgs,
        PodLifeTimeArgs,
        RemoveDuplicatesArgs,
        RemoveFailedPodsArgs,
        RemovePodsHavingTooManyRestartsArgs,
        RemovePodsViolatingInterPodAntiAffinityArgs,
        RemovePodsViolatingNodeAffinityArgs,
        RemovePodsViolatingNodeTaintsArgs,
        RemovePodsViolatingTopologySpreadConstraintArgs,
    )
}
#: Plugins of the extension points `balance` and `deschedule`.
BALANCE = frozenset(
    {"HighNodeUtilization", "LowNodeUtilization", "RemoveDuplicates", "RemovePodsViolatingTopologySpreadConstraint"}
)
DESCHEDULE = ARGUMENTS.keys() - BALANCE - {DEFAULT_EVICTOR}


API_VERSION = "descheduler/v1alpha2"
KIND = "DeschedulerPolicy"


class DeschedulerPluginSet(Model):
    """Plugins of one extension point; `disabled` has no effect."""

    go: ClassVar[str] = "v1alpha2.PluginSet"
    enabled: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()


class DeschedulerPlugins(Model):
    """Plugins by extension point; `presort` and `sort` have no effect."""

    go: ClassVar[str] = "v1alpha2.Plugins"
    presort: DeschedulerPluginSet = DeschedulerPluginSet()
    sort: DeschedulerPluginSet = DeschedulerPluginSet()
    deschedule: DeschedulerPluginSet = DeschedulerPluginSet()
    balance: DeschedulerPluginSet = DeschedulerPluginSet()
    filter: DeschedulerPluginSet = DeschedulerPluginSet()
    pre_eviction_filter: DeschedulerPluginSet = field(name="preevictionfilter", default=DeschedulerPluginSet())


class DeschedulerPluginConfig(Model):
    """Arguments of one plugin, not decoded yet."""

    go: ClassVar[str] = "v1alpha2.PluginConfig"
    name: str = ""
    args: Any = None


class DeschedulerProfile(Model):
    """One profile."""

    go: ClassVar[str] = "v1alpha2.DeschedulerProfile"
    name: str = ""
    plugin_config: tuple[DeschedulerPluginConfig, ...] = ()
    plugins: DeschedulerPlugins = DeschedulerPlugins()


class MetricsCollector(Model):
    """`metricsCollector`, which is deprecated."""

    go: ClassVar[str] = "v1alpha2.MetricsCollector"
    enabled: bool = False


class SecretReference(Model):
    """The Secret with a token."""

    go: ClassVar[str] = "v1alpha2.SecretReference"
    namespace: str = ""
    name: str = ""


class AuthToken(Model):
    """The token for Prometheus."""

    go: ClassVar[str] = "v1alpha2.AuthToken"
    secret_reference: SecretReference | None = None


class Prometheus(Model):
    """The URL and authentication of Prometheus."""

    go: ClassVar[str] = "v1alpha2.Prometheus"
    url: str = ""
    auth_token: AuthToken | None = None


class MetricsProvider(Model):
    """A source of measured usage."""

    go: ClassVar[str] = "v1alpha2.MetricsProvider"
    source: Annotated[str, Meta(extra={"go": "v1alpha2.MetricsSource"})] = ""
    prometheus: Prometheus | None = None


class DeschedulerPolicy(Model):
    """The policy as written in the file."""

    go: ClassVar[str] = "v1alpha2.DeschedulerPolicy"
    api_version: str = ""
    kind: str = ""
    profiles: tuple[DeschedulerProfile, ...] = ()
    node_selector: str | None = None
    max_no_of_pods_to_evict_per_node: Uint | None = None
    max_no_of_pods_to_evict_per_namespace: Uint | None = None
    max_no_of_pods_to_evict_total: Uint | None = None
    eviction_failure_event_notification: bool | None = None
    metrics_collector: MetricsCollector | None = None
    metrics_providers: tuple[MetricsProvider, ...] = ()
    grace_period_seconds: Int64 | None = None
