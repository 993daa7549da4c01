"""NodeResourcesFit: the node must have room for what the pod requests; and how full it would be.

(`pkg/scheduler/framework/plugins/noderesources/fit.go`.)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from kwhatif.framework.evidence import InsufficientResource
from kwhatif.framework.plugin import NodeFilter, NodeScorer, Reads
from kwhatif.framework.resource_allocation import DEFAULT_RESOURCES, compile_entries
from kwhatif.framework.scoring_strategy import ScoringStrategy, compile_strategy
from kwhatif.framework.status import SUCCESS, Code, Status, error
from kwhatif.matching.device_classes import device_classes_by_resource
from kwhatif.matching.requests import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    MISSING_REQUESTS,
    PODS,
    Resources,
    is_extended_resource,
    pod_requests,
    to_resources,
)
from kwhatif.model.int64 import wrap
from kwhatif.model.meta import Model
from kwhatif.snapshot.node_info import NodeInfo
from kwhatif.snapshot.pod_info import PodInfo
from kwhatif.snapshot.pod_row import PodRow
from kwhatif.snapshot.snapshot import Snapshot


class NodeResourcesFitArgs(Model):
    """`NodeResourcesFitArgs`; the extenders' `ignoredByScheduler` resources replace `ignoredResources`."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy()


class NodeResourcesFit:
    """See the module."""

    name: ClassVar[str] = "NodeResourcesFit"

    def __init__(self, args: NodeResourcesFitArgs | None = None) -> None:
        args = args or NodeResourcesFitArgs()
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        self._resources = args.scoring_strategy.resources or DEFAULT_RESOURCES
        self._scorer = compile_strategy(args.scoring_strategy)

    def pre_filter(self, pod: PodInfo, snapshot: Snapshot) -> NodeFilter:
        """Compile the pod's request. It waits for a node, so a resize cannot be under way: the spec alone counts."""
        cpu, memory, ephemeral, scalars = to_resources(pod_requests(pod.pod))
        checked = tuple((name, amount) for name, amount in scalars if amount > 0 and not self._ignores(name))
        classes = device_classes_by_resource(snapshot.cluster) if checked else {}
        backed = frozenset(name for name, _ in checked if name in classes)
        # QUIRK: (types.go, SetMaxResource) what wrapped around below zero is not asked for.
        return _Room(Resources(max(0, cpu), max(0, memory), max(0, ephemeral), checked), backed)

    def without_pre_filter(self, pod: PodInfo, snapshot: Snapshot) -> Status:
        """Filter fails: it relies on what PreFilter left behind."""
        del pod, snapshot
        return error('error reading "PreFilterNodeResourcesFit" from cycleState: not found')

    def pre_score(self, pod: PodInfo, snapshot: Snapshot, nodes: Sequence[NodeInfo]) -> NodeScorer:
        """Compile the pod's request for scoring.

        QUIRK: (resource_allocation.go) the score of Fit knows no pod-level resources, although its filter does.
        """
        del nodes
        requests = pod_requests(pod.pod, pod_level=False, missing=MISSING_REQUESTS)
        return self._scorer(compile_entries(self._resources, requests, snapshot.cluster, nonzero=True))

    def _ignores(self, name: str) -> bool:
        if not is_extended_resource(name):
            return False
        return name in self._ignored or name.partition("/")[0] in self._ignored_groups


