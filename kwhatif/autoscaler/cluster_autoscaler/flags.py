"""Flags of the Cluster Autoscaler, under upstream's names and with its defaults (`config/flags/flags.go`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any

import msgspec

from kwhatif.kube.model.quantity import parse_duration

#: An exact number of cores, and of bytes, that no cluster reaches (`config/const.go`).
_MOST_CORES, _MOST_GIB = 5000 * 64, 5000 * 64 * 20
_GIB = 2**30
_NO_CORES, _NO_MEMORY = (0, _MOST_CORES), (0, _MOST_GIB * _GIB)


class Flags(msgspec.Struct, frozen=True, kw_only=True):
    """The flags that affect decisions. A field has the name of its flag; durations are nanoseconds."""

    allowed_scheduler_names: tuple[str, ...] = ()
    balance_similar_node_groups: bool = False
    balancing_ignore_label: tuple[str, ...] = ()
    balancing_label: tuple[str, ...] = ()
    blocking_system_pod_distruption_timeout: int = parse_duration("1h")
    bypassed_scheduler_names: tuple[str, ...] = ()
    #: Minimum and maximum, in cores.
    cores_total: tuple[int, int] = _NO_CORES
    enable_csi_node_aware_scheduling: bool = False
    expendable_pods_priority_cutoff: int = -10
    fastpath_binpacking_enabled: bool = False
    force_ds: bool = False
    #: Type of GPU, minimum, maximum.
    gpu_total: tuple[tuple[str, int, int], ...] = ()
    ignore_daemonsets_utilization: bool = False
    ignore_mirror_pods_utilization: bool = False
    ignore_taint: tuple[str, ...] = ()
    max_allocatable_difference_ratio: float = 0.05
    max_free_difference_ratio: float = 0.05
    max_node_startup_time: int = parse_duration("15m")
    max_nodes_per_scaleup: int = 1000
    max_nodes_total: int = 0
    max_scale_down_parallelism: int = 10
    max_total_unready_percentage: float = 45
    memory_difference_ratio: float = 0.015
    #: Minimum and maximum, in bytes.
    memory_total: tuple[int, int] = _NO_MEMORY
    min_replica_count: int = 0
    new_pod_scale_up_delay: int = 0
    ok_total_unready_count: int = 3
    scale_down_enabled: bool = True
    scale_down_gpu_utilization_threshold: float = 0.5
    scale_down_unready_enabled: bool = True
    scale_down_utilization_threshold: float = 0.5
    scale_from_unschedulable: bool = False
    scale_up_from_zero: bool = True
    scaleup_simulation_for_skipped_node_groups_enabled: bool = False
    scheduler_config_file: str = ""
    skip_nodes_with_custom_controller_pods: bool = True
    skip_nodes_with_local_storage: bool = True
    skip_nodes_with_system_pods: bool = True
    startup_taint: tuple[str, ...] = ()
    startup_taint_prefix: tuple[str, ...] = ()
    status_taint: tuple[str, ...] = ()

    @property
    def startup_taints(self) -> frozenset[str]:
        """Keys of taints that nodes have only while they start."""
        return frozenset((*self.ignore_taint, *self.startup_taint))

    @property
    def is_bounded(self) -> bool:
        """Whether there is a limit for the whole cluster."""
        return self.max_nodes_total > 0 or (self.cores_total, self.memory_total) != (_NO_CORES, _NO_MEMORY)


#: Flags that would change an answer, but are not modelled; with these values they have no effect.
NOT_MODELLED: Mapping[str, object] = {
    "async-node-groups": False,
    "capacity-buffer-controller-enabled": False,
    "capacity-buffer-pod-injection-enabled": False,
    "capacity-quotas-enabled": False,
    "enable-proactive-scaleup": False,
    "enable-provisioning-requests": False,
    "enforce-node-group-min-size": False,
    "salvo-scale-up": False,
}
_OTHERS = """
add_dir_header address alsologtostderr aws-use-static-instance-list bulk-mig-instances-listing-enabled
capacity-buffer-pod-dry-run-enabled check-capacity-batch-processing check-capacity-processor-instance
check-capacity-provisioning-request-batch-timebox check-capacity-provisioning-request-max-batch-size cloud-config
cloud-provider cluster-name cluster-snapshot-parallelism clusterapi-cloud-config-authoritative
cordon-node-before-terminating daemonset-eviction-for-empty-nodes daemonset-eviction-for-occupied-nodes
debugging-snapshot-enabled drain-priority-config dynamic-node-delete-delay-after-taint-enabled
emit-per-nodegroup-metrics enable-dynamic-resource-allocation estimator feature-gates force-delete-failed-nodes
force-delete-unregistered-nodes frequent-loops-enabled gce-concurrent-refreshes
gce-mig-instances-min-refresh-wait-time grpc-expander-cert grpc-expander-url initial-node-group-backoff-duration
kube-api-content-type kube-client-burst kube-client-qps kubeconfig kubernetes leader-elect leader-elect-lease-duration
leader-elect-renew-deadline leader-elect-resource-lock leader-elect-resource-name leader-elect-resource-namespace
leader-elect-retry-period log-backtrace-at log-dir log-file log-file-max-size logging-format logtostderr
max-binpacking-time max-bulk-soft-taint-count max-bulk-soft-taint-time max-drain-parallelism max-failing-time
max-graceful-termination-sec max-inactivity max-node-group-backoff-duration max-node-provision-time
max-node-skip-eval-time-tracker-enabled max-nodegroup-binpacking-duration max-pod-eviction-time max-startup-time
namespace node-autoprovisioning-enabled node-delete-delay-after-taint node-deletion-batcher-interval
node-deletion-candidate-ttl node-deletion-delay-timeout node-group-auto-discovery node-group-backoff-reset-timeout
node-info-cache-expire-time node-removal-latency-tracking-enabled nodes one-output parallel-scale-up
pod-injection-limit predicate-parallelism profiling provisioning-request-initial-backoff-time
provisioning-request-max-backoff-cache-size provisioning-request-max-backoff-time record-duplicated-events regional
salvo-scale-up-budget scale-down-candidates-pool-min-count scale-down-candidates-pool-ratio scale-down-delay-after-add
scale-down-delay-after-delete scale-down-delay-after-failure scale-down-delay-type-local
scale-down-non-empty-candidates-count scale-down-simulation-timeout scale-down-unneeded-time scale-down-unready-time
scan-interval skip-headers skip-log-headers status-config-map-name stderrthreshold unremovable-node-recheck-timeout
user-agent v vmodule write-status-configmap
"""
#: Flags without effect on decisions: they set when and how something is done, or how the program runs.
WITHOUT_EFFECT = frozenset(_OTHERS.split())


def _boolean(value: object) -> bool:
    spelled = {"true": True, "false": False, True: True, False: False}
    if isinstance(value, (bool, str)) and value in spelled:
        return spelled[value]
    raise ValueError("expected true or false")


def _number(value: object) -> float:
    try:
        if isinstance(value, (int, float, str)) and not isinstance(value, bool) and isfinite(float(value)):
            return float(value)
    except (ValueError, OverflowError):
        pass
    raise ValueError("expected a number")


def _integer(value: object) -> int:
    number = _number(value)
    if number != int(number):
        raise ValueError("expected a whole number")
    return int(number)


def _duration(value: object) -> int:
    if isinstance(value, str):
        return parse_duration(value)
    if value == 0 and not isinstance(value, bool):
        return 0
    raise ValueError("expected a duration such as 10m")


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("expected a string")


def _texts(value: object) -> tuple[str, ...]:
    """A flag that may be repeated: one value, or a list of values."""
    values = value if isinstance(value, list) else [value]
    return tuple(_text(each) for each in values)


def _names(value: object) -> tuple[str, ...]:
    """A flag whose values may also be in one text, separated by commas."""
    return tuple(name for each in _texts(value) for name in each.split(",") if name)


def _bounds(value: object) -> tuple[int, int]:
    minimum, colon, maximum = str(value).partition(":")
    if isinstance(value, str) and colon and minimum.strip().isdecimal() and maximum.strip().isdecimal():
        if int(minimum) > int(maximum):
            raise ValueError(f"the minimum, {minimum}, is above the maximum, {maximum}")
        return int(minimum), int(maximum)
    raise ValueError("expected a minimum and a maximum, such as 0:320")


def _memory(value: object) -> tuple[int, int]:
    minimum, maximum = _bounds(value)
    return minimum * _GIB, maximum * _GIB


def _gpus(value: object) -> tuple[tuple[str, int, int], ...]:
    found = []
    for each in _texts(value):
        name, colon, bounds = each.partition(":")
        if not (name and colon):
            raise ValueError("expected a type of GPU, a minimum and a maximum, such as nvidia-l4:0:16")
        found.append((name, *_bounds(bounds)))
    return tuple(found)


_READERS: Mapping[str, Callable[[object], Any]] = {
    "bool": _boolean,
    "int": _integer,
    "float": _number,
    "str": _text,
    "tuple[str, ...]": _texts,
}
_SPECIAL: Mapping[str, Callable[[object], Any]] = {
    "allowed_scheduler_names": _names,
    "blocking_system_pod_distruption_timeout": _duration,
    "bypassed_scheduler_names": _names,
    "cores_total": _bounds,
    "gpu_total": _gpus,
    "max_node_startup_time": _duration,
    "memory_total": _memory,
    "new_pod_scale_up_delay": _duration,
}
_FIELDS: Mapping[str, Callable[[object], Any]] = {
    field.name: _SPECIAL.get(field.name) or _READERS[str(Flags.__annotations__[field.name])]
    for field in msgspec.structs.fields(Flags)
}
#: The names of all flags.
NAMES = frozenset({*(name.replace("_", "-") for name in _FIELDS), *NOT_MODELLED, *WITHOUT_EFFECT, "expander"})


def known_flag(name: str) -> bool:
    """Whether the Cluster Autoscaler has this flag."""
    return name in NAMES


def is_switch(name: str) -> bool:
    """Whether the flag is true or false, and so needs no value."""
    return name in NOT_MODELLED or _FIELDS.get(name.replace("-", "_")) is _boolean


def may_repeat(name: str) -> bool:
    """Whether the flag may be given several times; of other flags the last value counts."""
    return _FIELDS.get(name.replace("-", "_")) in (_texts, _names, _gpus)


def build_flags(values: Mapping[str, object], complain: Callable[[str, str], None]) -> Flags:
    """The flags with these values; `complain` gets the name and the error of each value that is not valid.

    The caller checks names that are not in `NAMES`.
    """
    found: dict[str, Any] = {}
    for name, value in values.items():
        field = name.replace("-", "_")
        if field not in _FIELDS:
            continue
        try:
            found[field] = _FIELDS[field](value)
        except ValueError as wrong:
            complain(name, str(wrong))
    return Flags(**found)


def unmodelled(values: Mapping[str, object]) -> Iterable[str]:
    """The flags that would change the answer, but are not modelled."""
    return [name for name, value in values.items() if name in NOT_MODELLED and value != NOT_MODELLED[name]]
