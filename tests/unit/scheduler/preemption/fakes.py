"""Small plugins and extenders, enough to make preemption necessary and to watch it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.extender import ExtenderError, ExtenderVictims
from kwhatif.scheduler.framework.incremental import Selective
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.status import SUCCESS, Status, unresolvable, unschedulable
from kwhatif.scheduler.preemption.candidate import Candidate
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from tests.builders import PodBuilder


class CpuFilter(NodeFilter):
    reads = Reads.PODS

    def __init__(self, pod: PodInfo) -> None:
        self.cpu = pod.resources.requested.cpu

    def filter(self, node: NodeInfo) -> Status:
        if self.cpu > node.allocatable.cpu:
            return unresolvable("Insufficient cpu")
        return SUCCESS if node.cpu + self.cpu <= node.allocatable.cpu else unschedulable("Insufficient cpu")


class Cpu:
    """The part of NodeResourcesFit that tests need."""

    name: ClassVar[str] = "NodeResourcesFit"

    def pre_filter(self, pod: PodInfo, snapshot: State) -> NodeFilter:
        return CpuFilter(pod)


class RivalFilter(Selective, NodeFilter):
    """No two pods labelled `rival` on one node; counts in state of its own, as InterPodAffinity does."""

    reads = Reads.CLUSTER

    def __init__(self, rivals: dict[str, int]) -> None:
        self.rivals = rivals

    def filter(self, node: NodeInfo) -> Status:
        return unschedulable("rival on node") if self.rivals.get(node.name) else SUCCESS

    def fork(self) -> RivalFilter:
        return RivalFilter(dict(self.rivals))

    def affected_by(self, pod: PodInfo) -> bool:
        return "rival" in pod.labels

    def add_pod(self, pod: PodInfo, node: NodeInfo) -> None:
        self.rivals[node.name] = self.rivals.get(node.name, 0) + ("rival" in pod.labels)

    def remove_pod(self, pod: PodInfo, node: NodeInfo) -> None:
        self.rivals[node.name] -= "rival" in pod.labels


class Rivals:
    name: ClassVar[str] = "Rivals"

    def pre_filter(self, pod: PodInfo, snapshot: State) -> NodeFilter:
        return RivalFilter({node.name: sum("rival" in other.labels for other in node.pods) for node in snapshot.nodes})


class AskedFilter(NodeFilter):
    def __init__(self, answer: Callable[[NodeInfo], Status], reads: Reads) -> None:
        self.answer = answer
        self.reads = reads
        self.asked: list[list[str]] = []

    def filter(self, node: NodeInfo) -> Status:
        self.asked.append([pod.name for pod in node.pods])
        return self.answer(node)


class Asked:
    """Answers as the test wants, and remembers which pods were on the node each time it was asked."""

    def __init__(
        self, answer: Callable[[NodeInfo], Status] = lambda _: SUCCESS, reads: Reads = Reads.NODE, name: str = "Asked"
    ) -> None:
        self.name = name
        self.filter = AskedFilter(answer, reads)

    def pre_filter(self, pod: PodInfo, snapshot: State) -> NodeFilter | Status:
        return self.filter


class FakeExtender:
    """Answers a preemption as the test wants; `reply` gets the proposals and returns the new ones, or raises."""

    name = "extender"
    weight = 1
    filters = prioritizes = False

    def __init__(self, reply: Callable[..., Any], *, ignorable: bool = False, preempts: bool = True) -> None:
        self.reply = reply
        self.ignorable = ignorable
        self.preempts = preempts
        self.seen: Mapping[str, ExtenderVictims] | None = None

    def interested(self, pod: PodInfo) -> bool:
        return True

    def preempt(
        self, pod: PodInfo, victims: Mapping[str, ExtenderVictims], snapshot: State
    ) -> Mapping[str, ExtenderVictims]:
        self.seen = victims
        answer: Mapping[str, ExtenderVictims] = self.reply(victims)
        return answer


def broken(message: str) -> Callable[..., Any]:
    """An extender's reply that fails."""

    def reply(_: object) -> Any:
        raise ExtenderError(message)

    return reply


def cycle_of(snapshot: State, pod: PodBuilder, *plugins: Any, extenders: Sequence[Any] = ()) -> Cycle:
    """The cycle of the pod after its nodes were filtered; with `Cpu` alone when no plugin is named."""
    used = plugins or (Cpu(),)
    cycle = Cycle(Profile(pre_filter=used, filter=used, extenders=tuple(extenders)), pod.info(), snapshot)
    if cycle.pre_filter():
        cycle.filter_nodes()
    return cycle


def essence(candidate: Candidate) -> tuple[object, ...]:
    """All that a candidate has to tell."""
    return candidate.node, candidate.rank, candidate.victims, candidate.budgets, candidate.reprieves