class _Room(NodeFilter):
    """Whether the node has room; every resource that is short is a reason, in upstream's order."""

    reads = Reads.PODS
    monotone = True

    def __init__(self, requested: Resources, backed: frozenset[str] = frozenset()) -> None:
        self._cpu, self._memory, self._ephemeral, self._scalars = requested
        self.question = requested, backed
        #: Scalars behind which a DeviceClass stands: where the node itself has none, DynamicResources decides.
        self._backed = backed

    def filter(self, node: NodeInfo) -> Status:
        """Room for one more pod, and for each resource it requests; what is not requested is not looked at."""
        if node.wide:
            return self._filter_wide(node)
        return self._beside(node, len(node.pods), node.cpu, node.memory, node.ephemeral, node.scalars)

    def readmit(self, row: PodRow, node: NodeInfo) -> list[PodInfo] | None:
        """As the base class says: on the sums alone, which is all that `filter` reads of pods."""
        if node.wide or row.wide:
            return None
        limits = [(row.sums(name), left) for name, left in self._left(node)]
        places = node.allowed_pods - len(node.pods) - 1
        refused = []
        start, end = 0, len(row.pods)
        while start < end:
            stop = min(end, start + places)
            for sums, left in limits:
                stop = min(stop, bisect_right(sums, sums[start] + left, start) - 1)
            if stop < end:
                refused.append(row.pods[stop])
            limits = [(sums, left - sums[stop] + sums[start]) for sums, left in limits]
            places -= stop - start
            start = stop + 1
        return refused

    def _left(self, node: NodeInfo) -> Iterator[tuple[str, int]]:
        """What others may use beside the pod of each resource that it requests."""
        most = node.allocatable
        if self._cpu:
            yield CPU, most.cpu - node.cpu - self._cpu
        if self._memory:
            yield MEMORY, most.memory - node.memory - self._memory
        if self._ephemeral:
            yield EPHEMERAL_STORAGE, most.ephemeral - node.ephemeral - self._ephemeral
        for name, amount in self._scalars:
            if most.scalar(name) > 0 or name not in self._backed:
                yield name, most.scalar(name) - node.scalars.get(name, 0) - amount

    def _beside(
        self, node: NodeInfo, number: int, cpu: int, memory: int, ephemeral: int, scalars: Mapping[str, int]
    ) -> Status:
        """Whether there is room beside so many pods, which use so much."""
        short: list[InsufficientResource] = []
        most = node.allocatable
        if number >= node.allowed_pods:
            short.append(InsufficientResource(PODS, 1, number, node.allowed_pods))
        if self._cpu and self._cpu > most.cpu - cpu:
            short.append(InsufficientResource(CPU, self._cpu, cpu, most.cpu))
        if self._memory and self._memory > most.memory - memory:
            short.append(InsufficientResource(MEMORY, self._memory, memory, most.memory))
        if self._ephemeral and self._ephemeral > most.ephemeral - ephemeral:
            short.append(InsufficientResource(EPHEMERAL_STORAGE, self._ephemeral, ephemeral, most.ephemeral))
        for name, amount in self._scalars:
            allocatable, used = most.scalar(name), scalars.get(name, 0)
            if amount > allocatable - used and (allocatable > 0 or name not in self._backed):
                short.append(InsufficientResource(name, amount, used, allocatable))
        return _refusal(short) if short else SUCCESS

    def _filter_wide(self, node: NodeInfo) -> Status:
        """The same where what is left may leave 64 bits; QUIRK: (fit.go) it then wraps around."""
        number = len(node.pods)
        short = [InsufficientResource(PODS, 1, number, node.allowed_pods)] if number >= node.allowed_pods else []
        cpu, memory, ephemeral, _ = node.allocatable
        rows = (
            (CPU, self._cpu, node.cpu, cpu),
            (MEMORY, self._memory, node.memory, memory),
            (EPHEMERAL_STORAGE, self._ephemeral, node.ephemeral, ephemeral),
            *((name, asked, node.scalars.get(name, 0), node.allocatable.scalar(name)) for name, asked in self._scalars),
        )
        for name, requested, used, allocatable in rows:
            if requested and requested > wrap(allocatable - used) and (allocatable > 0 or name not in self._backed):
                short.append(InsufficientResource(name, requested, wrap(used), allocatable))
        return _refusal(short) if short else SUCCESS


def _added(scalars: Mapping[str, int], more: Sequence[tuple[str, int]]) -> Mapping[str, int]:
    return {**scalars, **{name: scalars.get(name, 0) + amount for name, amount in more}}


def _refusal(short: Sequence[InsufficientResource]) -> Status:
    code = Code.UNSCHEDULABLE
    reasons = []
    for row in short:
        if row.resource == PODS:
            reasons.append("Too many pods")
            continue
        reasons.append(f"Insufficient {row.resource}")
        if row.requested > row.allocatable:
            code = Code.UNRESOLVABLE  # more than the whole node has: eviction cannot help
    return Status(code, tuple(reasons), tuple(short))
