"""What a dump holds besides the objects that scheduling reads, as far as it says something about an answer.

Of the Events that schedulers write about pods (`EventLog`) only a few numbers of each pod are kept, and in the end only
those of pods that wait: dumps hold many more Events than pods.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.kube.model.bystanders import (
    AUTOSCALER_STATUS,
    ConfigMap,
    CoschedulingPodGroup,
    HorizontalPodAutoscaler,
    NodeClaim,
    NodePool,
    ServiceAccount,
    VerticalPodAutoscaler,
    VolcanoPodGroup,
)
from kwhatif.kube.model.caveat.autoscaling import UnreadableObject
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.meta import FIRST_SECOND, LAST_SECOND, SECOND, ApiObject, Model, ObjectMeta, parse_time
from kwhatif.kube.model.pod import Pod, SchedulingEvents, is_terminal
from kwhatif.kube.model.policy import ADMISSION_HOOKS
from kwhatif.scheduler.framework.profile import scheduler_of
from kwhatif.scheduler.framework.status import NO_NODES
from kwhatif.sources.decoding.kinds import group_of
from kwhatif.sources.decoding.lenient import FAILURES
from kwhatif.sources.decoding.workload_kinds import KnownKinds

_FAILED = "FailedScheduling"
_SCHEDULED = "Scheduled"
_PREEMPTED = "Preempted"
#: How the message about a pod that fits on no node begins (`FitError`).
_FIT_ERROR = re.compile(r"\d+/\d+ nodes are available")
#: Written instead of an attempt (`skipPodSchedule` in `schedule_one.go`).
_SKIPPED = "skip schedule deleting pod"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Series(Model):
    count: int | None = None
    last_observed_time: str | None = None


class ApiEvent(Model):
    """What is read of every `v1 Event` and `events.k8s.io/v1 Event`: the same under two sets of names."""

    reason: str | None = None
    series: _Series | None = None
    last_timestamp: str | None = None
    deprecated_last_timestamp: str | None = None
    event_time: str | None = None

    @property
    def times(self) -> tuple[str | None, ...]:
        """When it happened."""
        last = None if self.series is None else self.series.last_observed_time
        return self.last_timestamp, self.deprecated_last_timestamp, self.event_time, last


class _Meta(Model):
    namespace: str | None = None
    name: str | None = None


class _Reference(Model):
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None


class _Source(Model):
    component: str | None = None


class _WholeEvent(ApiEvent):
    metadata: _Meta = _Meta()
    involved_object: _Reference | None = None
    regarding: _Reference | None = None
    related: _Reference | None = None
    message: str | None = None
    note: str | None = None
    count: int | None = None
    deprecated_count: int | None = None
    reporting_component: str | None = None
    reporting_controller: str | None = None
    source: _Source | None = None
    deprecated_source: _Source | None = None

    @property
    def times_seen(self) -> int:
        counted = self.series.count if self.series else None
        return max(1, counted or self.count or self.deprecated_count or 1)

    @property
    def reporter(self) -> str:
        sources = (each.component for each in (self.source, self.deprecated_source) if each)
        return next(filter(None, (self.reporting_component, self.reporting_controller, *sources)), "")


class _Bound(Model):
    """Of frequent events, only the pod that they are about."""

    metadata: _Meta = _Meta()
    involved_object: _Reference | None = None
    regarding: _Reference | None = None


_DECODER = msgspec.json.Decoder(_WholeEvent)
_BOUND_DECODER = msgspec.json.Decoder(_Bound)


class _Who(NamedTuple):
    """A pod, and the scheduler that wrote about it: others (autoscalers) write events of the same name."""

    key: str
    uid: str
    reporter: str


class _Failure(NamedTuple):
    """An Event FailedScheduling."""

    who: _Who
    times: int
    #: Nanoseconds since the epoch.
    last: int
    in_series: bool
    errored: bool


class _Eviction(NamedTuple):
    """An Event Preempted: whom the pod evicted."""

    who: _Who
    victim: str


class _Binding(NamedTuple):
    """An Event Scheduled."""

    uid: str


class EventLog:
    """What schedulers wrote about pods; which pods matter is known once all objects are read."""

    def __init__(self) -> None:
        #: By the event's own key: dumps may hold it in both versions, and while a cluster is watched it changes.
        self._events: dict[str, _Failure | _Eviction | _Binding] = {}
        #: The same of each pod, by the pod's key.
        self._of_pod: dict[str, dict[str, _Failure | _Eviction]] = {}
        #: UID -> the number of such events.
        self._scheduled: Counter[str] = Counter()

    def see(self, reason: str | None, json: Any) -> None:
        """Take note of an event, if it is about scheduling; one without a time is left out."""
        if reason not in (_FAILED, _SCHEDULED, _PREEMPTED):
            return
        try:
            event = (_BOUND_DECODER if reason == _SCHEDULED else _DECODER).decode(json)
        except FAILURES:
            return
        key = f"{event.metadata.namespace or ''}/{event.metadata.name or ''}"
        before = self._events.get(key)
        seen = _read(reason, event)
        if isinstance(before, _Failure) and isinstance(seen, _Failure) and before.times > seen.times:
            return
        self.forget(key)
        if seen is None:
            return
        self._events[key] = seen
        if isinstance(seen, _Binding):
            self._scheduled[seen.uid] += 1
        else:
            self._of_pod.setdefault(seen.who.key, {})[key] = seen

    def forget(self, key: str) -> None:
        """The event is not there any more; one that is unknown is not an error."""
        gone = self._events.pop(key, None)
        if isinstance(gone, _Binding):
            self._scheduled -= Counter([gone.uid])
        elif gone is not None:
            others = self._of_pod[gone.who.key]
            del others[key]
            if not others:
                del self._of_pod[gone.who.key]

    def add_to(self, cluster: Cluster) -> None:
        """Note in the cluster what is known of its pending pods."""
        if self._events:
            pods = cluster.all(Pod).items()
            pending = {key: pod for key, pod in pods if not pod.spec.node_name and not is_terminal(pod)}
            cluster.update_facts(scheduling_events=self.about(pending))

    def about(self, pending: Mapping[str, Pod]) -> Mapping[str, SchedulingEvents]:
        """What is known of these pods, by key; nothing is known of most."""
        found: dict[str, SchedulingEvents] = {}
        for key, pod in pending.items():
            scheduled = pod.metadata.uid in self._scheduled
            if scheduled:
                found[key] = SchedulingEvents(scheduled=True)
            events = self._of_pod.get(key, {})
            for who in sorted({event.who for event in events.values() if _is_of(event.who, pod)}):
                of_it = {name: event for name, event in sorted(events.items()) if event.who == who}
                failures = [event for event in of_it.values() if isinstance(event, _Failure)]
                newest = max(failures, key=lambda event: event.last, default=None)
                last = newest.last if newest else 0
                if not who.uid and _nanoseconds(pod.metadata.creation_timestamp or "") > last:
                    continue  # of an earlier pod of its name
                latest = next((event for event in reversed(failures) if event.last == last), None)
                found[key] = SchedulingEvents(
                    attempts=sum(event.times for event in failures),
                    last_attempt=_text(last),
                    is_last=latest is None or not latest.in_series,
                    errored=latest is not None and latest.errored,
                    evicted=tuple(sorted({event.victim for event in of_it.values() if isinstance(event, _Eviction)})),
                    scheduled=scheduled,
                )
        return found


def _read(reason: str, event: _WholeEvent | _Bound) -> _Failure | _Eviction | _Binding | None:
    """What it says; None: nothing of use."""
    subject = event.involved_object or event.regarding
    if isinstance(event, _Bound):
        return _Binding(subject.uid) if subject is not None and subject.uid else None
    about = event.related if reason == _PREEMPTED else subject
    if about is None or about.kind != "Pod" or not about.name:
        return None
    who = _Who(f"{about.namespace}/{about.name}", about.uid or "", event.reporter)
    if reason == _FAILED:
        said, last = event.message or event.note or "", _newest(event.times)
        if said.startswith(_SKIPPED) or not last:
            return None
        errored = said == NO_NODES or not _FIT_ERROR.match(said)
        return _Failure(who, event.times_seen, last, in_series=event.series is not None, errored=errored)
    if subject is None or not subject.name:
        return None
    return _Eviction(who, f"{subject.namespace}/{subject.name}")


def _is_of(who: _Who, pod: Pod) -> bool:
    """Whether the event is about this very pod, not an earlier one of its name, and from its own scheduler."""
    uids = {who.uid, pod.metadata.uid} - {""}
    return len(uids) < 2 and who.reporter in ("", scheduler_of(pod))


def _newest(times: Iterable[str | None]) -> int:
    return max(map(_nanoseconds, filter(None, times)), default=0)


def _nanoseconds(text: str) -> int:
    """0 for what is not a time."""
    try:
        return parse_time(text)
    except (ValueError, OverflowError):
        return 0


def _text(nanoseconds: int) -> str:
    """RFC 3339; "" for 0."""
    if not nanoseconds:
        return ""
    known = min(max(nanoseconds, FIRST_SECOND * SECOND), LAST_SECOND * SECOND)
    return (_EPOCH + timedelta(microseconds=known // 1000)).isoformat().replace("+00:00", "Z")


class _LeaseSpec(Model):
    renew_time: str | None = None


class _Lease(Model):
    spec: _LeaseSpec = _LeaseSpec()

    @property
    def times(self) -> tuple[str | None, ...]:
        return (self.spec.renew_time,)


#: Those that are kept, and their group. Every version of them is read: the fields of the type are the same in all.
BYSTANDERS: dict[type[ApiObject], str] = {
    ServiceAccount: "",
    HorizontalPodAutoscaler: "autoscaling",
    VerticalPodAutoscaler: "autoscaling.k8s.io",
    NodePool: "karpenter.sh",
    NodeClaim: "karpenter.sh",
    ConfigMap: "",
    VolcanoPodGroup: "scheduling.volcano.sh",
    CoschedulingPodGroup: "scheduling.x-k8s.io",
    **dict.fromkeys(ADMISSION_HOOKS, "admissionregistration.k8s.io"),
}
#: Group and kind -> what reads them.
_DECODERS: dict[tuple[str, str], msgspec.json.Decoder[Any]] = {
    **{(group, str(kind.__struct_config__.tag)): msgspec.json.Decoder(kind) for kind, group in BYSTANDERS.items()},
    ("coordination.k8s.io", "Lease"): msgspec.json.Decoder(_Lease),
    ("", "Event"): msgspec.json.Decoder(ApiEvent),
    ("events.k8s.io", "Event"): msgspec.json.Decoder(ApiEvent),
}
#: Without them the answer about an autoscaler would be wrong.
_MISSED = ("NodePool", "NodeClaim", "HorizontalPodAutoscaler", "VerticalPodAutoscaler")
_SECONDS = len("2026-01-31T12:00:00")


class Bystanders:
    """Takes note of objects that are not read; what cannot be understood of them is left out."""

    def __init__(self, kinds: KnownKinds | None = None) -> None:
        self._kinds = kinds or KnownKinds()
        #: Custom resources of which pods are made: version, kind and JSON.
        self.workloads: list[tuple[str, str, bytes]] = []
        self._objects: dict[type, dict[str, KubernetesObject]] = {kind: {} for kind in BYSTANDERS}
        #: The newest time at which a lease was renewed or an event happened, to the second; "" if there is none.
        self.newest = ""
        self.events = EventLog()
        #: Objects that would matter for an answer and cannot be understood: which, which field, and why.
        self.unreadable: list[UnreadableObject] = []

    def see(self, api_version: str, kind: str, json: Any) -> None:
        """Look at one object, as JSON."""
        if self._kinds.of(api_version, kind):
            self.workloads.append((api_version, kind, bytes(json)))
            return
        try:
            found = _decoded(api_version, kind, json)
        except FAILURES as failure:
            if kind in _MISSED:
                self.unreadable.append(unreadable_object(kind, json, failure))
            return
        if isinstance(found, ApiEvent):
            self.events.see(found.reason, json)
        if isinstance(found, _Lease | ApiEvent):
            for time in filter(None, found.times):
                self.newest = max(self.newest, f"{time[:_SECONDS]}Z")
        elif found is not None and (not isinstance(found, ConfigMap) or key_of(found) == AUTOSCALER_STATUS):
            self._objects[type(found)][key_of(found)] = replace(found, api_version=api_version)

    def add_to(self, cluster: Cluster) -> None:
        """Put the objects among those of the cluster."""
        for kind, objects in self._objects.items():
            if objects:
                cluster.add_all(kind, objects)
        self.events.add_to(cluster)


def read_bystander(api_version: str, kind: str, json: Any) -> ApiObject | None:
    """An object of a kind that is kept; None: it cannot be understood, or is none."""
    found = _understood(api_version, kind, json)
    return replace(found, api_version=api_version) if isinstance(found, ApiObject) else None


def _understood(api_version: str, kind: str, json: Any) -> Any:
    try:
        return _decoded(api_version, kind, json)
    except FAILURES:
        return None


def _decoded(api_version: str, kind: str, json: Any) -> Any:
    decoder = _DECODERS.get((group_of(api_version), kind))
    return None if decoder is None else decoder.decode(json)


class _Named(Model):
    """As much of an object as is needed to name it."""

    metadata: ObjectMeta = ObjectMeta()


_NAME = msgspec.json.Decoder(_Named)


def unreadable_object(kind: str, json: Any, failure: Exception) -> UnreadableObject:
    """What is wrong with it: msgspec says `Expected ... - at `$.spec.weight``."""
    why, _, path = str(failure).partition(" - at `$")
    try:
        name = _NAME.decode(json).metadata.name
    except FAILURES:
        name = ""
    return UnreadableObject(object=f"{kind} {name}".strip(), field=path.rstrip("`").lstrip("."), why=why)
