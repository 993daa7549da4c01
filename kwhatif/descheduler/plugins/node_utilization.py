"""Common parts of Low- and HighNodeUtilization (`nodeutilization.go`, `usageclients.go` of their package).

Amounts are nano-units. Nodes of equal usage are ordered by name; upstream's order is that of a map.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from kwhatif.descheduler.attempt import NodeClassRow, NodeUse, ResourceUse, UtilizationClass
from kwhatif.descheduler.handle import Handle, PodFilter, Result, chosen
from kwhatif.descheduler.node_fit import sort_by_priority, untolerated
from kwhatif.descheduler.policy import Namespaces
from kwhatif.descheduler.sandbox import Sandbox
from kwhatif.kube.matching.requests import CPU, MEMORY, PODS, units
from kwhatif.kube.model.bystanders import NodeMetrics, PodMetrics
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.quantity import MICRO_PER_MILLI, NANO, parse_quantity

Amounts = dict[str, int]
Percents = Mapping[str, float]
#: Whether to evict another pod, by the node's usage, its cap, and the available amounts on the destination nodes.
GoOn = Callable[[Amounts, Mapping[str, int], Amounts], bool]

_BASIC = (CPU, MEMORY, PODS)
_TO_FRACTION = 0.01


class UsageClient(Protocol):
    """A source of usage, in nano-units."""

    def of_node(self, node: Node) -> Amounts | str:
        """The node's usage of each relevant resource, or an error."""

    def of_pod(self, pod: Pod) -> Mapping[str, int] | None:
        """The pod's usage, which its node loses with the pod; None: not known."""


class SourceNode(msgspec.Struct):
    """A node to evict pods from."""

    node: Node
    #: Decreases with every eviction.
    usage: Amounts
    #: The maximum usage of each resource.
    cap: Mapping[str, int]
    pods: Sequence[Pod]
    why: NodeUse


class Eviction(msgspec.Struct, frozen=True):
    """How a strategy evicts."""

    go_on: GoOn
    resources: Sequence[str]
    may_go: PodFilter
    #: `evictableNamespaces`: checked only when a pod would be evicted.
    namespaces: Namespaces | None
    usage: UsageClient
    #: The maximum number of evictions per node; None: no limit.
    limit: int | None = None


def resources_of(thresholds: Mapping[str, float]) -> tuple[str, ...]:
    """The resources that have a threshold, then cpu, memory and pods."""
    return tuple(dict.fromkeys((*sorted(thresholds), *_BASIC)))


class RequestedUsage:
    """Usage by the requests of active pods."""

    def __init__(self, sandbox: Sandbox, resources: Sequence[str]) -> None:
        self._sandbox = sandbox
        self._resources = resources

    def of_node(self, node: Node) -> Amounts | str:
        """See `UsageClient`."""
        name = node.metadata.name
        requested = self._sandbox.requested(name)
        usage = {resource: requested.get(resource, 0) for resource in self._resources}
        return usage | {PODS: len(self._sandbox.active(name)) * NANO}

    def of_pod(self, pod: Pod) -> Mapping[str, int] | None:
        """See `UsageClient`."""
        return self._sandbox.requests(pod)


class MeasuredUsage:
    """Usage as measured by metrics-server.

    A long-running descheduler smooths the values that it collects every five seconds; here there is only one value.
    """

    def __init__(self, sandbox: Sandbox, resources: Sequence[str]) -> None:
        self._sandbox = sandbox
        self._resources = resources

    def of_node(self, node: Node) -> Amounts | str:
        """See `UsageClient`."""
        name = node.metadata.name
        measured = self._sandbox.state.cluster.get(NodeMetrics, name)
        if measured is None:
            return f'unable to find node "{name}" in the collected metrics'
        usage = {resource: parse_quantity(measured.usage.get(resource, 0)) for resource in (CPU, MEMORY)}
        usage[PODS] = len(self._sandbox.active(name)) * NANO
        for resource in self._resources:
            if resource not in usage:
                return f'unable to find "{resource}" resource for collected "{name}" node metric'
        return usage

    def of_pod(self, pod: Pod) -> Mapping[str, int] | None:
        """See `UsageClient`: known only if every container was measured."""
        measured = self._sandbox.state.cluster.get(PodMetrics, key_of(pod))
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


def capacity(node: Node) -> Mapping[str, int]:
    """The capacity of a node: allocatable, or capacity if that is not set."""
    amounts = node.status.allocatable or node.status.capacity
    return {name: parse_quantity(text) for name, text in amounts.items()}


def percents(usage: Mapping[str, int], node: Node) -> dict[str, float]:
    """Usage in percent of the node's capacity, without resources that the node lacks."""
    of = capacity(node)
    return {name: _percent(name, nanos, of[name]) for name, nanos in usage.items() if name in of}


def _percent(resource: str, used: int, there: int) -> float:
    use, total = units(resource, used), units(resource, there)
    return use / total * 100 if total > 0 else 0.0


