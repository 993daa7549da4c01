"""The pending pods of the input: their order in the queue, and which of them are unschedulable.

Pods that the scheduler has rejected stay unschedulable until an event requeues them, or five minutes have passed
(`unschedulablePods` in `pkg/scheduler/backend/queue/scheduling_queue.go`). The only trace of it is the pod's condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.pod import Pod, SchedulingEvents, pod_condition
from kwhatif.questions.manifests.applied import Applied
from kwhatif.scheduler.framework.cycle import Cycle, CycleError
from kwhatif.scheduler.framework.events import cluster_events
from kwhatif.scheduler.framework.hints import QUEUE, registrations
from kwhatif.scheduler.framework.profile import Profile, scheduler_of
from kwhatif.scheduler.queue.hinting import Occurrence, QueueingHints
from kwhatif.scheduler.queue.queued_pod import QueuedPodInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


def in_queue_order(pods: Iterable[PodInfo], events: Mapping[str, SchedulingEvents]) -> list[PodInfo]:
    """Pending pods in the order of the queue; those that are being deleted are out.

    Priority first (`PrioritySort`); then who was added first: when its last attempt failed, as
    Events show, or else when it was created.
    """

    def stamp(info: PodInfo) -> str:
        seen = events.get(info.key)
        return ((seen.last_attempt if seen else "") or info.pod.metadata.creation_timestamp or "").removesuffix("Z")

    found = [info for info in pods if info.pod.metadata.deletion_timestamp is None]
    return sorted(found, key=lambda info: (-info.priority, stamp(info)))


def was_tried(pod: Pod) -> bool:
    """Whether the scheduler has found no node for the pod.

    Its condition PodScheduled says Unschedulable, or it is nominated: it has evicted others, and waits for their end.
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
        after: the same with everything that was applied, pods and what makes them aside.
        applied: what that is; its events may requeue pods.
    """
    by_name = {name: registrations(profile) for name, profile in profiles.items()}
    hints = QueueingHints(by_name, after)
    happened = list(_occurrences(before.cluster, after, applied))
    for info in pods:
        if not was_tried(info.pod):
            continue
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
    """Which plugins' hints to ask: a dump does not say who rejected the pod, so all that it gives anything to check."""
    cycle = Cycle(profile, pod, before)
    try:
        cycle.pre_filter()
    except CycleError:
        return names
    return names - (cycle.asked - cycle.compiled.keys() - cycle.unschedulable_plugins)
