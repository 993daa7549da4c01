"""LowNodeUtilization (`framework/plugins/nodeutilization/lownodeutilization.go`, `usageclients.go`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwhatif.descheduler.arguments import LowNodeUtilizationArgs
from kwhatif.descheduler.attempt import UtilizationClass
from kwhatif.descheduler.handle import Handle
from kwhatif.descheduler.plugins.node_utilization import (
    Amounts,
    Eviction,
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
from kwhatif.descheduler.validate import KUBERNETES_METRICS, PROMETHEUS
from kwhatif.descheduler.world import DeschedulerWorld
from kwhatif.kube.matching.requests import CPU, MEMORY, PODS
from kwhatif.kube.model.bystanders import NodeMetrics, PodMetrics
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.quantity import NANO, parse_quantity


class MeasuredUsage:
    """Usage as measured by metrics-server.

    A long-running descheduler smooths the values that it collects every five seconds; here there is only one value.
    """

    def __init__(self, world: DeschedulerWorld, resources: Sequence[str]) -> None:
        self._world = world
        self._resources = resources

    def of_node(self, node: Node) -> Amounts | str:
        """See `UsageClient`."""
        name = node.metadata.name
        measured = self._world.state.cluster.get(NodeMetrics, name)
        if measured is None:
            return f'unable to find node "{name}" in the collected metrics'
        usage = {resource: parse_quantity(measured.usage.get(resource, 0)) for resource in (CPU, MEMORY)}
        usage[PODS] = len(self._world.active(name)) * NANO
        for resource in self._resources:
            if resource not in usage:
                return f'unable to find "{resource}" resource for collected "{name}" node metric'
        return usage

    def of_pod(self, pod: Pod) -> Mapping[str, int] | None:
        """See `UsageClient`: known only if every container was measured."""
        measured = self._world.state.cluster.get(PodMetrics, key_of(pod))
        if measured is None:
            return None
        total: Amounts = {}
        for container in measured.containers:
            for resource in self._resources:
                if resource == PODS:
                    continue
                if resource not in container.usage:
                    return None
                total[resource] = total.get(resource, 0) + parse_quantity(container.usage[resource])
        return total


def run(args: LowNodeUtilizationArgs, handle: Handle) -> str:
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
        return RequestedUsage(handle.world, resources)
    if metrics.metrics_server or metrics.source == KUBERNETES_METRICS:
        if handle.policy.collects_metrics:
            return MeasuredUsage(handle.world, resources)
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
        source = SourceNode(node, used[name], capped(node, over, resources), handle.world.active(name), why)
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
