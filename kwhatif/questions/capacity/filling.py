"""`CapacityCount`: a cluster that is filled with pods until the next one does not fit.

Pods are added in sets, with a number of pods of each workload. Within a set, those of higher priority come first. Each
pod is admitted and placed as in `judge`, and is on its node before the next one is tried.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.admission.outcome import Denied, NotSimulated
from kwhatif.autoscaler.contract import NewNode
from kwhatif.kube.matching.requests import Resources
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.node import ZONE
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup, group_of, has_groups
from kwhatif.questions.capacity.more import Gangs, pods_without_end, waiting
from kwhatif.questions.capacity.room import Shortage, shortage
from kwhatif.questions.decisions.decide import denied, ignored, in_full, in_short, objections_of, refusal, stand_in
from kwhatif.questions.decisions.described import AtOnce
from kwhatif.questions.decisions.nearest_miss import nearest_miss
from kwhatif.questions.judging.pending_pods import in_queue_order
from kwhatif.questions.manifests.applied import Applied, apply_groups, apply_surroundings
from kwhatif.questions.manifests.daemons import arrive, new_nodes, run_daemons
from kwhatif.questions.manifests.new_pods import NewPod, NewPods, Planner
from kwhatif.questions.pod_groups import is_about_groups
from kwhatif.questions.rows import decision_about, requests_of
from kwhatif.questions.session.session import Session
from kwhatif.report.capacity import CountedRow, FitRow, StopOutcome, StopRow
from kwhatif.report.decision import Decision
from kwhatif.scheduler.batch import ScheduleResult
from kwhatif.simulation.instant import InstantEngine
from kwhatif.state.change import Nominate
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.workloads.applied_template import template_of
from kwhatif.workloads.counts import wanted


class CountedPart(NamedTuple):
    """A workload, and how many of its pods are in each set."""

    applied: Applied
    times: int = 1


def _whole_gang(part: CountedPart, cluster: Cluster) -> CountedPart:
    """The part of a set: all pods of a workload whose pods are a group; of others as many as were asked for."""
    obj = part.applied.object
    template = None if isinstance(obj, Pod | CustomResource) else template_of(obj)
    if template is None or template.spec.scheduling_group is None or not has_groups(cluster):
        return part
    return CountedPart(part.applied, part.times * max(wanted(obj), 1))


class Fit(NamedTuple):
    """How many sets fit, and the decision about the first pod that does not; None: the limit was reached."""

    row: FitRow
    stop: Decision | None


class _Source(msgspec.Struct):
    """The pods of one workload in order, and the nodes of those in complete sets."""

    part: CountedPart
    pods: Iterator[NewPod]
    priority: int = 0
    requests: Resources | None = None
    nodes: dict[str, int] = {}


class _Next(NamedTuple):
    """A pod of the current set."""

    source: _Source
    candidate: NewPod
    info: PodInfo


class CapacityCount:
    """A fork of the session's cluster that is filled with sets of pods; the session is not changed."""

    def __init__(self, session: Session, parts: Sequence[CountedPart], applied: Sequence[Applied] = ()) -> None:
        """Apply everything; nothing is placed yet.

        Args:
            session: the cluster.
            parts: what is counted, at least one.
            applied: everything that was given; what is not a workload is part of the cluster before any pod comes.
        """
        self._session = session
        self._state = session.state.fork()
        self._cluster = self._state.cluster
        self.caveats: dict[Caveat, None] = dict.fromkeys(apply_surroundings(self._state, applied, admission=True))
        refused_groups = list(apply_groups(self._state, applied))
        self._engine = InstantEngine(self._state, session.profiles)
        self._new_pods = NewPods(self._engine.api_server)
        self._tried = AtOnce(self._engine.api_server, session.profiles)
        deque(run_daemons(self._new_pods, new_nodes(applied, session.state), session.profiles), 0)
        self._gangs = Gangs(self._engine, session.profiles) if is_about_groups(self._cluster) else None
        self._refused = [
            refusal(each, wrong, self._cluster)
            for each, wrong in (*refused_groups, *self._new_pods.apply_claims(applied))
        ]
        parts = [_whole_gang(part, self._cluster) for part in parts]
        planner = Planner(self._state, "final")
        self._sources = [_Source(part, pods_without_end(part.applied, self._new_pods, planner)) for part in parts]
        self._pending, unschedulable = waiting(session, self._state, applied, [part.applied for part in parts])
        self.caveats |= {unschedulable: None} if unschedulable is not None else {}
        #: Decisions about pending pods of the cluster that were tried before others.
        self.earlier: list[Decision] = []
        #: Decisions about pods that evict others.
        self.evicting: list[Decision] = []
        self._sets = 0
        #: The remaining pods of the current set in order, and the nodes of the others.
        self._next: list[_Next] = []
        #: Later sets, as far as they were created.
        self._ahead: deque[list[_Next]] = deque()
        self._placed: list[tuple[_Source, str]] = []
        #: The pods that are counted, by key.
        self._own: set[str] = set()

    @property
    def victims(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Keys of the evicted pods, each with the budgets that this breaks."""
        for decision in self.evicting:
            yield from ((victim.pod, victim.violates) for victim in decision.victims)
        for found in () if self._gangs is None else self._gangs.evicting:
            yield from ((pod.key, found.breaking.get(pod.key, ())) for pod in found.pods)

    @property
    def state(self) -> State:
        """The cluster as it is filled."""
        return self._state

    def ahead(self, limit: int) -> Iterator[Pod]:
        """The pods that are still missing until this many sets fit, as if all were created at once."""
        while self._sets + bool(self._next) + len(self._ahead) < limit:
            self._ahead.append(self._made_set())
            if any(each.candidate.refusal for each in self._ahead[-1]):
                break
        for each in chain(self._next, *self._ahead):
            if not each.candidate.refusal:
                yield each.candidate.pod

    def come(self, nodes: Sequence[NewNode]) -> None:
        """Add new nodes; the cluster's pending pods are tried again."""
        arrive(self._new_pods, nodes, self._session.profiles)
        self._engine.forget_groups()
        ours = {each.info.key for each in chain(self._next, *self._ahead)}
        self._state.apply(*(Nominate(key, None) for key in ours if self._state.nomination_of(key)))
        waits = (info for info in self._state.pending.values() if info.key not in ours)
        self._pending = in_queue_order(waits, self._cluster.facts.scheduling_events)[::-1]

    def end(self) -> None:
        """Try the cluster's pending pods that come after the counted ones."""
        self._place_earlier(None)

    def _new_set(self) -> list[_Next]:
        return self._ahead.popleft() if self._ahead else self._made_set()

    def _made_set(self) -> list[_Next]:
        """The pods of the next set, those of the highest priority first; a refused one if a workload has no more."""
        made: list[_Next] = []
        for source in self._sources:
            for _ in range(source.part.times):
                candidate = next(source.pods, None)
                if candidate is None:
                    refused = Denied("no pods are made of it", NotSimulated())
                    candidate = NewPod(stand_in(source.part.applied), refusal=refused)
                info = PodInfo(candidate.pod)
                if source.requests is None:
                    source.priority, source.requests = info.priority, info.resources.requested
                made.append(_Next(source, candidate, info))
        return sorted(made, key=lambda each: -each.info.priority)

    # --- filling -------------------------------------------------------------------------------------

    def fill(self, limit: int, *, evicts: bool = False) -> Fit:
        """Continue until this many sets fit in total, or the next pod does not.

        Args:
            limit: the number of sets.
            evicts: whether pods may evict others. What fitted before stays.
        """
        if self._refused:
            return self._stopped(self._refused[0], self._refused[0].pod, None)
        while self._sets < limit:
            if not self._next:
                self._next = self._new_set()
            stop = self._place_set(evicts=evicts)
            if stop is not None:
                return stop
            for source, node in self._placed:
                source.nodes[node] = source.nodes.get(node, 0) + 1
            self._placed.clear()
            self._sets += 1
        return Fit(self._row(None), None)

    def _place_set(self, *, evicts: bool) -> Fit | None:
        """Place the rest of the set; returns the reason if a pod does not fit."""
        while self._next:
            source, candidate, info = self._next[0]
            if self._gangs is not None and group_of(candidate.pod) in self._cluster.all(PodGroup):
                stop = self._place_gang(self._gangs, group_of(candidate.pod), evicts=evicts)
                if stop is not None:
                    return stop
                continue
            workload = source.part.applied.source.object
            if candidate.refusal:
                return self._stopped(denied(candidate.pod, candidate.refusal, self._cluster), workload, None)
            self._place_earlier(info.priority)
            result = self._engine.attempt(info)
            if not self._goes_on(result, evicts=evicts):
                decision, short = self._why_not(result)
                self._engine.stays(info, result)
                return self._stopped(replace(decision, changes=candidate.changes), workload, short)
            self._tried.note(result)
            if result.outcome == "Preempts":
                self.evicting.append(in_short(result))
            self._engine.carry_out(info, result)
            self._own.add(info.key)
            self._placed.append((source, result.node or ""))
            del self._next[0]
        return None

    def _place_gang(self, gangs: Gangs, key: str, *, evicts: bool) -> Fit | None:
        """Place the pods of the set that are of this group, together; returns the reason if they do not fit."""
        members = [each for each in self._next if group_of(each.candidate.pod) == key]
        for source, candidate, _ in members:
            if candidate.refusal:
                refused = denied(candidate.pod, candidate.refusal, self._cluster)
                return self._stopped(refused, source.part.applied.source.object, None)
        self._place_earlier(members[0].info.priority)
        pods = [each.info.pod for each in members]
        turn, row = gangs.place(key, self._sets + 1, pods, self._own if evicts else None)
        result = turn.result
        if not result.is_placed:
            outcome: StopOutcome = "Unschedulable" if result.preemption is None else "Preempts"
            message = result.status.message
            stop = StopRow(pod=key, workload=f"PodGroup {key}", outcome=outcome, message=message, gang=row)
            return Fit(self._row(stop), None)
        for source, _, info in members:
            node = turn.nodes.get(info.key)
            if node is not None:
                self._own.add(info.key)
                self._placed.append((source, node))
                if turn.evicted is not None:
                    self.evicting.append(decision_about(info.pod, "Preempts", node=node, detail="short"))
        self._next = [each for each in self._next if each not in members]
        return None

    def _goes_on(self, result: ScheduleResult, *, evicts: bool) -> bool:
        """Whether the pod gets a node. Evicting counted pods does not help: they would not fit together."""
        if result.outcome == "Preempts":
            return evicts and self._own.isdisjoint(victim.pod.key for victim in result.victims)
        return result.outcome == "Placed"

    def _why_not(self, result: ScheduleResult) -> tuple[Decision, Shortage | None]:
        """The whole decision about the last pod, and the obstacles on all nodes."""
        self._tried.note(result)
        if result.outcome == "Ignored":
            return ignored(result.pod.pod), None
        whole = self._tried.attempt(result.pod)
        decision, objections = in_full(whole), objections_of(whole)
        if not objections:
            return decision, None
        return replace(decision, near=nearest_miss(whole.cycle, objections)), shortage(whole, objections)

    def _place_earlier(self, priority: int | None) -> None:
        """Pending pods of the cluster that come before a pod of this priority; None: all."""
        while self._pending and (priority is None or self._pending[-1].priority >= priority):
            self._engine.run([self._pending.pop()], self._note_earlier, self._note_earlier)

    def _note_earlier(self, result: ScheduleResult) -> None:
        self.earlier.append(self._tried.decide(result, None))

    def _stopped(self, decision: Decision, workload: str, short: Shortage | None) -> Fit:
        outcome: StopOutcome = decision.outcome  # type: ignore[assignment] # the pod is neither placed nor waiting
        row = StopRow(
            pod=decision.pod,
            workload=workload,
            outcome=outcome,
            message=decision.message,
            reasons=short.reasons if short else (),
            tightest=short.tightest if short else (),
        )
        if outcome == "Preempts":
            decision = replace(decision, outcome="Unschedulable", node=None, ties=(), preemption=None)
        return Fit(self._row(row), decision)

    def _row(self, stop: StopRow | None) -> FitRow:
        gangs = () if self._gangs is None else self._gangs.rows
        return FitRow(sets=self._sets, counted=tuple(map(self._counted, self._sources)), stop=stop, gangs=gangs)

    def _counted(self, source: _Source) -> CountedRow:
        zones: dict[str, int] = {}
        for name, number in source.nodes.items():
            zone = self._state.by_name[name].labels.get(ZONE, "")
            zones[zone] = zones.get(zone, 0) + number
        about = source.part.applied.source
        return CountedRow(
            workload=about.object,
            source=about.file,
            times=source.part.times,
            priority=source.priority,
            requests=requests_of(source.requests) if source.requests else {},
            pods=sum(source.nodes.values()),
            nodes=dict(sorted(source.nodes.items())),
            zones=dict(sorted(zones.items())),
        )

    def left_out(self, decisions: Sequence[Decision]) -> Iterator[Caveat]:
        """The caveats; `decisions` are those of the report."""
        yield from self.caveats
        yield from self._tried.caveats
        yield from self._new_pods.caveats
        yield from self._session.left_out(self._cluster, decisions)
