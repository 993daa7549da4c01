"""What Low- and HighNodeUtilization have in common (`framework/plugins/nodeutilization`).

Amounts are nano-units. Nodes of equal use stand in the order of their names; upstream's come out of a map.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from kwhatif.descheduler.arguments import Namespaces
from kwhatif.descheduler.attempt import NodeClassRow, NodeUse, ResourceUse, UtilizationClass
from kwhatif.descheduler.handle import Handle, PodFilter, Result, chosen
from kwhatif.descheduler.ranking import sort_by_priority
from kwhatif.descheduler.tolerance import untolerated
from kwhatif.descheduler.world import DeschedulerWorld
from kwhatif.kube.matching.requests import CPU, MEMORY, PODS
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.quantity import MICRO_PER_MILLI, NANO, milli_value, parse_quantity, value

Amounts = dict[str, int]
Percents = Mapping[str, float]
#: Whether to evict another pod: the node's use, what it may be, what is left on the nodes that pods go to.
GoOn = Callable[[Amounts, Mapping[str, int], Amounts], bool]

_BASIC = (CPU, MEMORY, PODS)
_TO_FRACTION = 0.01


class UsageClient(Protocol):
    """Who knows how much is used, in nano-units."""

    def of_node(self, node: Node) -> Amounts | str:
        """How much of each resource that matters is used on the node; or why that is not known."""

    def of_pod(self, pod: Pod) -> Mapping[str, int] | None:
        """How much less is used on its node once the pod is gone; None: not known."""


class SourceNode(msgspec.Struct):
    """A node that pods go from."""

    node: Node
    #: Goes down with every eviction.
    usage: Amounts
    #: What it may use of each resource.
    cap: Mapping[str, int]
    pods: Sequence[Pod]
    why: NodeUse


class Eviction(msgspec.Struct, frozen=True):
    """How a strategy evicts."""

    go_on: GoOn
    resources: Sequence[str]
    may_go: PodFilter
    #: What pods of these namespaces are is not looked at before the eviction.
    namespaces: Namespaces | None
    usage: UsageClient
    #: How many pods of a node; None: as many as it takes.
    limit: int | None = None


def resources_of(thresholds: Mapping[str, float]) -> tuple[str, ...]:
    """The resources that have a threshold, then cpu, memory and pods."""
    return tuple(dict.fromkeys((*sorted(thresholds), *_BASIC)))


class RequestedUsage:
    """The use of a node is what its active pods request."""

    def __init__(self, world: DeschedulerWorld, resources: Sequence[str]) -> None:
        self._world = world
        self._resources = resources

    def of_node(self, node: Node) -> Amounts | str:
        """See `UsageClient`."""
        name = node.metadata.name
        requested = self._world.requested(name)
        usage = {resource: requested.get(resource, 0) for resource in self._resources}
        return usage | {PODS: len(self._world.active(name)) * NANO}

    def of_pod(self, pod: Pod) -> Mapping[str, int] | None:
        """See `UsageClient`."""
        return self._world.requests(pod)


def capacity(node: Node) -> Mapping[str, int]:
    """What a node has to offer: allocatable, unless it says nothing of that."""
    amounts = node.status.allocatable or node.status.capacity
    return {name: parse_quantity(text) for name, text in amounts.items()}


def percents(usage: Mapping[str, int], node: Node) -> dict[str, float]:
    """How much of what the node has is used; a resource that it does not know is left out."""
    of = capacity(node)
    return {name: _percent(name, nanos, of[name]) for name, nanos in usage.items() if name in of}


def _percent(resource: str, used: int, there: int) -> float:
    use, total = _units(resource, used), _units(resource, there)
    return use / total * 100 if total > 0 else 0.0


def _units(resource: str, nanos: int) -> int:
    return milli_value(nanos) if resource == CPU else value(nanos)


def capped(node: Node, thresholds: Percents, resources: Sequence[str]) -> dict[str, int]:
    """What a node may use of each resource: so many percent of what it has (`capNodeCapacitiesToThreshold`)."""
    of = capacity(node)
    caps: dict[str, int] = {}
    for name in resources:
        there = of.get(name, 0)
        if name in thresholds and name in of:
            there = int(thresholds[name] * _TO_FRACTION * _units(name, there))
            there *= MICRO_PER_MILLI if name == CPU else NANO
        caps[name] = there
    return caps


def is_below(percent: Percents, thresholds: Percents) -> bool:
    """Whether no resource is used more than its threshold."""
    return all(percent.get(name, 0.0) <= threshold for name, threshold in thresholds.items())


def use_of(class_: UtilizationClass, percent: Percents, thresholds: Percents) -> NodeUse:
    """Why pods of a node of that class are evicted: what is used of each resource with a threshold."""
    uses = tuple(
        ResourceUse(resource=name, percent=percent.get(name, 0.0), threshold=threshold)
        for name, threshold in sorted(thresholds.items())
    )
    return NodeUse(node_class=class_, uses=uses)


def usage_sum(usage: Mapping[str, int]) -> int:
    """What nodes are sorted by: QUIRK: thousandths of CPUs, bytes and pods, all added."""
    return sum(_units(name, nanos) for name, nanos in usage.items())


def classified(handle: Handle, classes: Mapping[str, UtilizationClass], shares: Mapping[str, Percents]) -> None:
    """Note what each node was taken for."""
    for node in handle.nodes:
        name = node.metadata.name
        if name in classes:
            handle.classes.append(NodeClassRow(handle.profile, handle.plugin, name, classes[name], dict(shares[name])))


def is_nothing_to_do(low: int, most: int, handle: Handle) -> bool:
    """Whether the number of underutilized nodes ends the run; `most` is the argument `numberOfNodes`. Notes why."""
    if not low:
        handle.note("No node is underutilized, nothing to do here, you might tune your thresholds further")
    elif low <= most:
        handle.note(
            "Number of nodes underutilized is less or equal than NumberOfNodes, nothing to do here",
            underutilizedNodes=low,
            numberOfNodes=most,
        )
    elif low == len(handle.nodes):
        handle.note("All nodes are underutilized, nothing to do here")
    else:
        return False
    return True


def evict_from(
    sources: Sequence[SourceNode], destinations: Sequence[SourceNode], eviction: Eviction, handle: Handle
) -> None:
    """Evict pods node by node, as long as there is room for them (`evictPodsFromSourceNodes`)."""
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
        """Evict from one node; whether the total limit is not reached."""
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
        """Whether the pod tolerates some destination, and nothing spares it.

        QUIRK: (PodToleratesTaints) a node with more taints than the pod has tolerations is ruled out unseen.
        """
        tolerates = any(
            len(pod.spec.tolerations) >= len(node.spec.taints) and untolerated(pod, node.spec.taints) is None
            for node in self._destinations
        )
        return tolerates and self._chosen(pod) and self._handle.evictor.pre_eviction_filter(pod)
