"""LowNodeUtilization and HighNodeUtilization (`lownodeutilization.go`, `highnodeutilization.go`)."""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.descheduler.attempt import UtilizationClass
from kwhatif.descheduler.handle import Handle
from kwhatif.descheduler.plugins.node_utilization import (
    Amounts,
    Eviction,
    MeasuredUsage,
    Percents,
    RequestedUsage,
    SourceNode,
    UsageClient,
    capped,
    classified,
    evict_from,
    is_below,
    is_nothing_to_do,
    percents,
    resources_of,
    usage_sum,
    use_of,
)
from kwhatif.descheduler.policy import HighNodeUtilizationArgs, LowNodeUtilizationArgs
from kwhatif.descheduler.validate import KUBERNETES_METRICS, ONLY_THRESHOLDING_RESOURCES, PROMETHEUS
from kwhatif.kube.model.pod import Pod


def low_node_utilization(args: LowNodeUtilizationArgs, handle: Handle) -> str:
    """Evict pods from overutilized nodes, while there are underutilized ones."""
    usage = _usage_client(args, handle)
    if isinstance(usage, str):
        return f"error initializing usage client: {usage}"
    used: dict[str, Amounts] = {}
    for node in handle.nodes:
        found = usage.of_node(node)
        if isinstance(found, str):
            return f"error getting node usage: {found}"
        used[node.metadata.name] = found
    low, high = _sources(args, handle, used)
    if is_nothing_to_do(len(low), args.number_of_nodes, handle):
        return ""
    if not high:
        handle.note("All nodes are under target utilization, nothing to do here")
    else:
        high.sort(key=lambda source: -usage_sum(source.usage))
        limit = args.eviction_limits.node if args.eviction_limits else None
        eviction = Eviction(
            _is_over_and_room,
            resources_of(args.thresholds),
            handle.evictor.filter,
            args.evictable_namespaces,
            usage,
            limit,
        )
        evict_from(high, low, eviction, handle)
    return ""


def _usage_client(args: LowNodeUtilizationArgs, handle: Handle) -> UsageClient | str:
    """The source of usage, or upstream's error."""
    metrics = args.metrics_utilization
    resources = resources_of(args.thresholds)
    if metrics is None:
        return RequestedUsage(handle.sandbox, resources)
    if metrics.metrics_server or metrics.source == KUBERNETES_METRICS:
        if handle.policy.collects_metrics:
            return MeasuredUsage(handle.sandbox, resources)
        return "metrics client not initialized"
    if metrics.source == PROMETHEUS:
        asks = handle.policy.asks_prometheus
        return "Prometheus is not asked" if asks else "prometheus client not initialized"
    return "unrecognized metrics source" if metrics.source else "metrics source is empty"


def _sources(
    args: LowNodeUtilizationArgs, handle: Handle, used: Mapping[str, Amounts]
) -> tuple[list[SourceNode], list[SourceNode]]:
    """The underutilized and the overutilized nodes."""
    resources = resources_of(args.thresholds)
    shares: dict[str, dict[str, float]] = {}
    for node in handle.nodes:
        share = percents(used[node.metadata.name], node)
        if args.use_deviation_thresholds:
            share = {name: percent for name, percent in share.items() if name in args.thresholds}
        shares[node.metadata.name] = share
    under, over = _thresholds(args, shares)
    low: list[SourceNode] = []
    high: list[SourceNode] = []
    classes: dict[str, UtilizationClass] = {}
    for node in handle.nodes:
        name = node.metadata.name
        if not node.spec.unschedulable and is_below(shares[name], under):
            classes[name] = "underutilized"
        else:
            classes[name] = "appropriate" if is_below(shares[name], over) else "overutilized"
        why = use_of(classes[name], shares[name], over)
        source = SourceNode(node, used[name], capped(node, over, resources), handle.sandbox.active(name), why)
        if classes[name] != "appropriate":
            (low if classes[name] == "underutilized" else high).append(source)
    classified(handle, classes, shares)
    return low, high


def _thresholds(args: LowNodeUtilizationArgs, shares: Mapping[str, Percents]) -> tuple[Percents, Percents]:
    """The thresholds for underutilized and overutilized nodes; deviations are relative to the average."""
    if not args.use_deviation_thresholds:
        return args.thresholds, args.target_thresholds
    sums: dict[str, float] = {}
    counts: dict[str, int] = {}
    for share in shares.values():
        for name, percent in share.items():
            sums[name] = sums.get(name, 0.0) + percent
            counts[name] = counts.get(name, 0) + 1
    average = {name: total / counts[name] for name, total in sums.items()}
    return (
        {name: _clamped(each - args.thresholds.get(name, 0.0)) for name, each in average.items()},
        {name: _clamped(each + args.target_thresholds.get(name, 0.0)) for name, each in average.items()},
    )


def _clamped(percent: float) -> float:
    return min(max(percent, 0.0), 100.0)


def _is_over_and_room(usage: Amounts, cap: Mapping[str, int], available: Amounts) -> bool:
    return any(usage[name] > cap[name] for name in usage) and all(amount > 0 for amount in available.values())


def high_node_utilization(args: HighNodeUtilizationArgs, handle: Handle) -> str:
    """Evict pods from underutilized nodes, so that they fit on fewer nodes."""
    thresholds = args.thresholds
    resources = resources_of(thresholds)
    usage = RequestedUsage(handle.sandbox, resources)
    full = dict.fromkeys(thresholds, 100.0)
    low: list[SourceNode] = []
    others: list[SourceNode] = []
    classes: dict[str, UtilizationClass] = {}
    shares = {}
    for node in handle.nodes:
        name = node.metadata.name
        used = usage.of_node(node)
        assert not isinstance(used, str), "requests are always known"
        shares[name] = percents(used, node)
        is_low = is_below(shares[name], thresholds)
        if not is_low and node.spec.unschedulable:
            continue
        # QUIRK: all nodes that are not underutilized count as overutilized.
        classes[name] = "underutilized" if is_low else "overutilized"
        why = use_of(classes[name], shares[name], thresholds)
        source = SourceNode(node, used, capped(node, full, resources), handle.sandbox.active(name), why)
        (low if is_low else others).append(source)
    classified(handle, classes, shares)
    if is_nothing_to_do(len(low), args.number_of_nodes, handle):
        return ""
    if not others:
        handle.note("No node is available to schedule the pods, nothing to do here")
    else:
        low.sort(key=lambda source: usage_sum(source.usage))
        evict_from(low, others, _eviction(args, handle, usage), handle)
    return ""


def _eviction(args: HighNodeUtilizationArgs, handle: Handle, usage: RequestedUsage) -> Eviction:
    only_asking = ONLY_THRESHOLDING_RESOURCES in args.eviction_modes

    def may_go(pod: Pod) -> bool:
        return handle.evictor.filter(pod) and (not only_asking or _asks_for_any(pod, args.thresholds))

    return Eviction(_is_room, resources_of(args.thresholds), may_go, args.evictable_namespaces, usage)


def _is_room(usage: Amounts, cap: Mapping[str, int], available: Amounts) -> bool:
    del usage, cap
    return all(amount > 0 for amount in available.values())


def _asks_for_any(pod: Pod, resources: Mapping[str, float]) -> bool:
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    return any(name in container.resources.requests for container in containers for name in resources)
