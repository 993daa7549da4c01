"""Validation of arguments, with the descheduler's messages (`framework/plugins/*/validation.go`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kwhatif.descheduler import policy as of
from kwhatif.descheduler.policy import Args, DefaultEvictorArgs, PodProtections
from kwhatif.kube.matching.field_errors import aggregate, quoted
from kwhatif.kube.matching.labels import SelectorError, compile_selector
from kwhatif.kube.model.meta import LabelSelector

KUBERNETES_METRICS = "KubernetesMetrics"
PROMETHEUS = "Prometheus"
DEFAULT_PROTECTIONS = ("PodsWithLocalStorage", "SystemCriticalPods", "FailedBarePods", "DaemonSetPods")
EXTRA_PROTECTIONS = ("PodsWithPVC", "PodsWithoutPDB", "PodsWithResourceClaims")
ONLY_THRESHOLDING_RESOURCES = "OnlyThresholdingResources"

_CONSTRAINTS = ("DoNotSchedule", "ScheduleAnyway")
_RESTART_STATES = ("CrashLoopBackOff", "Running")
_LIFE_TIME_STATES = (
    "Completed",
    "ContainerCannotRun",
    "ContainerCreating",
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "DeadlineExceeded",
    "ErrImagePull",
    "Error",
    "Evicted",
    "Failed",
    "ImagePullBackOff",
    "InvalidImageName",
    "NodeAffinity",
    "NodeLost",
    "OOMKilled",
    "Pending",
    "PodInitializing",
    "Running",
    "Shutdown",
    "StartError",
    "Succeeded",
    "UnexpectedAdmissionError",
    "Unknown",
)
_MAX_PERCENT = 100


def validate(args: Args) -> str:
    """The errors of the arguments of a plugin; "" if there are none."""
    check = _CHECKS.get(type(args))
    return aggregate(check(args)) if check is not None else ""


def _words(texts: Sequence[str]) -> str:
    """A slice as `%v` prints it."""
    return f"[{' '.join(texts)}]"


def _namespaces(namespaces: of.Namespaces | None) -> Iterator[str]:
    if namespaces is not None and namespaces.include and namespaces.exclude:
        yield "only one of Include/Exclude namespaces can be set"


def _selector(selector: LabelSelector | None) -> Iterator[str]:
    try:
        compile_selector(selector)
    except SelectorError as wrong:
        yield f"failed to get label selectors from strategy's params: {wrong}"


def _selecting(args: of.SelectingArgs) -> Iterator[str]:
    yield from _namespaces(args.namespaces)
    yield from _selector(args.label_selector)


def _node_affinity(args: of.RemovePodsViolatingNodeAffinityArgs) -> Iterator[str]:
    if not args.node_affinity_type:
        yield "nodeAffinityType needs to be set"
    yield from _selecting(args)


def _node_taints(args: of.RemovePodsViolatingNodeTaintsArgs) -> Iterator[str]:
    yield from _selecting(args)
    if args.excluded_taints and args.included_taints:
        yield "either includedTaints or excludedTaints can be set, but not both"


def _spread(args: of.RemovePodsViolatingTopologySpreadConstraintArgs) -> Iterator[str]:
    yield from _selecting(args)
    supported = f"map[{' '.join(f'{name}:{{}}' for name in _CONSTRAINTS)}]"
    for constraint in args.constraints:
        if constraint not in _CONSTRAINTS:
            yield f"constraint {constraint} is not one of {supported}"


def _restarts(args: of.RemovePodsHavingTooManyRestartsArgs) -> Iterator[str]:
    yield from _selecting(args)
    if args.pod_restart_threshold < 1:
        yield "invalid PodsHavingTooManyRestarts threshold"
    if not {*args.states} <= {*_RESTART_STATES}:
        yield f"states must be one of {_words(_RESTART_STATES)}"


def _pod_life_time(args: of.PodLifeTimeArgs) -> Iterator[str]:
    yield from _namespaces(args.namespaces)
    if args.owner_kinds is not None and args.owner_kinds.include and args.owner_kinds.exclude:
        yield "only one of Include/Exclude ownerKinds can be set"
    yield from _selector(args.label_selector)
    if not {*args.states} <= {*_LIFE_TIME_STATES}:
        yield f"states must be one of {_words(_LIFE_TIME_STATES)}"
    for index, condition in enumerate(args.conditions):
        if condition == of.PodConditionFilter():
            yield (
                f"conditions[{index}]: at least one of type, status, reason, or minTimeSinceLastTransitionSeconds"
                " must be set"
            )
    if args.max_pod_life_time_seconds is None and not (args.states or args.conditions or args.exit_codes):
        yield (
            "at least one filtering criterion must be specified"
            " (maxPodLifeTimeSeconds, states, conditions, or exitCodes)"
        )


def _first(check: Callable[[Any], Iterator[str]]) -> Callable[[Any], Iterator[str]]:
    """A check that ends at the first error, as upstream's does."""

    def first(args: Any) -> Iterator[str]:
        wrong = next(check(args), None)
        if wrong is not None:
            yield wrong

    return first


