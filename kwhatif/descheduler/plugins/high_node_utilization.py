"""HighNodeUtilization (`framework/plugins/nodeutilization/highnodeutilization.go`)."""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.descheduler.arguments import HighNodeUtilizationArgs
from kwhatif.descheduler.attempt import UtilizationClass
from kwhatif.descheduler.handle import Handle
from kwhatif.descheduler.plugins.node_utilization import (
    Amounts,
    Eviction,
    RequestedUsage,
    SourceNode,
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
from kwhatif.descheduler.validate import ONLY_THRESHOLDING_RESOURCES
from kwhatif.kube.model.pod import Pod


def run(args: HighNodeUtilizationArgs, handle: Handle) -> str:
    """Evict pods from underutilized nodes, so that they fit on fewer nodes."""
    thresholds = args.thresholds
    resources = resources_of(thresholds)
    usage = RequestedUsage(handle.world, resources)
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
        source = SourceNode(node, used, capped(node, full, resources), handle.world.active(name), why)
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
