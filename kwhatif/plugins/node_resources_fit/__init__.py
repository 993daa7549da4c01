"""NodeResourcesFit: the node must have room for what the pod requests; and how full it would be.

(`pkg/scheduler/framework/plugins/noderesources/fit.go`.)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import ClassVar, NamedTuple

from kwhatif.framework import signers
from kwhatif.framework.evidence import InsufficientResource
from kwhatif.framework.hints import ClusterEventWithHint
from kwhatif.framework.incremental import Relaxing, Reprieved, Reprieving
from kwhatif.framework.plugin import NodeFilter, NodeScorer, Reads
from kwhatif.framework.resource_allocation import DEFAULT_RESOURCES, compile_entries
from kwhatif.framework.scoring_strategy import ScoringStrategy, compile_strategy
from kwhatif.framework.signers import Fragments
from kwhatif.framework.status import SUCCESS, Code, Status, error
from kwhatif.gates import BASE_GATES, Gates
from kwhatif.matching.device_classes import classes_under
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
from kwhatif.model.meta import Model
from kwhatif.plugins.node_resources_fit import hints
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.pod_row import PodRow
from kwhatif.state.state import State


class NodeResourcesFitArgs(Model):
    """`NodeResourcesFitArgs`; the extenders' `ignoredByScheduler` resources replace `ignoredResources`."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy()


class NodeResourcesFit:
    """See the module."""

    name: ClassVar[str] = "NodeResourcesFit"
    _room: ClassVar[type[_Room]]

    def __init__(self, args: NodeResourcesFitArgs | None = None, *, gates: Gates = BASE_GATES) -> None:
        self.args = args = args or NodeResourcesFitArgs()
        self._gates = gates
        self._classes_of = classes_under(gates)
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        self._resources = args.scoring_strategy.resources or DEFAULT_RESOURCES
        self._scorer = compile_strategy(args.scoring_strategy)

    def pre_filter(self, pod: PodInfo, snapshot: State) -> NodeFilter:
        """Compile the pod's request. It waits for a node, so a resize cannot be under way: the spec alone counts."""
        cpu, memory, ephemeral, scalars = to_resources(pod_requests(pod.pod))
        checked = tuple((name, amount) for name, amount in scalars if amount > 0 and not self._ignores(name))
        classes = self._classes_of(snapshot.cluster) if checked else {}
        backed = frozenset(name for name, _ in checked if name in classes)
        # QUIRK: (types.go, SetMaxResource) what wrapped around below zero is not asked for.
        return self._room(Resources(max(0, cpu), max(0, memory), max(0, ephemeral), checked), backed)

    def without_pre_filter(self, pod: PodInfo, snapshot: State) -> Status:
        """Filter fails: it relies on what PreFilter left behind."""
        del pod, snapshot
        return error('error reading "PreFilterNodeResourcesFit" from cycleState: not found')

    def pre_score(self, pod: PodInfo, snapshot: State, nodes: Sequence[NodeInfo]) -> NodeScorer:
        """Compile the pod's request for scoring.

        QUIRK: (resource_allocation.go) the score of Fit knows no pod-level resources, although its filter does.
        """
        del nodes
        requests = pod_requests(pod.pod, pod_level=False, missing=MISSING_REQUESTS)
        return self._scorer(
            compile_entries(self._resources, requests, snapshot.cluster, nonzero=True, gates=self._gates)
        )

    def __reduce__(self) -> tuple[object, ...]:
        """What is compiled of the arguments is compiled again elsewhere."""
        return partial(type(self), gates=self._gates), (self.args,)

    def sign(self, pod: PodInfo, snapshot: State) -> Fragments | None:
        """What the pod requests; where devices may stand behind that, it cannot be signed."""
        return signers.resources(pod.pod, self._classes_of(snapshot.cluster))

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """See `hints`."""
        return hints.events_to_register(self._gates)

    def _ignores(self, name: str) -> bool:
        if not is_extended_resource(name):
            return False
        return name in self._ignored or name.partition("/")[0] in self._ignored_groups


