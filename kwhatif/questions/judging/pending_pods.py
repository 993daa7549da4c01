"""The pending pods of the input: their order in the queue, and which of them are unschedulable.

Pods that the scheduler has rejected stay unschedulable until an event requeues them, or five minutes have passed
(`unschedulablePods` in `pkg/scheduler/backend/queue/scheduling_queue.go`). The only trace of it is the pod's condition.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.pod import Pod, SchedulingEvents, pod_condition
from kwhatif.kube.model.workload import StatefulSet
from kwhatif.questions.decisions.described import Explained
from kwhatif.questions.judging.manifest_rollout import AskedPod, Planned
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.rows import owner_of
from kwhatif.questions.session.session import Session
from kwhatif.scheduler.framework.cycle import Cycle, CycleError
from kwhatif.scheduler.framework.events import cluster_events
from kwhatif.scheduler.framework.hints import QUEUE, registrations
from kwhatif.scheduler.framework.profile import Profile, scheduler_of
from kwhatif.scheduler.queue.hinting import Occurrence, QueueingHints
from kwhatif.scheduler.queue.queued_pod import QueuedPodInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.workloads.owners import pods_of
from kwhatif.workloads.stateful_set import is_ordered


def in_queue_order(pods: Iterable[PodInfo], events: Mapping[str, SchedulingEvents]) -> list[PodInfo]:
    """Pending pods in the order of the queue, without those that are being deleted.

    By priority (`PrioritySort`), then by the time they were added: that of the last failed attempt, as Events
    show, or else of creation.
    """

    def stamp(info: PodInfo) -> str:
        seen = events.get(info.key)
        return ((seen.last_attempt if seen else "") or info.pod.metadata.creation_timestamp or "").removesuffix("Z")

    found = [info for info in pods if info.pod.metadata.deletion_timestamp is None]
    return sorted(found, key=lambda info: (-info.priority, stamp(info)))


def was_tried(pod: Pod) -> bool:
    """Whether the scheduler has found no node for the pod.

    Its condition PodScheduled says Unschedulable; or it is nominated: it has evicted pods, and waits for their end.
    """
    if pod.status.nominated_node_name:
        return True
    condition = pod_condition(pod, "PodScheduled")
    return condition is not None and condition.status == "False" and condition.reason == "Unschedulable"


def unschedulable_pods(
    pods: Iterable[PodInfo], profiles: Mapping[str, Profile], before: State, after: Cluster, applied: Sequence[Applied]
) -> Iterator[PodInfo]:
    """The pending pods that the scheduler does not try before a new pod.

    Args:
        pods: pending pods.
        profiles: scheduler name -> profile.
        before: the cluster as it was read.
        after: the same with everything that was applied, except pods and workloads.
        applied: these objects; their events may requeue pods.
    """
    tried = [info for info in pods if was_tried(info.pod)]
    happened = list(_occurrences(before.cluster, after, applied)) if tried else []
    if not happened:
        yield from tried
        return
    by_name = {name: registrations(profile) for name, profile in profiles.items()}
    hints = QueueingHints(by_name, after)
    for info in tried:
        profile = profiles[scheduler_of(info.pod)]
        names = {entry.plugin for entry in by_name[profile.scheduler_name]}
        rejectors = may_have_rejected(profile, info, before, names)
        queued = QueuedPodInfo(info, 0, unschedulable_plugins=rejectors)
        if not any(QUEUE in hints.answers(queued, occurrence).values() for occurrence in happened):
            yield info


def _occurrences(before: Cluster, after: Cluster, applied: Sequence[Applied]) -> Iterator[Occurrence]:
    for each in applied:
        if each.is_workload:
            continue
        kind, key = type(each.object), key_of(each.object)
        old, new = before.get(kind, key), after.get(kind, key)
        if new is not None and new != old:
            yield from (Occurrence(event, old, new) for event in cluster_events(old, new, after))


def may_have_rejected(profile: Profile, pod: PodInfo, before: State, names: set[str]) -> set[str]:
    """The plugins whose hints are asked: a dump does not say which one rejected the pod, so all that apply to it."""
    cycle = Cycle(profile, pod, before)
    try:
        cycle.pre_filter()
    except CycleError:
        return names
    return names - (cycle.asked - cycle.compiled.keys() - cycle.unschedulable_plugins)


# --- beside the objects that are asked about -----------------------------------------------------------------------


class PendingPods:
    """The pending pods of a state, beside the objects that are asked about."""

    def __init__(
        self, session: Session, state: State, planned: Sequence[Planned], *, wanted: Collection[str], counts: bool
    ) -> None:
        """Set up.

        Args:
            session: the cluster as it was read.
            state: the same with everything that was applied, except pods and workloads.
            planned: what is asked about.
            wanted: the keys of pods that are asked about by themselves.
            counts: whether pending pods count with all workloads that are asked about, or only with those that are
                asked for by name.
        """
        self._session = session
        self._state = state
        #: Key of a pod that stays -> the object that it belongs to, if that is asked about.
        self.workloads = _workloads_of(planned, state)
        gone = {key_of(pod) for each in planned for pod in each.leaving}
        #: All pods that stay, in the order of the queue.
        self.in_order = [
            info
            for info in in_queue_order(state.pending.values(), state.cluster.facts.scheduling_events)
            if info.key not in gone
        ]
        #: The pods that are asked about, by key, in the order of the queue.
        self.asked: Mapping[str, AskedPod] = dict(self._asked(wanted, counts=counts))

    def _asked(self, wanted: Collection[str], *, counts: bool) -> Iterator[tuple[str, AskedPod]]:
        by_owner: dict[str, Explained] = {}
        for info in self.in_order:
            workload = self.workloads.get(info.key)
            if workload is not None and (counts or workload.applied.restarted or workload.plan.pod is not None):
                yield info.key, AskedPod(workload.explained, workload)
            elif info.key in wanted:
                yield info.key, AskedPod(by_owner.setdefault(owner_of(info.pod) or info.key, Explained()))

    def holding_up(self, key: str) -> Planned | None:
        """The changed StatefulSet, if its pods are ordered and it waits for this pod."""
        workload = self.workloads.get(key)
        if workload is None or workload.update == "unchanged" or not isinstance(workload.object, StatefulSet):
            return None
        return workload if is_ordered(workload.object) else None

    def unschedulable(self, applied: Sequence[Applied]) -> Collection[str]:
        """The keys of the pods that are not tried, in the order of the queue.

        If a pending pod is asked about by name, all pods are tried: the question is what happens when it is tried
        again. Pods of an object of the manifests are judged with that object.
        """
        if any(workload.applied.restarted for workload in self.workloads.values()):
            return ()
        state, session = self._state, self._session
        pods = [info for info in self.in_order if info.key not in self.workloads and self.is_ours(info)]
        return tuple(
            info.key for info in unschedulable_pods(pods, session.profiles, session.state, state.cluster, applied)
        )

    def is_ours(self, info: PodInfo) -> bool:
        """Whether one of the known schedulers places the pod."""
        return scheduler_of(info.pod) in self._session.profiles


def _workloads_of(planned: Sequence[Planned], state: State) -> Mapping[str, Planned]:
    """The pending pods that stay, each with the object that it belongs to."""
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