def _evictable(namespaces: of.Namespaces | None) -> Iterator[str]:
    if namespaces is not None and namespaces.include:
        yield "only Exclude namespaces can be set, inclusion is not supported"


def _thresholds(thresholds: Mapping[str, float]) -> Iterator[str]:
    if not thresholds:
        yield "no resource threshold is configured"
    for name, percent in sorted(thresholds.items()):
        if not 0 <= percent <= _MAX_PERCENT:
            yield f"{name} threshold not in [0, 100] range"


def _high(args: of.HighNodeUtilizationArgs) -> Iterator[str]:
    yield from _evictable(args.evictable_namespaces)
    yield from _thresholds(args.thresholds)
    for mode in args.eviction_modes:
        if mode != ONLY_THRESHOLDING_RESOURCES:
            yield f"invalid eviction mode {mode}"


def _low(args: of.LowNodeUtilizationArgs) -> Iterator[str]:
    yield from _evictable(args.evictable_namespaces)
    for name, thresholds in (("thresholds", args.thresholds), ("targetThresholds", args.target_thresholds)):
        for wrong in _thresholds(thresholds):
            yield f"{name} config is not valid: {wrong}"
    if args.thresholds.keys() != args.target_thresholds.keys():
        yield "thresholds and targetThresholds configured different resources"
    for name, percent in sorted(args.thresholds.items()):
        if percent > args.target_thresholds.get(name, percent) and not args.use_deviation_thresholds:
            yield f"thresholds' {name} percentage is greater than targetThresholds'"
    yield from _metrics(args.metrics_utilization)


def _metrics(metrics: of.MetricsUtilization | None) -> Iterator[str]:
    if metrics is None:
        return
    if metrics.source == KUBERNETES_METRICS and metrics.metrics_server:
        yield f'it is not allowed to set both "{KUBERNETES_METRICS}" source and metricsServer'
    if metrics.source == KUBERNETES_METRICS and metrics.prometheus is not None:
        yield f'prometheus configuration is not allowed to set when source is set to "{KUBERNETES_METRICS}"'
    if metrics.source == PROMETHEUS and not (metrics.prometheus and metrics.prometheus.query):
        yield f'prometheus query is required when metrics source is set to "{PROMETHEUS}"'


def _default_evictor(args: DefaultEvictorArgs) -> Iterator[str]:
    threshold, protections = args.priority_threshold, args.pod_protections
    if threshold is not None and threshold.value is not None and threshold.name:
        yield "priority threshold misconfigured, only one of priorityThreshold fields can be set"
    if args.no_eviction_policy not in ("", "Preferred", "Mandatory"):
        yield 'noEvictionPolicy accepts only ["Preferred" "Mandatory"] values'
    if not (protections.extra_enabled or protections.default_disabled):
        return
    deprecated = (
        args.evict_local_storage_pods,
        args.evict_daemon_set_pods,
        args.evict_system_critical_pods,
        args.ignore_pvc_pods,
        args.evict_failed_bare_pods,
        args.ignore_pods_without_pdb,
    )
    if any(deprecated):
        yield "cannot use Deprecated fields alongside PodProtections.ExtraEnabled or PodProtections.DefaultDisabled"
    yield from _protections(protections)


def _protections(protections: PodProtections) -> Iterator[str]:
    for name, given, valid in (
        ("ExtraEnabled", protections.extra_enabled, EXTRA_PROTECTIONS),
        ("DefaultDisabled", protections.default_disabled, DEFAULT_PROTECTIONS),
    ):
        for each in given:
            if each not in valid:
                yield (f"invalid pod protection policy in {name}: {quoted(each)}. Valid options are: {_words(valid)}")
    for name, given in (("DefaultDisabled", protections.default_disabled), ("ExtraEnabled", protections.extra_enabled)):
        if len({*given}) < len(given):
            yield f"PodProtections.{name} contains duplicate entries"
    config = protections.config.pods_with_pvc if protections.config else None
    if config is not None and "PodsWithPVC" in protections.extra_enabled:
        for index, storage_class in enumerate(config.protected_storage_classes):
            if not storage_class.name:
                yield f"PodProtections.Config.PodsWithPVC.ProtectedStorageClasses[{index}] name cannot be empty"


_CHECKS: Mapping[type[Args], Callable[[Any], Iterator[str]]] = {
    DefaultEvictorArgs: _default_evictor,
    of.HighNodeUtilizationArgs: _first(_high),
    of.LowNodeUtilizationArgs: _first(_low),
    of.PodLifeTimeArgs: _pod_life_time,
    of.RemoveDuplicatesArgs: lambda args: _namespaces(args.namespaces),
    of.RemoveFailedPodsArgs: _selecting,
    of.RemovePodsHavingTooManyRestartsArgs: _restarts,
    of.RemovePodsViolatingInterPodAntiAffinityArgs: _selecting,
    of.RemovePodsViolatingNodeAffinityArgs: _node_affinity,
    of.RemovePodsViolatingNodeTaintsArgs: _node_taints,
    of.RemovePodsViolatingTopologySpreadConstraintArgs: _spread,
}