def capped(node: Node, thresholds: Percents, resources: Sequence[str]) -> dict[str, int]:
    """The maximum usage of each resource: the threshold in percent of capacity (`capNodeCapacitiesToThreshold`)."""
    of = capacity(node)
    caps: dict[str, int] = {}
    for name in resources:
        there = of.get(name, 0)
        if name in thresholds and name in of:
            there = int(thresholds[name] * _TO_FRACTION * units(name, there))
            there *= MICRO_PER_MILLI if name == CPU else NANO
        caps[name] = there
    return caps


def is_below(percent: Percents, thresholds: Percents) -> bool:
    """Whether no resource is above its threshold."""
    return all(percent.get(name, 0.0) <= threshold for name, threshold in thresholds.items())


def use_of(class_: UtilizationClass, percent: Percents, thresholds: Percents) -> NodeUse:
    """The reason for evictions from a node of that class: its usage of each resource with a threshold."""
    uses = tuple(
        ResourceUse(resource=name, percent=percent.get(name, 0.0), threshold=threshold)
        for name, threshold in sorted(thresholds.items())
    )
    return NodeUse(node_class=class_, uses=uses)


def usage_sum(usage: Mapping[str, int]) -> int:
    """The sort key of nodes. QUIRK: the sum of milli-CPU, bytes and pods."""
    return sum(units(name, nanos) for name, nanos in usage.items())


def classified(handle: Handle, classes: Mapping[str, UtilizationClass], shares: Mapping[str, Percents]) -> None:
    """Record the class of each node."""
    for node in handle.nodes:
        name = node.metadata.name
        if name in classes:
            handle.classes.append(NodeClassRow(handle.profile, handle.plugin, name, classes[name], dict(shares[name])))


def is_nothing_to_do(low: int, limit: int, handle: Handle) -> bool:
    """Whether the number of underutilized nodes ends the run, with a log message; `limit` is `numberOfNodes`."""
    if not low:
        handle.note("No node is underutilized, nothing to do here, you might tune your thresholds further")
    elif low <= limit:
        handle.note(
            "Number of nodes underutilized is less or equal than NumberOfNodes, nothing to do here",
            underutilizedNodes=low,
            numberOfNodes=limit,
        )
    elif low == len(handle.nodes):
        handle.note("All nodes are underutilized, nothing to do here")
    else:
        return False
    return True


def evict_from(
    sources: Sequence[SourceNode], destinations: Sequence[SourceNode], eviction: Eviction, handle: Handle
) -> None:
    """Evict pods, one node at a time, as long as there is room for them (`evictPodsFromSourceNodes`)."""
    available = {name: sum(node.cap[name] - node.usage[name] for node in destinations) for name in eviction.resources}
    run = _Run(eviction, [node.node for node in destinations], available, handle)
    for source in sources:
        removable = [pod for pod in source.pods if eviction.may_go(pod)]
        if not removable:
            handle.note("No removable pods on node, try next node", node=source.node.metadata.name)
            continue
        sort_by_priority(removable)
        if not run.evict(source, removable):
            return


class _Run:
    def __init__(self, eviction: Eviction, destinations: Sequence[Node], available: Amounts, handle: Handle) -> None:
        self._eviction = eviction
        self._destinations = destinations
        self._available = available
        self._handle = handle
        self._chosen = chosen(eviction.namespaces)

    def evict(self, source: SourceNode, pods: Sequence[Pod]) -> bool:
        """Evict from one node; returns False if the total limit is reached."""
        eviction = self._eviction
        if not eviction.go_on(source.usage, source.cap, self._available):
            return True
        evicted = 0
        for pod in pods:
            if eviction.limit is not None and evicted >= eviction.limit:
                self._handle.note("Max number of evictions per node per plugin reached", limit=eviction.limit)
                break
            usage = eviction.usage.of_pod(pod) if self._may_land(pod) else None
            if usage is None:
                continue
            result = self._handle.evict(pod, source.why)
            if result in (Result.TOTAL_LIMIT, Result.NODE_LIMIT):
                return result is Result.NODE_LIMIT
            if result is Result.FAILED:
                continue
            evicted += 1
            for name in self._available:
                amount = NANO if name == PODS else usage.get(name, 0)
                source.usage[name] -= amount
                self._available[name] -= amount
            if not eviction.go_on(source.usage, source.cap, self._available):
                break
        return True

    def _may_land(self, pod: Pod) -> bool:
        """Whether the pod tolerates some destination, and is not protected.

        QUIRK: (PodToleratesTaints) a node with more taints than the pod has tolerations is excluded without a check.
        """
        tolerates = any(
            len(pod.spec.tolerations) >= len(node.spec.taints) and untolerated(pod, node.spec.taints) is None
            for node in self._destinations
        )
        return tolerates and self._chosen(pod) and self._handle.evictor.pre_eviction_filter(pod)
