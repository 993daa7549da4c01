"""Arguments of the descheduler's plugins (`framework/plugins/*/types.go`), with the Go types for its messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from kwhatif.descheduler.evictor_arguments import DEFAULT_EVICTOR, DefaultEvictorArgs
from kwhatif.descheduler.go_types import Args, Int, Int32, MetricsSource, ResourceThresholds, Uint, go_type
from kwhatif.kube.model.meta import LabelSelector, Model

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
    """The most evictions per node by one plugin."""

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
    {
        "HighNodeUtilization",
        "LowNodeUtilization",
        "RemoveDuplicates",
        "RemovePodsViolatingTopologySpreadConstraint",
    }
)
DESCHEDULE = ARGUMENTS.keys() - BALANCE - {DEFAULT_EVICTOR}
