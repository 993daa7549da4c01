"""What is asked about: the objects of the manifests, each with what becomes of its pods, and pods that are pending."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.admission.outcome import ChangeRow
from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import StatefulSet
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.placing.described import Explained
from kwhatif.questions.placing.pending_pods import in_queue_order, unschedulable_pods
from kwhatif.questions.rows import decision_about, owner_of
from kwhatif.questions.session.session import Session
from kwhatif.report.decision import Decision, Outcome, RolloutRow, UpdateKind
from kwhatif.scheduler.framework.profile import scheduler_of
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.workloads.comparison import WorkloadUpdate
from kwhatif.workloads.owners import pods_of
from kwhatif.workloads.stateful_set import is_ordered

#: What keeps a pod from ever running, as things are. One that evicts others runs once they are gone, and of one for
#: another scheduler nothing is known.
HOLDS_UP: Collection[Outcome] = ("Unschedulable", "Gated", "Denied")


class Planned(msgspec.Struct):
    """One object of which there are pods, and what has become of them."""

    applied: Applied
    #: With a name, where the API server makes one.
    object: KubernetesObject
    #: What applying it changes.
    plan: WorkloadUpdate = WorkloadUpdate("new")
    removed: tuple[Pod, ...] = ()
    #: In their controller's order; None while the pod is in the queue.
    decisions: dict[str, Decision | None] = {}
    #: The first pod that will not run, as things are: what is to be made after it is not.
    held_up: Decision | None = None
    #: How far the rollout comes, where its pods are replaced step by step.
    rollout: RolloutRow | None = None
    #: Whether the API server does not take the object itself.
    is_refused: bool = False
    explained: Explained = msgspec.field(default_factory=Explained)
    #: By key, how admission has changed a pod.
    changes: dict[str, tuple[ChangeRow, ...]] = {}

    @property
    def decided(self) -> list[Decision]:
        """The decisions that are made."""
        return [each for each in self.decisions.values() if each is not None]

    @property
    def update(self) -> UpdateKind:
        """What becomes of it."""
        return self.plan.kind

    @property
    def leaving(self) -> tuple[Pod, ...]:
        """The pods that go whatever becomes of the new ones; of others, controllers decide which go, and when."""
        goes_on = self.update == "changed" and isinstance(self.object, StatefulSet)
        return () if goes_on else self.removed

    def copy(self) -> Planned:
        """A plan like this one, of whose pods nothing has become yet."""
        return replace(self, decisions=self.decisions.copy(), explained=Explained(), changes={})

    def decide(self, decision: Decision) -> None:
        """This is what becomes of one of the pods."""
        self.decisions[decision.pod] = replace(
            decision,
            source=self.applied.source,
            runs_on=self.applied.runs_on,
            changes=() if decision.outcome == "Denied" else self.changes.get(decision.pod, ()),
        )
        if self.held_up is None and decision.outcome in HOLDS_UP:
            self.held_up = decision


class Asked(msgspec.Struct):
    """A pending pod whose fate is asked for."""

    explained: Explained
    #: The object that it counts with; None: it is asked for by itself.
    planned: Planned | None = None


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


class PendingPods:
    """The pending pods of a state, beside what is asked about."""

    def __init__(
        self, session: Session, state: State, planned: Sequence[Planned], *, wanted: Collection[str], full: bool
    ) -> None:
        """Set up.

        Args:
            session: the cluster as it was read.
            state: the same, with everything that was applied but pods and what makes them.
            planned: what is asked about.
            wanted: the keys of pods that are asked for by themselves.
            full: whether pending pods count with the workloads that are asked about; else with those asked for by name.
        """
        self._session = session
        self._state = state
        #: Those that belong to what is asked about, and stay, with the object that each belongs to.
        self.workloads = _workloads_of(planned, state)
        gone = {key_of(pod) for each in planned for pod in each.leaving}
        #: All that stay, in the order of the queue.
        self.in_order = [
            info
            for info in in_queue_order(state.pending.values(), state.cluster.scheduling_events)
            if info.key not in gone
        ]
        #: Those whose fate is asked for, by key, in the order of the queue.
        self.asked: Mapping[str, Asked] = dict(self._asked(wanted, full=full))

    def _asked(self, wanted: Collection[str], *, full: bool) -> Iterator[tuple[str, Asked]]:
        by_owner: dict[str, Explained] = {}
        for info in self.in_order:
            workload = self.workloads.get(info.key)
            if workload is not None and (full or workload.applied.restarted or workload.plan.pod is not None):
                yield info.key, Asked(workload.explained, workload)
            elif info.key in wanted:
                yield info.key, Asked(by_owner.setdefault(owner_of(info.pod) or info.key, Explained()))

    def holding_up(self, key: str) -> Planned | None:
        """The ordered StatefulSet that changes, and gets no further before this pod of its own runs."""
        workload = self.workloads.get(key)
        if workload is None or workload.update == "unchanged" or not isinstance(workload.object, StatefulSet):
            return None
        return workload if is_ordered(workload.object) else None

    def unschedulable(self, applied: Sequence[Applied]) -> Collection[str]:
        """The keys of those that are not tried, in the order of the queue.

        None, where a pending pod is asked for by name: the answer is what becomes of it when it is tried again, and the
        others with it. What belongs to an object of the manifests is judged with that object.
        """
        if any(workload.applied.restarted for workload in self.workloads.values()):
            return ()
        state, session = self._state, self._session
        pods = [info for info in self.in_order if info.key not in self.workloads and self.is_ours(info)]
        return tuple(
            info.key for info in unschedulable_pods(pods, session.profiles, session.state, state.cluster, applied)
        )

    def is_ours(self, info: PodInfo) -> bool:
        """Whether one of the cluster's schedulers that are known places it."""
        return scheduler_of(info.pod) in self._session.profiles


def _workloads_of(planned: Sequence[Planned], state: State) -> Mapping[str, Planned]:
    """The pending pods that belong to what is asked about, and stay."""
    found: dict[str, Planned] = {}
    if not state.pending:
        return found
    for workload in planned:
        applied = workload.applied
        gone = {key_of(pod) for pod in workload.leaving}
        if not applied.is_workload:
            continue
        obj = applied.object
        for key in map(key_of, [obj] if isinstance(obj, Pod) else pods_of(obj, state.cluster)):
            if key in state.pending and key not in gone and key not in workload.decisions:
                found.setdefault(key, workload)
    return found