class _Room(Relaxing, Reprieving, NodeFilter):
    """Whether the node has room; every resource that is short is a reason, in upstream's order."""

    reads = Reads.PODS
    _too_large: ClassVar[Code] = Code.UNRESOLVABLE

    def __init__(self, requested: Resources, backed: frozenset[str] = frozenset()) -> None:
        self._cpu, self._memory, self._ephemeral, self._scalars = requested
        self.signature = requested, backed
        amounts = (CPU, self._cpu), (MEMORY, self._memory), (EPHEMERAL_STORAGE, self._ephemeral), *self._scalars
        self._asked = {name: amount for name, amount in amounts if amount}
        self._about = *self._asked, backed
        #: Scalars behind which a DeviceClass stands: where the node itself has none, DynamicResources decides.
        self._backed = backed

    def filter(self, node: NodeInfo) -> Status:
        """Room for one more pod, and for each resource it requests; what is not requested is not looked at."""
        return self._judge(node, len(node.pods), node.cpu, node.memory, node.ephemeral, node.scalars)

    def statuses_with(
        self, pods: Sequence[PodInfo], refused: Sequence[PodInfo], node: NodeInfo
    ) -> dict[PodInfo, Status]:
        """As the base class says: on the sums alone."""
        statuses = dict.fromkeys(refused, SUCCESS)
        number, cpu, memory, ephemeral = len(node.pods), node.cpu, node.memory, node.ephemeral
        scalars: Mapping[str, int] = node.scalars
        for pod in pods:
            more = pod.resources.requested
            after = _added(scalars, more.scalars) if more.scalars else scalars
            sums = number + 1, cpu + more.cpu, memory + more.memory, ephemeral + more.ephemeral, after
            if pod in statuses:
                statuses[pod] = self._judge(node, *sums)
            else:
                number, cpu, memory, ephemeral, scalars = sums
        return statuses

    def _judge(
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
        return self._refusal(short) if short else SUCCESS

    def reprieve_all(self, row: PodRow, node: NodeInfo) -> Reprieved | None:
        """As the base class says: on the sums alone, which is all that `filter` reads of pods."""
        limits = [_Limit(name, self._asked[name], row.sums(name), left) for name, left in self._left(node)]
        scarce = [limit for limit in limits if limit.sums[-1] > limit.most]
        places = node.allowed_pods - len(node.pods) - 1
        refused: list[PodInfo] = []
        start, number = 0, len(row.pods)
        while True:
            stop, cause = min(number, places + len(refused)), None
            for limit in scarce:
                fitting = bisect_right(limit.sums, limit.most, start) - 1
                if fitting < stop:
                    stop, cause = fitting, limit
            start = stop + 1
            if start > number:
                return Reprieved(refused, _Scope(self._about, [limit.bounds() for limit in limits]))
            refused.append(row.pods[stop])
            if cause is not None:
                cause.lack = min(cause.lack, cause.sums[start] - cause.most)
            for limit in scarce:
                limit.most += limit.sums[start] - limit.sums[stop]

    def has_same_answer(self, scope: object) -> bool:
        """Whether the pod requests the same resources, and of each about as much."""
        if not isinstance(scope, _Scope) or scope.about != self._about:
            return False
        asked = self._asked
        for name, above, most in scope.bounds:  # noqa: SIM110 - asked of every node: a generator would double the cost
            if not above < asked[name] <= most:
                return False
        return True

    def _refusal(self, short: Sequence[InsufficientResource]) -> Status:
        code = Code.UNSCHEDULABLE
        for row in short:
            if row.requested > row.allocatable and row.resource != PODS:
                code = self._too_large  # more than the whole node has: eviction cannot help
        return Status(code, tuple([_reason(row.resource) for row in short]), tuple(short))

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


class _EvictableRoom(_Room):
    """Until 1.33 eviction is tried even where the pod asks for more than the whole node has."""

    _too_large = Code.UNSCHEDULABLE


NodeResourcesFit._room = _Room


class NodeResourcesFitUntil133(NodeResourcesFit):
    """The plugin up to 1.33."""

    _room = _EvictableRoom


class _Scope(NamedTuple):
    """Requests with which the same pods can be put back on a node."""

    #: Which resources are requested, and behind which of them a DeviceClass stands.
    about: Hashable
    #: Of each resource that decides: more than this, and at most that.
    bounds: Sequence[tuple[str, int, int]]


class _Limit:
    """What pods in a row may request of a resource."""

    __slots__ = ("_asked", "_resource", "lack", "most", "sums")

    def __init__(self, resource: str, asked: int, sums: Sequence[int], left: int) -> None:
        self._resource = resource
        self._asked = asked
        #: What the first 0, 1, 2… of them do request.
        self.sums = sums
        #: What the pods up to the next one that cannot stay may, with those that are passed over.
        self.most = left
        #: If the pod itself asked for so much less, one more could stay; or it would not ask at all.
        self.lack = asked

    def bounds(self) -> tuple[str, int, int]:
        """More than how little, and at most how much, the pod may ask for so that the same pods can stay."""
        asked = self._asked
        return self._resource, asked - self.lack, asked + self.most - self.sums[-1]


def _added(scalars: Mapping[str, int], more: Sequence[tuple[str, int]]) -> Mapping[str, int]:
    return {**scalars, **{name: scalars.get(name, 0) + amount for name, amount in more}}


@cache
def _reason(resource: str) -> str:
    return "Too many pods" if resource == PODS else f"Insufficient {resource}"
