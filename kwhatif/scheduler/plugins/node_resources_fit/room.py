"""Filter: whether a node has room for the pod's requests, and which victims free enough (`noderesources/fit.go`)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cache
from typing import ClassVar, NamedTuple

from kwhatif.kube.matching.requests import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    PODS,
    Resources,
)
from kwhatif.scheduler.framework.evidence import InsufficientResource
from kwhatif.scheduler.framework.incremental import Relaxing, Reprieved, Reprieving
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.status import SUCCESS, Code, Status
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import PodRow


class Room(Relaxing, Reprieving, NodeFilter):
    """Whether the node has room; every insufficient resource is a reason, in upstream's order."""

    reads = Reads.PODS
    _too_large: ClassVar[Code] = Code.UNRESOLVABLE

    def __init__(self, requested: Resources, backed: frozenset[str] = frozenset()) -> None:
        self.requested = requested
        self._cpu, self._memory, self._ephemeral, self._scalars = requested
        self.signature = requested, backed
        amounts = (CPU, self._cpu), (MEMORY, self._memory), (EPHEMERAL_STORAGE, self._ephemeral), *self._scalars
        self._asked = {name: amount for name, amount in amounts if amount}
        self._about = *self._asked, backed
        #: Scalar resources with a DeviceClass: if the node itself does not have them, DynamicResources decides.
        self._backed = backed

    def filter(self, node: NodeInfo) -> Status:
        """Check that the node has room for one more pod, and for each resource that the pod requests."""
        return self._judge(node, len(node.pods), node.cpu, node.memory, node.ephemeral, node.scalars)

    def statuses_with(
        self, pods: Sequence[PodInfo], refused: Sequence[PodInfo], node: NodeInfo
    ) -> dict[PodInfo, Status]:
        """The insufficient resources with each refused pod, computed from sums instead of adding pods to a node."""
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
        """Whether there is room beside this number of pods, which request these amounts."""
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
        """The pods that cannot stay, found by bisection of running sums: `filter` depends only on the sums."""
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
        """Whether the pod requests the same resources, and about the same amount of each."""
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
                code = self._too_large  # more than the node's allocatable: eviction cannot help
        return Status(code, tuple([_reason(row.resource) for row in short]), tuple(short))

    def _left(self, node: NodeInfo) -> Iterator[tuple[str, int]]:
        """For each requested resource, the amount that other pods may request beside this pod."""
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


class EvictableRoom(Room):
    """Up to 1.33 preemption is tried even if the pod requests more than the node's allocatable."""

    _too_large = Code.UNSCHEDULABLE


class _Scope(NamedTuple):
    """A range of requests of the preemptor for which the same victims can be put back on a node."""

    #: The requested resources, and which of these resources have a DeviceClass.
    about: Hashable
    #: For each resource that matters: an exclusive lower and an inclusive upper bound.
    bounds: Sequence[tuple[str, int, int]]


class _Limit:
    """The total of one resource that pods, in order, may request."""

    __slots__ = ("_asked", "_resource", "lack", "most", "sums")

    def __init__(self, resource: str, asked: int, sums: Sequence[int], left: int) -> None:
        self._resource = resource
        self._asked = asked
        #: The total requests of the first 0, 1, 2… pods.
        self.sums = sums
        #: The largest sum with which a pod can stay. Like `sums`, it includes the requests of pods that cannot stay.
        self.most = left
        #: How much less the preemptor must request so that one more pod can stay; at most its whole request.
        self.lack = asked

    def bounds(self) -> tuple[str, int, int]:
        """The range of the preemptor's request (exclusive, inclusive) for which the same pods can stay."""
        asked = self._asked
        return self._resource, asked - self.lack, asked + self.most - self.sums[-1]


def _added(scalars: Mapping[str, int], more: Sequence[tuple[str, int]]) -> Mapping[str, int]:
    return {**scalars, **{name: scalars.get(name, 0) + amount for name, amount in more}}


@cache
def _reason(resource: str) -> str:
    return "Too many pods" if resource == PODS else f"Insufficient {resource}"
