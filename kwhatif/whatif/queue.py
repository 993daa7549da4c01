"""`Queue`: pods in the order in which the scheduler takes them, those of workloads each made when its time comes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from heapq import heappop, heappush
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.model.cluster import key_of
from kwhatif.model.pod import Pod
from kwhatif.report import Decision, Outcome, UpdateKind
from kwhatif.state.pod_info import PodInfo
from kwhatif.whatif.applied import Applied
from kwhatif.whatif.candidates import Candidate, Planner
from kwhatif.whatif.decide import denied
from kwhatif.whatif.placing import Placement, Placer, in_short
from kwhatif.whatif.placing.placer import Describe
from kwhatif.whatif.rows import owner_of
from kwhatif.workloads.expansion import Group
from kwhatif.workloads.restart import is_waiting

#: What keeps a pod from ever running, as things are. One that evicts others runs once they are gone, and of one for
#: another scheduler nothing is known.
_HOLDS_UP: Collection[Outcome] = ("Unschedulable", "Gated", "Denied")


class Planned(msgspec.Struct):
    """One object of which there are pods, and what has become of them."""

    applied: Applied
    update: UpdateKind = "new"
    removed: tuple[Pod, ...] = ()
    #: What is yet to be made, see `Expansion.stages`.
    stages: list[list[Group]] = []
    #: In their controller's order; None while the pod is in the queue.
    decisions: dict[str, Decision | None] = {}
    #: How many pods are in the queue.
    queued: int = 0
    #: The first pod that will not run, as things are: what is to be made after it is not.
    held_up: Decision | None = None
    #: Outcomes that a decision explains already: the first pod of each says it for all its like.
    explained: list[Outcome] = []

    def decide(self, decision: Decision) -> None:
        """This is what becomes of one of the pods."""
        self.decisions[decision.pod] = replace(decision, source=self.applied.source)
        if self.held_up is None and decision.outcome in _HOLDS_UP:
            self.held_up = decision


class _Entry(NamedTuple):
    """A pod in the queue; entries are compared by the three numbers, which are unique."""

    #: Negated.
    priority: int
    #: Number of the workload; -1 for pods that were in the queue before any of the manifests.
    workload: int
    number: int
    info: PodInfo
    candidate: Candidate | None = None


#: Whether, and how, the decision about a pod is to be explained; the outcomes are those that are explained already.
Explain = Callable[[Placement, Collection[Outcome]], Describe | None]


class Queue:
    """Pods of higher priority go first.

    Among equals those come first that are pending already, the oldest of them first; then those of the object that
    comes first in the manifests.

    A controller that makes its pods one by one has the next one made, and admitted, when all before it are sure to
    run. It does not go to the end of the queue: how long a pod takes to be ready is not known.
    """

    def __init__(self, planner: Planner, explain: Explain) -> None:
        self._planner = planner
        self._explain = explain
        #: By the order of the manifests.
        self.workloads: list[Planned] = []
        #: What became of the pods that were pending already, in the order in which they were taken.
        self.earlier: dict[str, Decision] = {}
        #: How many pods are in the queue whose decisions are asked for.
        self._asked = 0
        #: Pending pods that are asked for -> the outcomes that are explained of its like.
        self._explained: dict[str, list[Outcome]] = {}
        self._waiting = 0
        self._heap: list[_Entry] = []

    def add(self, workload: Planned) -> None:
        """The next of the manifests: what its controller makes at once is made."""
        self.workloads.append(workload)
        self._advance(len(self.workloads) - 1)

    def wait(self, info: PodInfo, explained: list[Outcome] | None = None) -> None:
        """A pod that is pending already: to be called in the order of their age.

        With `explained` its decision is asked for; these outcomes need not be explained.
        """
        if explained is not None:
            self._explained[info.key] = explained
            self._asked += 1
        heappush(self._heap, _Entry(-info.priority, -1, self._waiting, info))
        self._waiting += 1

    def place_all(self, placer: Placer) -> None:
        """Decide about every pod that is asked for, and about those that are taken before the last of them."""
        for workload in self.workloads:
            self._give_up(workload, placer)
        while self._asked:
            entry = heappop(self._heap)
            if entry.candidate is None:
                self._place_earlier(entry.info, placer)
                continue
            workload = self.workloads[entry.workload]
            decision = self._place(entry.info, placer, workload.explained)
            workload.decide(replace(decision, changes=entry.candidate.changes))
            workload.queued -= 1
            self._asked -= 1
            self._advance(entry.workload)
            self._give_up(workload, placer)

    def _place(self, info: PodInfo, placer: Placer, explained: list[Outcome]) -> Decision:
        decision = in_short(placer.place(info, lambda placement: self._explain(placement, explained)))
        if decision.outcome not in explained:
            explained.append(decision.outcome)
        return decision

    def _place_earlier(self, info: PodInfo, placer: Placer) -> None:
        explained = self._explained.get(info.key)
        if explained is None:
            self.earlier[info.key] = in_short(placer.place(info))
            return
        self.earlier[info.key] = self._place(info, placer, explained)
        self._asked -= 1

    def _advance(self, number: int) -> None:
        """Have the next pods made, if all before them are sure to run."""
        workload = self.workloads[number]
        while workload.stages and not workload.queued and workload.held_up is None:
            for candidate in self._planner.admit(workload.applied, workload.stages.pop(0)):
                if candidate.refusal:
                    workload.decide(denied(candidate))
                    continue
                info = PodInfo(candidate.pod)
                workload.decisions[info.key] = None
                workload.queued += 1
                self._asked += 1
                heappush(self._heap, _Entry(-info.priority, number, len(workload.decisions), info, candidate))

    def _give_up(self, workload: Planned, placer: Placer) -> None:
        """What waits for a pod that will not run is not made, and the pods that it would replace stay."""
        if workload.queued or workload.held_up is None or not workload.stages:
            return
        left = {key_of(pod): pod for stage in workload.stages for group in stage for pod in group.pods()}
        workload.stages = []
        for pod in left.values():
            workload.decide(_waiting(pod, workload.held_up))
        if workload.update == "restarted":
            return  # they are gone
        for pod in workload.removed:
            if key_of(pod) in left:
                self._planner.take_back(pod)
                placer.take_back(PodInfo(pod))
                if is_waiting(pod):
                    self.wait(PodInfo(pod))
        workload.removed = tuple(pod for pod in workload.removed if key_of(pod) not in left)


def in_queue_order(pods: Iterable[PodInfo]) -> list[PodInfo]:
    """Pending pods, the oldest first (`PrioritySort` asks for priority first); those that are being deleted are out."""
    found = [info for info in pods if info.pod.metadata.deletion_timestamp is None]
    return sorted(found, key=lambda info: (-info.priority, info.pod.metadata.creation_timestamp or ""))


def _waiting(pod: Pod, first: Decision) -> Decision:
    """The pod is not made, and so never admitted: what admission would set is as it is in the pod that it waits for."""
    return Decision(
        pod=key_of(pod),
        owner=owner_of(pod),
        priority=first.priority,
        priority_class_name=first.priority_class_name,
        preemption_policy=first.preemption_policy,
        scheduler_name=first.scheduler_name,
        outcome="Waits",
        waits_for=first.pod,
    )
