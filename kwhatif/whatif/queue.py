"""`Queue`: the pods of all workloads in the order in which the scheduler takes them, each made when its time comes."""

from __future__ import annotations

from collections.abc import Collection
from heapq import heappop, heappush

import msgspec
from msgspec.structs import replace

from kwhatif.framework.profile import DEFAULT_SCHEDULER
from kwhatif.model.cluster import key_of
from kwhatif.model.pod import Pod
from kwhatif.report import Decision, Outcome, UpdateKind
from kwhatif.state.pod_info import PodInfo
from kwhatif.whatif.applied import Applied
from kwhatif.whatif.candidates import Candidate, Planner
from kwhatif.whatif.placing import Placement, Placer, in_short
from kwhatif.whatif.rows import owner_of
from kwhatif.workloads.expansion import Group

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
    #: Outcomes that a decision explains in full: of pods that were not placed, the first one says it for all its like.
    explained: list[Outcome] = []

    def wants_evidence(self, placement: Placement) -> bool:
        """Whether the decision about this pod is to say why."""
        return placement.outcome not in ("Placed", *self.explained)

    def decide(self, decision: Decision) -> None:
        """This is what becomes of one of the pods."""
        self.decisions[decision.pod] = replace(decision, source=self.applied.source)
        if self.held_up is None and decision.outcome in _HOLDS_UP:
            self.held_up = decision


class Queue:
    """Pods of higher priority go first; among equals those of the object that comes first in the manifests.

    A controller that makes its pods one by one has the next one made, and admitted, when all before it are sure to
    run. It does not go to the end of the queue: how long a pod takes to be ready is not known.
    """

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        #: By the order of the manifests.
        self.workloads: list[Planned] = []
        #: Negated priority, number of the workload, number of the pod: then what they are.
        self._heap: list[tuple[int, int, int, PodInfo, Candidate]] = []

    def add(self, workload: Planned) -> None:
        """The next of the manifests: what its controller makes at once is made."""
        self.workloads.append(workload)
        self._advance(len(self.workloads) - 1)

    def place_all(self, placer: Placer) -> None:
        """Decide about every pod."""
        for workload in self.workloads:
            self._give_up(workload, placer)
        while self._heap:
            _, number, _, info, candidate = heappop(self._heap)
            workload = self.workloads[number]
            decision = in_short(placer.place(info, workload.wants_evidence))
            if decision.outcome not in workload.explained:
                workload.explained.append(decision.outcome)
            workload.decide(replace(decision, changes=candidate.changes))
            workload.queued -= 1
            self._advance(number)
            self._give_up(workload, placer)

    def _advance(self, number: int) -> None:
        """Have the next pods made, if all before them are sure to run."""
        workload = self.workloads[number]
        while workload.stages and not workload.queued and workload.held_up is None:
            for candidate in self._planner.admit(workload.applied, workload.stages.pop(0)):
                if candidate.refusal:
                    workload.decide(_denied(candidate))
                    continue
                info = PodInfo(candidate.pod)
                workload.decisions[info.key] = None
                workload.queued += 1
                heappush(self._heap, (-info.priority, number, len(workload.decisions), info, candidate))

    def _give_up(self, workload: Planned, placer: Placer) -> None:
        """What waits for a pod that will not run is not made, and the pods that it would replace stay."""
        if workload.queued or workload.held_up is None or not workload.stages:
            return
        left = {key_of(pod): pod for stage in workload.stages for group in stage for pod in group.pods()}
        workload.stages = []
        for pod in left.values():
            workload.decide(_waiting(pod, workload.held_up))
        for pod in workload.removed:
            if key_of(pod) in left:
                self._planner.take_back(pod)
                placer.take_back(PodInfo(pod))
        workload.removed = tuple(pod for pod in workload.removed if key_of(pod) not in left)


def _denied(candidate: Candidate) -> Decision:
    """The API server refuses the pod."""
    pod = candidate.pod
    return Decision(
        pod=key_of(pod),
        owner=owner_of(pod),
        priority=pod.spec.priority or 0,
        priority_class_name=pod.spec.priority_class_name,
        scheduler_name=pod.spec.scheduler_name or DEFAULT_SCHEDULER,
        outcome="Denied",
        message=candidate.refusal,
        changes=candidate.changes,
    )


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
