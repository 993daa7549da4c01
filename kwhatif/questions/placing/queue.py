"""`Queue`: pods in the order in which the scheduler takes them, those of workloads each made when its time comes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from heapq import heappop, heappush
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_status import SchedulingEvents
from kwhatif.questions.decisions.decide import denied
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.manifests.candidates import PlannedPod, Planner
from kwhatif.questions.placing.placer import Describe, Placer
from kwhatif.questions.placing.taken_room import took_room
from kwhatif.questions.rows import decision_about
from kwhatif.report.decision import Decision, Outcome
from kwhatif.report.workload import RolloutRow, UpdateKind
from kwhatif.scheduler.batch import ScheduleResult
from kwhatif.scheduler.framework.attempt import Attempt
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.state.pod_info import PodInfo
from kwhatif.workloads.expansion import ReplicaGroup
from kwhatif.workloads.rollout import is_waiting

#: What keeps a pod from ever running, as things are. One that evicts others runs once they are gone, and of one for
#: another scheduler nothing is known.
HOLDS_UP: Collection[Outcome] = ("Unschedulable", "Gated", "Denied")


class Planned(msgspec.Struct):
    """One object of which there are pods, and what has become of them."""

    applied: Applied
    update: UpdateKind = "new"
    removed: tuple[Pod, ...] = ()
    #: What is yet to be made, see `Expansion.stages`.
    stages: list[list[ReplicaGroup]] = []
    #: In their controller's order; None while the pod is in the queue.
    decisions: dict[str, Decision | None] = {}
    #: How many more pods there are to be, which are not made one by one.
    left_out: int = 0
    #: How many pods are in the queue.
    queued: int = 0
    #: The first pod that will not run, as things are: what is to be made after it is not.
    held_up: Decision | None = None
    #: Whether its pods are replaced step by step, which only a simulation can say; and how far that comes.
    rolls: bool = False
    rollout: RolloutRow | None = None
    #: Whether the API server does not take the object itself.
    is_refused: bool = False
    #: Outcomes that a decision explains already: the first pod of each says it for all its like.
    explained: list[Outcome] = []

    def copy(self) -> Planned:
        """A plan like this one, of whose pods nothing has become yet."""
        stages = [stage.copy() for stage in self.stages]
        return replace(self, stages=stages, decisions=self.decisions.copy(), explained=[])

    def decide(self, decision: Decision) -> None:
        """This is what becomes of one of the pods."""
        self.decisions[decision.pod] = replace(decision, source=self.applied.source)
        if self.held_up is None and decision.outcome in HOLDS_UP:
            self.held_up = decision


class _Entry(NamedTuple):
    """A pod in the queue; entries are compared by the three numbers, which are unique."""

    #: Negated.
    priority: int
    #: Number of the workload; -1 for pods that were in the queue before any of the manifests.
    workload: int
    number: int
    info: PodInfo
    candidate: PlannedPod | None = None


#: Whether, and how, the decision about a pod is to be explained; the outcomes are those that are explained already.
Explain = Callable[[ScheduleResult, Collection[Outcome]], Describe | None]


class Queue:
    """Pods of higher priority go first.

    Among equals those come first that are pending already, the oldest of them first; then those of the object that
    comes first in the manifests.

    A controller that makes its pods one by one has the next one made, and admitted, when all before it are sure to
    run. It does not go to the end of the queue: how long a pod takes to be ready is not known.
    """

    def __init__(self, planner: Planner, explain: Explain, profiles: Mapping[str, Profile]) -> None:
        self._planner = planner
        self._explain = explain
        self._profiles = profiles
        #: By the order of the manifests.
        self.workloads: list[Planned] = []
        #: What became of the pods that were pending already, in the order in which they were taken.
        self.earlier: dict[str, Decision] = {}
        #: Those of them that are not asked for, and have got a node.
        self._before: list[ScheduleResult] = []
        #: How many pods are in the queue whose decisions are asked for.
        self._asked = 0
        #: Pending pods that are asked for -> the outcomes that are explained of its like.
        self._explained: dict[str, list[Outcome]] = {}
        self._waiting = 0
        self._heap: list[_Entry] = []
        #: How many pods have evicted others.
        self.evicting = 0

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
                self._place_earlier(entry, placer)
                continue
            workload = self.workloads[entry.workload]
            decision = self._place(entry, placer, workload.explained)
            workload.decide(replace(decision, changes=entry.candidate.changes))
            workload.queued -= 1
            self._asked -= 1
            self._advance(entry.workload)
            self._give_up(workload, placer)

    def _place(self, entry: _Entry, placer: Placer, explained: list[Outcome] | None) -> Decision:
        if explained is None:
            placement = placer.place(entry.info)
            if placement.result.node is not None:
                self._before.append(placement.result)
        else:
            placement = placer.place(entry.info, lambda result: self._describe(result, explained, placer))
            if placement.result.outcome not in explained:
                explained.append(placement.result.outcome)
        self.evicting += bool(placement.result.victims)
        return placement.row

    def _describe(self, result: ScheduleResult, explained: Collection[Outcome], placer: Placer) -> Describe | None:
        describe = self._explain(result, explained)
        if describe is None or not self._before or result.outcome not in ("Preempts", "Unschedulable"):
            return describe

        def with_others(whole: Attempt) -> Decision:
            profile = self._profiles[result.pod.pod.spec.scheduler_name or DEFAULT_SCHEDULER]
            after = took_room(result, self._before, profile, placer.state)
            return replace(describe(whole), after=after)

        return with_others

    def _place_earlier(self, entry: _Entry, placer: Placer) -> None:
        key = entry.info.key
        explained = self._explained.get(key)
        self._asked -= explained is not None
        if key in placer.state.pods:  # else its controller has deleted it
            self.earlier[key] = self._place(entry, placer, explained)

    def _advance(self, number: int) -> None:
        """Have the next pods made, if all before them are sure to run."""
        workload = self.workloads[number]
        while workload.stages and not workload.queued and workload.held_up is None:
            for candidate in self._planner.admit(workload.applied, workload.stages.pop(0)):
                self._make(number, candidate)

    def _make(self, number: int, candidate: PlannedPod) -> None:
        workload = self.workloads[number]
        if candidate.refusal:
            workload.decide(denied(candidate, self._planner.cluster))
            return
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
            workload.decide(waiting_for(pod, workload.held_up))
        if workload.update == "restarted":
            return  # they are gone
        for pod in workload.removed:
            if key_of(pod) in left:
                self._planner.take_back(pod)
                placer.take_back(PodInfo(pod))
                if is_waiting(pod):
                    self.wait(PodInfo(pod))
        workload.removed = tuple(pod for pod in workload.removed if key_of(pod) not in left)


def in_queue_order(pods: Iterable[PodInfo], events: Mapping[str, SchedulingEvents]) -> list[PodInfo]:
    """Pending pods in the order of the queue; those that are being deleted are out.

    Priority first (`PrioritySort`); then who was put there first: when it was tried in vain for the last time, as
    Events show, or else when it was created.
    """

    def stamp(info: PodInfo) -> str:
        seen = events.get(info.key)
        return ((seen.last_attempt if seen else "") or info.pod.metadata.creation_timestamp or "").removesuffix("Z")

    found = [info for info in pods if info.pod.metadata.deletion_timestamp is None]
    return sorted(found, key=lambda info: (-info.priority, stamp(info)))


def waiting_for(pod: Pod, first: Decision) -> Decision:
    """The pod is not made, and so never admitted: what admission would set is as it is in the pod that it waits for."""
    return decision_about(
        pod,
        "Waits",
        priority=first.priority,
        priority_class_name=first.priority_class_name,
        preemption_policy=first.preemption_policy,
        scheduler_name=first.scheduler_name,
        waits_for=first.pod,
    )
