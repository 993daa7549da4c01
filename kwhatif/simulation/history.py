"""The events in order, each with its cause and its words; and the fate of pods that are gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, cast

import msgspec

from kwhatif.controllers.contract import How
from kwhatif.controllers.taint_eviction import ready_status
from kwhatif.kube.model.cluster import KubernetesObject, ObjectRef
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.node import Node, Taint
from kwhatif.kube.model.pod import Pod, PodCondition, pod_condition
from kwhatif.kube.model.workload import SCALABLE, DaemonSet, Job

# The actions on objects.
_OfObjects = Literal["created", "changed", "deleted", "removed", "adopted", "released", "collected", "was refused"]
_OfScheduler = Literal["bound", "nominated", "placed", "preempted", "unschedulable"]
_OfKubelet = Literal[
    "pending", "running", "ready", "not ready", "restarted", "ended", "succeeded", "failed", "completed", "unknown"
]
_OfEvictions = Literal["evicted", "evicted by taint", "evicted by device taint", "could not evict", "ran"]
_OfNodes = Literal["cordoned", "uncordoned", "tainted", "labelled", "fell silent", "came back", "could not attach"]
_OfSizes = Literal["scaled", "resized", "deferred", "found infeasible"]
Verb = Literal[_OfObjects, _OfScheduler, _OfKubelet, _OfEvictions, _OfNodes, _OfSizes]


class Event(msgspec.Struct, frozen=True, gc=False):
    """An event, and the event that caused it; `report.story.EventRow` is its row."""

    id: int
    #: Seconds since the start.
    at: float
    #: None for actions of a user, and for items that were due from the start.
    because: int | None
    #: Who did it: "scheduler", "kubelet a1", "user", "ReplicaSet shop/web-6d4".
    actor: str
    verb: Verb
    object: ObjectRef
    node: str | None = None
    detail: str = ""
    #: The pod or the PodGroup that preempts the object.
    by: ObjectRef | None = None


def preemptor_text(by: ObjectRef | None) -> str:
    """The preemptor as reports name it: a pod by its key; "" if there is none."""
    return "" if by is None else by.key if by.kind == Pod.__name__ else str(by)


class Gone(msgspec.Struct, frozen=True):
    """A pod that is gone or terminating."""

    pod: str
    uid: str
    #: Its workload, as "Deployment shop/web"; None for a bare pod.
    owner: str | None
    #: Whether it existed at the start.
    initial: bool
    node: str | None
    how: How
    by: ObjectRef | None
    at: float
    #: Why it was already terminating at the start, if the cluster shows it.
    earlier: How | None = None


class History:
    """An append-only list of events."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        #: By UID.
        self.gone: dict[str, Gone] = {}

    def fork(self) -> History:
        """An independent history of the same past."""
        other = History()
        other.events, other.gone = self.events.copy(), self.gone.copy()
        return other

    def note(self, event: Event) -> int:
        """Record the event; returns its id."""
        self.events.append(event)
        return event.id

    def touched(self) -> dict[ObjectRef, None]:
        """All objects that have events, in the order of their first events."""
        return dict.fromkeys(event.object for event in self.events)

    def keys(self, kind: type[KubernetesObject], *verbs: Verb) -> Iterator[str]:
        """The keys of the objects of a kind in events of these verbs, in order; an object may come twice."""
        for event in self.events:
            if event.verb in verbs and event.object.kind == kind.__name__:
                yield event.object.key

    def lose(self, gone: Gone) -> None:
        """Record that the pod is removed; the first reason counts."""
        self.gone.setdefault(gone.uid, gone)


# --- which updates of objects are events, and their words ------------------------------------------------------------

_WORKLOADS = (*SCALABLE, DaemonSet, Job)


class UpdateEvent(NamedTuple):
    """The verb and the detail of an update in the story."""

    verb: Verb
    detail: str = ""


def update_event(before: Any, after: Any) -> UpdateEvent | None:
    """The update as an event of the story; None for mere progress of its status."""
    was, now = controller_of(before.metadata), controller_of(after.metadata)
    if was != now:
        return UpdateEvent("adopted" if now else "released")
    if isinstance(after, SCALABLE) and before.spec.replicas != after.spec.replicas:
        return UpdateEvent("scaled", f"{before.spec.replicas} to {after.spec.replicas}")
    if isinstance(after, Job) and (finished := _new_condition(before, after)):
        return UpdateEvent(finished)
    if isinstance(after, _WORKLOADS):
        return UpdateEvent("changed") if before.spec != after.spec else None
    if isinstance(after, Node):
        return _node_event(before, after)
    if isinstance(after, Pod):
        return _pod_event(before, after)
    spec = getattr(after, "spec", None)
    return UpdateEvent("changed") if spec is not None and spec != before.spec else None


def _new_condition(before: Job, after: Job) -> Literal["completed", "failed"] | None:
    def true(job: Job) -> set[str]:
        return {condition.type for condition in job.status.conditions if condition.status == "True"}

    new = true(after) - true(before)
    return "completed" if "Complete" in new else "failed" if "Failed" in new else None


def _node_event(before: Node, after: Node) -> UpdateEvent | None:
    if before.spec.unschedulable != after.spec.unschedulable:
        return UpdateEvent("cordoned" if after.spec.unschedulable else "uncordoned")
    was, now = ready_status(before), ready_status(after)
    if was != now:
        return UpdateEvent("ready" if now == "True" else "not ready", f"Ready is {now}")
    if before.spec.taints != after.spec.taints:
        gone, new = set(before.spec.taints) - set(after.spec.taints), set(after.spec.taints) - set(before.spec.taints)
        return UpdateEvent("tainted", ", ".join([*_words("+", new), *_words("-", gone)]))
    if before.metadata.labels != after.metadata.labels:
        return UpdateEvent("labelled")
    if (before.status.allocatable, before.status.capacity) != (after.status.allocatable, after.status.capacity):
        return UpdateEvent("resized")
    return None


def _words(sign: str, taints: Iterable[Taint]) -> list[str]:
    return sorted(f"{sign}{taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}" for taint in taints)


def phase_verb(phase: str) -> Verb:
    """The verb of the event in which a pod reaches this phase."""
    return cast("Verb", phase.lower())


def _pod_event(before: Pod, after: Pod) -> UpdateEvent | None:
    was, now = (pod_condition(pod, "Ready") or PodCondition(status="False") for pod in (before, after))
    if was.status != now.status:
        return UpdateEvent("ready" if now.status == "True" else "not ready")
    if before.status.phase != after.status.phase:
        return UpdateEvent(phase_verb(after.status.phase))
    if before.spec != after.spec or before.metadata.labels != after.metadata.labels:
        return UpdateEvent("changed")
    return None


#: How a pod is removed -> the verb of the event.
GONE_VERBS: Mapping[How, Verb] = {
    "Preempted": "preempted",
    "Evicted": "evicted",
    "TaintEviction": "evicted by taint",
    "DeviceTaintEviction": "evicted by device taint",
    "PodGC": "collected",
    "Garbage": "collected",
}
#: Reasons of the condition DisruptionTarget -> how the pod is removed.
DISRUPTIONS: Mapping[str, How] = {
    "PreemptionByScheduler": "Preempted",
    "EvictionByEvictionAPI": "Evicted",
    "DeletionByTaintManager": "TaintEviction",
    "DeletionByDeviceTaintManager": "DeviceTaintEviction",
    "DeletionByPodGC": "PodGC",
}
