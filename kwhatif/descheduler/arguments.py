"""The arguments of the descheduler's plugins (`framework/plugins/*/types.go`), with the Go types for its messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from msgspec import Meta, field

from kwhatif.model.meta import LabelSelector, Model


def _go(name: str) -> Meta:
    return Meta(extra={"go": name})


#: Go's integers, and from where to where they go.
INTEGERS = {
    "uint": (0, 2**64 - 1),
    "int": (-(2**63), 2**63 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
Uint = Annotated[int, _go("uint")]
Int = Annotated[int, _go("int")]
Int32 = Annotated[int, _go("int32")]
Int64 = Annotated[int, _go("int64")]
Percentage = Annotated[float, _go("api.Percentage")]
#: Resource -> percent.
ResourceThresholds = Annotated[dict[str, Percentage], _go("api.ResourceThresholds")]
#: A Go duration such as `2h`.
Duration = Annotated[str, Meta(extra={"duration": True})]
_Action = Annotated[str, _go("v1.UnsatisfiableConstraintAction")]
_Mode = Annotated[str, _go("nodeutilization.EvictionMode")]
_NoEvictionPolicy = Annotated[str, _go("defaultevictor.NoEvictionPolicy")]
_Protection = Annotated[str, _go("defaultevictor.PodProtection")]
MetricsSource = Annotated[str, _go("api.MetricsSource")]


class Args(Model):
    """Base of all arguments."""

    #: What the Go type is called in messages.
    go: ClassVar[str] = ""
    api_version: str = ""
    kind: str = ""


class Namespaces(Model):
    """Namespaces that count, or that do not."""

    go: ClassVar[str] = "api.Namespaces"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class SelectingArgs(Args):
    """Base of arguments that choose pods by namespace and labels."""

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
    """Kinds of owners that count, or that do not."""

    go: ClassVar[str] = "podlifetime.OwnerKinds"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class PodConditionFilter(Model):
    """What a condition of the pod must be; "" is anything."""

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
    """Where LowNodeUtilization has the actual use from."""

    go: ClassVar[str] = "nodeutilization.MetricsUtilization"
    metrics_server: bool = False
    source: MetricsSource = ""
    prometheus: PrometheusQuery | None = None


class EvictionLimits(Model):
    """How many pods of one node one plugin may evict."""

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


class PriorityThreshold(Model):
    """A priority, or the name of a class that has one."""

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
    """Which protections are on besides, or instead of, the usual ones."""

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
#: Those that may stand under `deschedule`, and under `balance`.
DESCHEDULE = frozenset(
    {
        "PodLifeTime",
        "RemoveFailedPods",
        "RemovePodsHavingTooManyRestarts",
        "RemovePodsViolatingInterPodAntiAffinity",
        "RemovePodsViolatingNodeAffinity",
        "RemovePodsViolatingNodeTaints",
    }
)
BALANCE = frozenset(
    {
        "HighNodeUtilization",
        "LowNodeUtilization",
        "RemoveDuplicates",
        "RemovePodsViolatingTopologySpreadConstraint",
    }
)
